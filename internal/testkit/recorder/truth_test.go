package recorder_test

// These tests compare the state that comes from the steps with the real structures, after random runs: on the
// solutions, on client-go's layers, and on wrong code. The picture must not lie, whatever the code does.
//
//	go test ./internal/testkit/recorder -run Truth
//	go test ./internal/testkit/recorder -run Truth -seed 7 -runs 100

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
	controller "client-go-workshop/solutions/07-controller"
)

var (
	seed = flag.Uint64("seed", 1, "the seed of the first random run")
	runs = flag.Int("runs", 4, "how many random runs on each set of layers")
	on   = flag.String("on", "", "only this set of layers")
	// wrong says that the code is wrong: the state must be the real one, which need not be the right one.
	wrong = flag.Bool("wrong", false, "the code is a wrong version")

	sets = map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers}
	// newInformer is that of the solution, or the learner's (yours_test.go).
	newInformer = controller.NewSharedIndexInformerOn
)

func TestMain(m *testing.M) {
	klog.SetLogger(klog.New(nil))
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil
	m.Run()
}

// machine is a controller on recorded layers, in a bubble.
type machine struct {
	*testing.T
	api                  *fakeapi.Server
	rec                  *recorder.Recorder
	deployments, budgets cache.SharedIndexInformer
	queue                layers.WorkQueue
	state                *pipeline.State
	stop                 func()
}

func start(t *testing.T, below layers.Layers) *machine {
	m := &machine{T: t, api: fakeapi.Start(t), rec: recorder.New()}
	m.rec.Serve(m.api)
	config := m.api.Config()
	config.QPS = -1
	client, err := m.rec.Client(below, config)
	require.NoError(t, err)
	informer := func(lw cache.ListerWatcher, example runtime.Object, kind string) cache.SharedIndexInformer {
		return m.rec.Informer(newInformer(m.rec.Wrap(below, kind), lw, example, cache.SharedIndexInformerOptions{
			Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		}), kind)
	}
	m.deployments = informer(client.Deployments(""), &appsv1.Deployment{}, recorder.Deployment)
	m.budgets = informer(client.Budgets(""), &policyv1.PodDisruptionBudget{}, recorder.Budget)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Minute)
	m.queue = m.rec.WorkQueue(below, limiter, layers.WorkQueueConfig{})
	c, err := controller.New(klog.Background(), controller.Config{
		Deployments: m.deployments, Budgets: m.budgets, Queue: m.queue, Client: client.BudgetWriter,
		Recorder: &record.FakeRecorder{}, Workers: 2, DrainTimeout: time.Second,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 3)
	for _, run := range []func(context.Context){c.Run, m.deployments.RunWithContext, m.budgets.RunWithContext} {
		go func() { run(ctx); ended <- struct{}{} }()
	}
	m.stop = func() {
		m.rec.Gate.Open(true)
		cancel()
		for range 3 {
			<-ended
		}
		m.api.Close()
		time.Sleep(5 * time.Minute) // client-go's Reflector and queue notice the end later
	}
	return m
}

// settle waits until nothing moves, and follows the log.
func (m *machine) settle() {
	synctest.Wait()
	m.state = m.rec.Log.Follow(m.state)
	m.state.Advance(m.rec.Log.Now())
	m.rec.Look(m.state)
	m.state = m.rec.Log.Follow(m.state)
}

