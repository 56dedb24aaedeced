//go:build unix

package recorder_test

// This file measures the price of recording: the same work on bare layers, on recorded ones, and with a reader who
// makes the page's message thirty times a second. The ways take turns, because other programs change the times.
//
//	go test ./internal/testkit/recorder -run NONE -bench Rate -benchtime 20x
//	go test ./internal/testkit/recorder -run NONE -bench Pipeline -benchtime 20x

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
	controller "client-go-workshop/solutions/07-controller"
)

const (
	created  = 1000   // the Deployments of BenchmarkPipeline
	objects  = 10_000 // the Deployments of BenchmarkRate, each with its budget
	interval = time.Millisecond
)

var ways = []string{"bare", "recorded", "watched"}

// BenchmarkRate measures a pipeline of 10,000 Deployments that carries 1,000 events a second: the median time from the
// change on the API server to the end of its reconcile, and the processors' time of the whole process for each event.
// One round is a second of each way.
func BenchmarkRate(b *testing.B) {
	machines := map[string]*costed{"bare": newCosted(b, false), "recorded": newCosted(b, true)}
	machines["watched"] = machines["recorded"]
	for _, way := range ways[:2] {
		machines[way].create(objects)
	}
	latency, used := map[string][]time.Duration{}, map[string][]time.Duration{}
	for range b.N {
		for _, way := range ways {
			late, processors := machines[way].carry(b, way == "watched")
			latency[way], used[way] = append(latency[way], late...), append(used[way], processors)
		}
	}
	for _, way := range ways {
		slices.Sort(latency[way])
		slices.Sort(used[way])
	}
	middle := func(of []time.Duration) time.Duration { return of[len(of)/2] }
	for _, way := range ways {
		b.ReportMetric(float64(middle(latency[way]).Microseconds()), way+"-µs-late")
		b.ReportMetric(float64(middle(used[way]).Microseconds())/1000, way+"-µs-used")
	}
	for _, way := range ways[1:] {
		b.ReportMetric(more(middle(latency[way]), middle(latency["bare"])), way+"-%-late")
		b.ReportMetric(more(middle(used[way]), middle(used["bare"])), way+"-%-used")
	}
}

// BenchmarkPipeline measures a pipeline that is never idle, with a full log: it creates Deployments, and waits until
// each has its budget in the cache. The least time of the processors counts.
func BenchmarkPipeline(b *testing.B) {
	least := map[string]time.Duration{}
	for range b.N {
		for _, way := range ways {
			m := newCosted(b, way != "bare")
			for range pipeline.Limit { // a full log, as after a minute
				m.rec.Log.Append(pipeline.Step{Seam: pipeline.Server, Verb: pipeline.Did})
			}
			if way == "watched" {
				go m.read(m.ctx, make(chan struct{}, 1))
			}
			runtime.GC()
			before := processors(b)
			m.create(created)
			if used := processors(b) - before; least[way] == 0 || used < least[way] {
				least[way] = used
			}
			m.stop()
		}
	}
	for _, way := range ways {
		b.ReportMetric(float64(least[way].Microseconds())/created, way+"-µs/change")
	}
	for _, way := range ways[1:] {
		b.ReportMetric(more(least[way], least["bare"]), way+"-%")
	}
}

func more(a, than time.Duration) float64 { return 100 * (float64(a)/float64(than) - 1) }

// costed is a controller whose cost is measured.
type costed struct {
	api  *fakeapi.Server
	rec  *recorder.Recorder
	ctx  context.Context
	stop func()

	budgets chan struct{} // one for each budget in the cache

	mu    sync.Mutex
	begun map[string]time.Time // when the Deployment was changed
	late  []time.Duration
}

