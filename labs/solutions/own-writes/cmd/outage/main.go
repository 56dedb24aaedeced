// Command outage runs a controller of Pods on an API server in the process, whose watch of Pods is 200 ms late. Three
// Pods are wanted.
//
//	go run ./labs/solutions/own-writes/cmd/outage
//	go run ./labs/solutions/own-writes/cmd/outage --store
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/solutions"
	"client-go-workshop/internal/testkit/podapp"
	ownwrites "client-go-workshop/labs/solutions/own-writes"
	informer "client-go-workshop/solutions/07-controller"
)

// wanted is the number of Pods that the Deployment asks for.
const wanted = 3

func main() {
	withStore := flag.Bool("store", false, "remember each write, and wait until the cache has seen it")
	flag.Parse()
	quiet()
	most, err := run(context.Background(), os.Stdout, *withStore)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("\n%d Pods were wanted, and at one time there were %d.\n", wanted, most)
}

// quiet drops the log: the output has all that happens.
func quiet() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil
}

// run plays the outage, and returns the largest number of Pods.
func run(ctx context.Context, out io.Writer, withStore bool) (most int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	api := fakeapi.New()
	defer api.Close()
	podapp.ServePods(api)
	api.Script("watch pods", fakeapi.Late(func() time.Duration { return 200 * time.Millisecond }))
	api.Script("create pods", pass, fakeapi.Answer(http.StatusTooManyRequests, ""))

	clients, err := podapp.Connect(solutions.Layers, api.Config())
	if err != nil {
		return 0, err
	}
	deployments, pods := clients.Informers(informer.NewSharedIndexInformerOn, solutions.Layers,
		cache.Indexers{ownwrites.OwnerIndex: ownwrites.IndexByOwner})
	log := &events{out: out, cached: func() int { return len(pods.GetStore().ListKeys()) }}
	api.OnChange(log.note)
	var store ownwrites.ConsistencyStore = ownwrites.NoopConsistencyStore{}
	if withStore {
		store = ownwrites.NewConsistencyStore(
			map[schema.GroupResource]ownwrites.LastSyncRVGetter{ownwrites.Pods: pods.GetStore()})
	}
	controller := ownwrites.New(ownwrites.Config{
		Deployments: deployments, Pods: pods, Store: store, Patience: time.Minute, Workers: 1,
		Client: func(namespace string) ownwrites.PodClient { return clients.In(namespace) },
		Stale:  func(cache.ObjectName, error) {},
		Queue: solutions.Layers.NewWorkQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Second),
			layers.WorkQueueConfig{}),
	})
	running.Go(func() { deployments.RunWithContext(ctx) })
	running.Go(func() { pods.RunWithContext(ctx) })
	running.Go(func() { _ = controller.Run(ctx) })

	if !cache.WaitForCacheSync(ctx.Done(), deployments.HasSynced, pods.HasSynced) {
		return 0, ctx.Err()
	}
	log.start = time.Now()
	deployment := fakeapi.Deployment("web", wanted)
	api.Create(deployment)
	time.Sleep(50 * time.Millisecond)
	deployment.Annotations = map[string]string{"example.com/note": "a user was here"}
	log.print("a user annotates the Deployment")
	api.Update(deployment)
	time.Sleep(time.Second)
	log.mu.Lock()
	defer log.mu.Unlock()
	return log.most, nil
}

// pass lets a request pass.
func pass(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }

// events prints the changes of Pods.
type events struct {
	out    io.Writer
	start  time.Time
	cached func() int

	mu   sync.Mutex // guards what follows, and the order of the output
	pods int
	most int
}

// note implements the function that fakeapi.Server.OnChange calls, one call at a time.
func (e *events) note(before, now fakeapi.Object, _ int64) {
	obj, done := now, "is created"
	if now == nil {
		obj, done = before, "is deleted"
	}
	if _, ok := obj.(*appsv1.Deployment); ok || before != nil && now != nil {
		return
	}
	cached := e.cached()
	e.mu.Lock()
	defer e.mu.Unlock()
	if now == nil {
		e.pods--
	} else {
		e.pods++
	}
	e.most = max(e.most, e.pods)
	e.printLocked(fmt.Sprintf("a Pod %s: the server has %d, the cache %d", done, e.pods, cached))
}

func (e *events) print(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.printLocked(text)
}

func (e *events) printLocked(text string) {
	fmt.Fprintf(e.out, "%4d ms  %s\n", time.Since(e.start).Milliseconds(), text)
}