// compare compares the state with all that the real structures can be asked.
func (m *machine) compare(when string) {
	m.settle()
	m.Cleanup(func() {
		if m.Failed() {
			for _, step := range m.rec.Log.Steps(m.state.N, 25) {
				m.Log(step.At, step.Seam, step.Sentence())
			}
		}
	})
	for kind, informer := range map[string]cache.SharedIndexInformer{
		recorder.Deployment: m.deployments, recorder.Budget: m.budgets,
	} {
		state := m.state.Informers[kind]
		require.NotNil(m, state, when)
		indexer := informer.GetIndexer()
		stored := map[string]string{}
		for _, key := range indexer.ListKeys() {
			obj, _, _ := indexer.GetByKey(key)
			stored[key] = version(obj)
		}
		shown := map[string]string{}
		for key, obj := range state.Store.Objects {
			shown[key] = obj.Version
		}
		require.Equal(m, stored, shown, "%s: the Indexer of %s", when, kind)
		for name := range indexer.GetIndexers() {
			table := map[string][]string{}
			for _, value := range indexer.ListIndexFuncValues(name) {
				if keys, _ := indexer.IndexKeys(name, value); len(keys) > 0 {
					table[value] = slices.Sorted(slices.Values(keys))
				}
			}
			require.Equal(m, table, shownTable(state, name), "%s: the index %s of %s", when, name, kind)
		}
		if informer.HasSynced() {
			require.Equal(m, informer.LastSyncResourceVersion(), state.Reflector.Version, "%s: the version of %s", when, kind)
		}
	}
	require.Equal(m, m.queue.Len(), len(m.state.Queue.Queue), "%s: the queue %v", when, m.state.Queue.Queue)
	for _, obj := range m.api.Objects("deployments") {
		key := cache.MetaObjectToName(obj)
		require.Equal(m, m.queue.NumRequeues(key), m.state.Queue.Failures[key.String()], "%s: failures of %s", when, key)
	}
}

func version(obj any) string {
	if object, err := meta.Accessor(obj); err == nil {
		return object.GetResourceVersion()
	}
	return ""
}

// play does one random thing.
func (m *machine) play(r *rand.Rand) string {
	name := []string{"api", "db", "shop", "web"}[r.IntN(4)]
	exists := slices.ContainsFunc(m.api.Objects("deployments"), func(o fakeapi.Object) bool { return o.GetName() == name })
	d := deployment(name, int32(r.IntN(5)))
	switch action := r.IntN(12); {
	case action == 0 && exists:
		m.api.Delete(d)
		return "delete " + name
	case action == 1:
		m.api.EndWatches()
		return "end watches"
	case action == 2:
		m.api.Restart()
		return "restart"
	case action == 3:
		m.api.Script("", fakeapi.Times(1+r.IntN(3), fakeapi.Answer([]int{429, 500, 410}[r.IntN(3)], "1"))...)
		return "faults"
	case action == 4:
		m.api.Down()
		time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
		m.api.Up()
		return "outage"
	case action == 5:
		time.Sleep(time.Duration(r.IntN(20)) * time.Second)
		return "a pause"
	case action == 6:
		m.api.Script("watch", fakeapi.Cut(r.IntN(3000)))
		return "a cut"
	case exists:
		m.api.Update(d)
		return "update " + name
	}
	m.api.Create(d)
	return "create " + name
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}}},
	}
}

// chosen are the sets of layers to test.
func chosen() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(sets)), func(name string) bool { return *on != "" && name != *on })
}

func TestTruth_random_runs(t *testing.T) {
	for _, name := range chosen() {
		for i := range *runs {
			t.Run(fmt.Sprint(name, " seed ", *seed+uint64(i)), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := start(t, sets[name])
					r := rand.New(rand.NewPCG(*seed+uint64(i), 20))
					for n := range 40 {
						when := fmt.Sprint("after action ", n, ", ", m.play(r))
						if r.IntN(3) == 0 {
							m.compare(when)
						}
					}
					m.api.ClearScripts()
					time.Sleep(5 * time.Minute)
					m.compare("at the end")
					m.atRest()
					m.rewind(r)
					m.stop()
				})
			})
		}
	}
}

// rewind compares the state with that of a recording, at random steps.
func (m *machine) rewind(r *rand.Rand) {
	var file bytes.Buffer
	require.NoError(m, pipeline.Recording{Log: m.rec.Log, Title: "a run"}.Write(&file))
	all, err := pipeline.ReadRecordings(&file)
	require.NoError(m, err)
	read := all[0].Log
	_, last := read.Range()
	for range 5 {
		n := r.Int64N(last)
		require.Equal(m, m.rec.Log.At(n), read.At(n), "step %d", n)
	}
}