func newCosted(b *testing.B, recorded bool) *costed {
	m := &costed{api: fakeapi.New(), rec: recorder.New(), budgets: make(chan struct{}, objects),
		begun: map[string]time.Time{}}
	config := m.api.Config()
	config.QPS = -1
	below := sets["solutions"]
	client, err := below.NewClient(config)
	newQueue := below.NewWorkQueue
	informer := func(lw cache.ListerWatcher, example apiruntime.Object, kind string) cache.SharedIndexInformer {
		options := cache.SharedIndexInformerOptions{
			Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}}
		if !recorded {
			return newInformer(below, lw, example, options)
		}
		return m.rec.Informer(newInformer(m.rec.Wrap(below, kind), lw, example, options), kind)
	}
	if recorded {
		client, err = m.rec.Client(below, config)
		newQueue = func(l layers.RateLimiter, c layers.WorkQueueConfig) layers.WorkQueue {
			return m.rec.WorkQueue(below, l, c)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	ds := informer(client.Deployments(""), &appsv1.Deployment{}, recorder.Deployment)
	bs := informer(client.Budgets(""), &policyv1.PodDisruptionBudget{}, recorder.Budget)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Minute)
	c, err := controller.New(klog.Background(), controller.Config{Deployments: ds, Budgets: bs,
		Queue: timed{newQueue(limiter, layers.WorkQueueConfig{}), m}, Client: client.BudgetWriter,
		Recorder: &record.FakeRecorder{}, Workers: 2, DrainTimeout: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := bs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { m.budgets <- struct{}{} }}); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.ctx, m.stop = ctx, sync.OnceFunc(func() { cancel(); m.api.Close() })
	b.Cleanup(m.stop)
	for _, run := range []func(context.Context){c.Run, ds.RunWithContext, bs.RunWithContext} {
		go run(ctx)
	}
	cache.WaitForCacheSync(ctx.Done(), ds.HasSynced, bs.HasSynced)
	return m
}

// create creates Deployments and waits for their budgets.
func (m *costed) create(n int) {
	for i := range n {
		m.api.Create(deployment(fmt.Sprintf("web-%04d", i), 2))
	}
	for range n {
		<-m.budgets
	}
}

// carry changes Deployments for a second. It returns how long each reconcile came after its change, and the processors'
// time for all.
func (m *costed) carry(b *testing.B, watched bool) ([]time.Duration, time.Duration) {
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	if watched {
		open := make(chan struct{})
		go m.read(ctx, open)
		<-open
	}
	m.late = nil
	before := processors(b)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for i := range 1000 {
		d := deployment(fmt.Sprintf("web-%04d", i), 2)
		d.Annotations = map[string]string{"changed": time.Now().String()}
		m.mu.Lock()
		m.begun["default/"+d.Name] = time.Now()
		m.mu.Unlock()
		m.api.Update(d)
		<-tick.C
	}
	for {
		m.mu.Lock()
		left := len(m.begun)
		m.mu.Unlock()
		if left == 0 {
			return m.late, processors(b) - before
		}
		time.Sleep(interval)
	}
}

// timed notes when a reconcile ends.
type timed struct {
	layers.WorkQueue
	m *costed
}

func (q timed) Done(key cache.ObjectName) {
	q.WorkQueue.Done(key)
	q.m.mu.Lock()
	defer q.m.mu.Unlock()
	if begun, changed := q.m.begun[key.String()]; changed {
		q.m.late = append(q.m.late, time.Since(begun))
		delete(q.m.begun, key.String())
	}
}

// read follows the log as a page does, until ctx ends.
func (m *costed) read(ctx context.Context, open chan<- struct{}) {
	var state *pipeline.State
	tick := time.Tick(time.Second / 30)
	for n := 0; ctx.Err() == nil; n++ {
		state = m.rec.Log.Follow(state)
		_, _ = json.Marshal(state.View())
		_, _ = json.Marshal(pipeline.Lines(m.rec.Log.Steps(state.N, 20)))
		if n == 0 {
			open <- struct{}{}
		}
		<-tick
	}
}

// processors returns the time that this process has used.
func processors(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
