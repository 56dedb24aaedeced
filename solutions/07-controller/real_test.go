package controller_test

// This file runs the finished controller, on all seven layers of the workshop, on a server with a socket whose
// connections break and whose history is lost, and then the same on client-go's layers. -kubeconfig names a real
// server:
//
//	go test ./solutions/07-controller -run Real -v -kubeconfig FILE -compact 'go tool workshop cluster compact'
//
// The Deployments are paused, so no Pods are created, and no other controller has work.

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	"client-go-workshop/internal/testkit/realapi"
	controller "client-go-workshop/solutions/07-controller"
)

var howMany = flag.Int("deployments", 200, "how many Deployments")

// network counts, and cuts. It is between the controller and the server.
type network struct {
	requests, conns atomic.Int64
	lock            sync.Mutex
	open            map[net.Conn]struct{}
}

type conn struct {
	net.Conn
	closed func()
}

func (c *conn) Close() error { c.closed(); return c.Conn.Close() }

func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	inner, err := (&net.Dialer{}).DialContext(ctx, kind, address)
	if err != nil {
		return nil, err
	}
	n.conns.Add(1)
	n.lock.Lock()
	defer n.lock.Unlock()
	n.open[inner] = struct{}{}
	return &conn{inner, sync.OnceFunc(func() {
		n.lock.Lock()
		defer n.lock.Unlock()
		delete(n.open, inner)
	})}, nil
}

// cut closes every connection.
func (n *network) cut() {
	n.lock.Lock()
	defer n.lock.Unlock()
	for c := range n.open {
		c.Close()
	}
}

func (n *network) openConns() int {
	n.lock.Lock()
	defer n.lock.Unlock()
	return len(n.open)
}