// atRest checks what is empty when everything was delivered.
func (m *machine) atRest() {
	for kind, i := range m.state.Informers {
		require.Empty(m, i.FIFO.Keys, "the deltas of %s", kind)
		for name, h := range i.Handlers {
			require.True(m, len(h.Pending) == 0 || h.Current.Key != "", "%s of %s waits, and is owed %v", name, kind, h.Pending)
		}
	}
	if *wrong {
		return
	}
	for kind, i := range m.state.Informers {
		require.Empty(m, i.FIFO.Differs)
		require.Empty(m, i.Store.Differs)
		require.Equal(m, "watching", i.Reflector.Phase)
		for name, h := range i.Handlers {
			require.Empty(m, h.Current)
			require.Empty(m, h.Missing, "%s of %s", name, kind)
			require.Empty(m, h.Early, "%s of %s", name, kind)
			require.Empty(m, h.Differs)
		}
	}
	require.Empty(m, m.state.Queue.Processing)
	require.Empty(m, m.state.Queue.Differs)
	require.Len(m, m.state.Workers, 2)
	for name, w := range m.state.Workers {
		require.Empty(m, w.Key, name)
	}
	for _, obj := range m.api.Objects("poddisruptionbudgets") {
		shown := m.state.Server.Objects["PodDisruptionBudget default/"+obj.GetName()]
		require.Equal(m, obj.GetResourceVersion(), shown.Version)
	}
}

// A queue of deltas cannot be read, so it is emptied: what comes out must be what the state has.
func TestTruth_queue_of_deltas(t *testing.T) {
	for _, name := range chosen() {
		for i := range *runs * 25 {
			t.Run(fmt.Sprint(name, " seed ", *seed+uint64(i)), func(t *testing.T) {
				rec := recorder.New()
				below := rec.Wrap(sets[name], recorder.Deployment)
				known := below.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{})
				queue := below.NewDeltaFIFO(cache.DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true})
				r := rand.New(rand.NewPCG(*seed+uint64(i), 4))
				for range 60 {
					randomDelta(r, queue, known)
				}
				state := rec.Log.Follow(nil)
				shown := state.Informers[recorder.Deployment].FIFO
				var order []string
				for range len(shown.Keys) {
					_, err := queue.Pop(func(obj any, _ bool) error {
						var deltas []string
						for _, d := range obj.(cache.Deltas) {
							deltas = append(deltas, string(d.Type))
						}
						key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(obj.(cache.Deltas).Newest().Object)
						order = append(order, key)
						var expected []string
						for _, d := range shown.Deltas[key] {
							expected = append(expected, d.Type)
						}
						require.Equal(t, deltas, expected, key)
						return nil
					})
					require.NoError(t, err)
				}
				require.ElementsMatch(t, order, shown.Keys)
				queue.Close()
				_, err := queue.Pop(func(any, bool) error { return nil })
				require.ErrorIs(t, err, cache.ErrFIFOClosed, "the queue had more than the state")
				after := rec.Log.Follow(nil).Informers[recorder.Deployment].FIFO
				require.Empty(t, after.Keys)
				require.Empty(t, after.Differs)
			})
		}
	}
}

func randomDelta(r *rand.Rand, queue cache.Queue, known cache.Indexer) {
	d := deployment([]string{"api", "db", "shop", "web"}[r.IntN(4)], 1)
	d.ResourceVersion = fmt.Sprint(r.IntN(100))
	switch r.IntN(8) {
	case 0:
		queue.Add(d)
	case 1:
		queue.Update(d)
	case 2, 3:
		queue.Delete(d)
	case 4:
		queue.Resync()
	case 5:
		queue.Replace([]any{d}, "1")
	case 6:
		known.Add(d)
	case 7:
		known.Delete(d)
	}
}

func TestTruth_held_handler(t *testing.T) {
	for _, name := range chosen() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := start(t, sets[name])
				m.settle()
				let := make(chan struct{})
				_, err := m.deployments.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-let }})
				require.NoError(t, err)
				for i := range 5 {
					m.api.Create(deployment(fmt.Sprint("web-", i), 1))
				}
				m.settle()
				slow := m.state.Informers[recorder.Deployment].Handlers["handler 2"]
				require.Equal(t, "default/web-0", slow.Current.Key)
				require.Len(t, slow.Pending, 4, "one call is running, and four notifications wait")
				require.Empty(t, m.state.Informers[recorder.Deployment].Handlers["handler 1"].Pending)
				close(let)
				m.compare("at the end")
				m.atRest()
				m.stop()
			})
		})
	}
}