// counted is a transport that counts requests.
type counted struct {
	http.RoundTripper
	count *atomic.Int64
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.count.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

func TestReal_controller_under_fire(t *testing.T) {
	klog.SetLogger(klog.New(nil)) // of errors there are many, and meant to be
	utilruntime.ErrorHandlers = nil
	ours := func(lw cache.ListerWatcher, example apiruntime.Object,
		options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
		return controller.NewSharedIndexInformerOn(solutions.Layers, lw, example, options)
	}
	for _, run := range []struct {
		name     string
		below    layers.Layers
		informer func(cache.ListerWatcher, apiruntime.Object, cache.SharedIndexInformerOptions) cache.SharedIndexInformer
	}{
		{"solutions", solutions.Layers, ours},
		{"client-go", clientgo.Layers, func(lw cache.ListerWatcher, example apiruntime.Object,
			options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
			return cache.NewSharedIndexInformerWithOptions(lw, example, options)
		}},
	} {
		t.Run(run.name, func(t *testing.T) {
			underFire(t, run.below, run.informer)
			require.Eventually(t, func() bool { return len(leftBehind()) == 0 }, 10*time.Second, 100*time.Millisecond,
				"goroutines of a layer are left")
		})
	}
}

// leftBehind are the stacks of goroutines that a layer has started.
func leftBehind() (stacks []string) {
	buffer := make([]byte, 1<<20)
	for _, stack := range strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		_, startedBy, _ := strings.Cut(stack, "created by ")
		if layerCode.MatchString(startedBy) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

var layerCode = regexp.MustCompile(`^(client-go-workshop/solutions/0[1-7]-[a-z-]+\.[^_]|k8s\.io/client-go/(tools/cache|util/workqueue))`)

func underFire(t *testing.T, below layers.Layers, newInformer func(cache.ListerWatcher, apiruntime.Object,
	cache.SharedIndexInformerOptions) cache.SharedIndexInformer) {
	config, restart := realapi.Server(t, fakeapi.Start)
	config.QPS = -1
	users := rest.CopyConfig(config) // theirs is another network
	n := &network{open: map[net.Conn]struct{}{}}
	config.Dial = n.dial
	var transports []http.RoundTripper
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		transports = append(transports, inner)
		return counted{inner, &n.requests}
	})
	client, err := below.NewClient(config)
	require.NoError(t, err)

	events := atomic.Int64{}
	informer := func(lw cache.ListerWatcher, example apiruntime.Object) cache.SharedIndexInformer {
		i := newInformer(lw, example, cache.SharedIndexInformerOptions{
			ResyncPeriod: 30 * time.Second, Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		})
		_, err := i.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { events.Add(1) }, UpdateFunc: func(any,
				any) {
				events.Add(1)
			}, DeleteFunc: func(any) { events.Add(1) },
		}, 0)
		require.NoError(t, err)
		return i
	}
	deployments, budgets := informer(client.Deployments("default"),
		&appsv1.Deployment{}), informer(client.Budgets("default"), &policyv1.PodDisruptionBudget{})
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, 10*time.Second)
	c, err := controller.New(klog.Background(), controller.Config{
		Deployments: deployments, Budgets: budgets, Client: client.BudgetWriter, Recorder: &record.FakeRecorder{},
		Workers: 4, DrainTimeout: 10 * time.Second,
		Queue: below.NewWorkQueue(limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{}),
	})
	require.NoError(t, err)
	working, stopWorking := context.WithCancel(context.Background())
	informing, stopInforming := context.WithCancel(context.Background())
	var running, worker sync.WaitGroup
	running.Go(func() { deployments.RunWithContext(informing) })
	running.Go(func() { budgets.RunWithContext(informing) })
	worker.Go(func() { c.Run(working) })
	stop := sync.OnceFunc(func() {
		stopWorking()
		worker.Wait()
		stopInforming()
		running.Wait()
	})
	defer stop()

	began := time.Now()
	u := newUsers(t, users)
	defer u.cleanUp()
	fire := make(chan struct{})
	go func() {
		defer close(fire)
		for range 3 {
			time.Sleep(time.Second) // between two blows; nothing is expected to have happened by then
			n.cut()
			restart()
		}
	}()
	u.all(u.create)
	u.all(u.change)
	<-fire
	n.cut()

	u.eventuallyRight(deployments, budgets)
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	t.Logf("%d Deployments: right after %.1f s; %d events, %d requests, %d connections, heap %d MB, from the system %d MB",
		*howMany,
		time.Since(began).Seconds(), events.Load(), n.requests.Load(), n.conns.Load(), memory.HeapAlloc>>20, memory.Sys>>20)
	stop()
	require.Eventually(t, func() bool {
		for _, transport := range transports { // net/http may keep more idle connections than there were clients
			utilnet.CloseIdleConnectionsFor(transport)
		}
		return n.openConns() == 0
	}, 10*time.Second, 10*time.Millisecond, "a request, such as a watch, still has its connection")
}

// users create, scale and delete Deployments, as long as it takes.
type users struct {
	t           *testing.T
	deployments *gentype.ClientWithList[*appsv1.Deployment, *appsv1.DeploymentList]
	budgets     *gentype.ClientWithList[*policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudgetList]
}

func newUsers(t *testing.T, config *rest.Config) *users {
	apps, err := rest.RESTClientFor(layers.ConfigFor(config, appsv1.SchemeGroupVersion))
	require.NoError(t, err)
	policy, err := rest.RESTClientFor(layers.ConfigFor(config, policyv1.SchemeGroupVersion))
	require.NoError(t, err)
	return &users{t,
		gentype.NewClientWithList[*appsv1.Deployment, *appsv1.DeploymentList]("deployments", apps, layers.ParameterCodec,
			"default",
			func() *appsv1.Deployment { return &appsv1.Deployment{} },
			func() *appsv1.DeploymentList { return &appsv1.DeploymentList{} }),
		gentype.NewClientWithList[*policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudgetList]("poddisruptionbudgets",
			policy, layers.ParameterCodec, "default",
			func() *policyv1.PodDisruptionBudget { return &policyv1.PodDisruptionBudget{} },
			func() *policyv1.PodDisruptionBudgetList { return &policyv1.PodDisruptionBudgetList{} }),
	}
}

// all does something for each Deployment, eight at a time, until it has worked.
func (u *users) all(do func(i int) error) {
	var group sync.WaitGroup
	next := atomic.Int64{}
	for range 8 {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < *howMany; i = int(next.Add(1)) - 1 {
				var err error
				for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
					if err = do(i); err == nil {
						break
					}
				}
				if err != nil {
					u.t.Errorf("Deployment %d: %v", i, err)
				}
			}
		})
	}
	group.Wait()
}

func (u *users) create(i int) error {
	d := realapi.Deployment(fmt.Sprint("fire-", i), "fire", 3)
	d.Spec.Paused = true
	_, err := u.deployments.Create(context.Background(), d, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // by a try that was cut off
		return nil
	}
	return err
}

// change scales half of them, makes a quarter too small for a budget, and deletes a quarter.
func (u *users) change(i int) error {
	name := fmt.Sprint("fire-", i)
	if i%4 == 3 {
		if err := u.deployments.Delete(context.Background(), name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	}
	d, err := u.deployments.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	*d.Spec.Replicas = []int32{5, 5, 1}[i%4]
	_, err = u.deployments.Update(context.Background(), d, metav1.UpdateOptions{})
	return err
}

func (u *users) cleanUp() {
	u.all(func(i int) error {
		if err := u.deployments.Delete(context.Background(), fmt.Sprint("fire-", i),
			metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	u.all(func(i int) error { // of which the garbage collector takes most, if there is one
		if err := u.budgets.Delete(context.Background(), fmt.Sprint("fire-", i),
			metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// eventuallyRight waits until each Deployment has the budget that it should, and the caches equal a fresh list.
func (u *users) eventuallyRight(deployments, budgets cache.SharedIndexInformer) {
	var wrong string
	require.Eventually(u.t, func() bool {
		wrong = u.wrong(deployments, budgets)
		return wrong == ""
	}, 3*time.Minute, 250*time.Millisecond)
	require.Empty(u.t, wrong)
}

func (u *users) wrong(deployments, budgets cache.SharedIndexInformer) string {
	all := metav1.ListOptions{}
	ds, err := u.deployments.List(context.Background(), all)
	if err != nil {
		return err.Error()
	}
	bs, err := u.budgets.List(context.Background(), all)
	if err != nil {
		return err.Error()
	}
	byName, alive := map[string]*policyv1.PodDisruptionBudget{}, map[string]bool{}
	for i := range bs.Items {
		byName[bs.Items[i].Name] = &bs.Items[i]
	}
	for i := range ds.Items {
		d := &ds.Items[i]
		alive[d.Name] = true
		b, has := byName[d.Name]
		switch wanted := *d.Spec.Replicas >= 2; {
		case has != wanted:
			return fmt.Sprintf("%s with %d replicas: budget %t", d.Name, *d.Spec.Replicas, has)
		case wanted && len(controller.Conform(b.DeepCopy(), d)) > 0:
			return d.Name + " has another budget than it should"
		}
		if cached, ok, _ := deployments.GetStore().GetByKey("default/" + d.Name); !ok ||
			cached.(*appsv1.Deployment).ResourceVersion != d.ResourceVersion {
			return "the cache is behind with " + d.Name
		}
	}
	for _, b := range bs.Items {
		if !alive[b.Name] && realapi.Given() {
			return "the budget of " + b.Name + ", which is gone, is not collected"
		}
		if cached, ok, _ := budgets.GetStore().GetByKey("default/" + b.Name); !ok ||
			cached.(*policyv1.PodDisruptionBudget).ResourceVersion != b.ResourceVersion {
			return "the cache is behind with the budget of " + b.Name
		}
	}
	if a, b := len(deployments.GetStore().ListKeys()), len(budgets.GetStore().ListKeys()); a != len(ds.Items) ||
		b != len(bs.Items) {
		return fmt.Sprintf("the caches have %d and %d objects, the server %d and %d", a, b, len(ds.Items), len(bs.Items))
	}
	return ""
}
