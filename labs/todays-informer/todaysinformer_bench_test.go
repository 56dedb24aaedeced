package todaysinformer_test

// The same benchmarks for your code, the solution and client-go, in one run. Yours and the solution stand on the
// solutions of the chapters, client-go's informer on client-go.
//
//	go test ./labs/todays-informer -run '^$' -bench . -count 10 > bench.txt
//	go run golang.org/x/perf/cmd/benchstat@latest -col /impl bench.txt
//
// What you have not written yet is skipped.

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
	layersolutions "client-go-workshop/internal/testkit/layers/solutions"
	"client-go-workshop/internal/testkit/todo"
	solution "client-go-workshop/labs/solutions/todays-informer"
	todaysinformer "client-go-workshop/labs/todays-informer"
	controller "client-go-workshop/solutions/07-controller"
)

// informerOf makes an informer of Deployments.
type informerOf = func(lw cache.ListerWatcher, indexers cache.Indexers) cache.SharedIndexInformer

// compare runs one benchmark over each implementation, under the name "impl", which benchstat can make its columns.
func compare(b *testing.B, run func(b *testing.B, newInformer informerOf)) {
	on := func(below layers.Layers) informerOf {
		return func(lw cache.ListerWatcher, indexers cache.Indexers) cache.SharedIndexInformer {
			return controller.NewSharedIndexInformerOn(below, lw, &appsv1.Deployment{},
				cache.SharedIndexInformerOptions{Indexers: indexers})
		}
	}
	for _, impl := range []struct {
		name string
		make informerOf
	}{
		{"yours", on(todaysinformer.On(layersolutions.Layers))},
		{"solution", on(solution.On(layersolutions.Layers))},
		{"client-go", func(lw cache.ListerWatcher, indexers cache.Indexers) cache.SharedIndexInformer {
			return cache.NewSharedIndexInformer(lw, &appsv1.Deployment{}, 0, indexers)
		}},
	} {
		b.Run("impl="+impl.name, func(b *testing.B) {
			if impl.name == "yours" {
				skipTodos(b)
			}
			b.ReportAllocs()
			run(b, impl.make)
		})
	}
}

// skipTodos skips the benchmark if a function is not written yet. An informer would call it on a goroutine of its own,
// where a panic ends the program.
func skipTodos(b *testing.B) {
	defer func() {
		if v := recover(); v != nil {
			if missing, ok := v.(todo.NotWritten); ok {
				b.Skip(missing)
			}
			panic(v)
		}
	}()
	s := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	q := todaysinformer.NewQueue(layersolutions.Layers.NewRealFIFO, nil)
	_ = q.Replace(nil, "1")
	_ = q.Add(deploy("a@1"))
	_ = q.Add(deploy("b@1"))
	for range 2 {
		_ = todaysinformer.Pop(q, s, &calls{}, &sync.Mutex{})
	}
}

// source streams a list, and then the events of a channel. It implements cache.ListerWatcher.
type source struct {
	list   []*appsv1.Deployment
	events chan watch.Event
	// arrived is called when the whole list has been sent, and before the bookmark that ends it.
	arrived func()
}

func (s *source) List(metav1.ListOptions) (apiruntime.Object, error) {
	panic("the list is streamed")
}

func (s *source) Watch(metav1.ListOptions) (watch.Interface, error) {
	out := make(chan watch.Event)
	w := watch.NewProxyWatcher(out)
	send := func(e watch.Event) bool {
		select {
		case out <- e:
			return true
		case <-w.StopChan():
			return false
		}
	}
	end := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	go func() {
		for _, d := range s.list {
			send(watch.Event{Type: watch.Added, Object: d.DeepCopy()})
		}
		if s.arrived != nil {
			s.arrived()
		}
		for ok := send(watch.Event{Type: watch.Bookmark, Object: end}); ok; {
			select {
			case e := <-s.events:
				ok = send(e)
			case <-w.StopChan():
				return
			}
		}
	}()
	return w, nil
}

// running runs an informer for the time of one function.
func running(b *testing.B, informer cache.SharedIndexInformer, do func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var ended sync.WaitGroup
	ended.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		b.Fatal("the informer has not synced")
	}
	do()
	cancel()
	ended.Wait()
}

// at makes a Deployment default/web-NUMBER at a version.
func at(number, version int) *appsv1.Deployment {
	return deploy("web-" + strconv.Itoa(number) + "@" + strconv.Itoa(version))
}

// BenchmarkUpdates measures the time for 10,000 events, until the handler has received the last one.
func BenchmarkUpdates(b *testing.B) {
	const n = 10_000
	list, events := []*appsv1.Deployment{}, make([]watch.Event, n)
	for i := range 1_000 {
		list = append(list, at(i, 1))
	}
	for i := range n {
		events[i] = watch.Event{Type: watch.Modified, Object: at(i%len(list), 2+i)}
	}
	compare(b, func(b *testing.B, newInformer informerOf) {
		for b.Loop() {
			b.StopTimer()
			s := &source{list: list, events: make(chan watch.Event)}
			informer := newInformer(s, nil)
			received := make(chan bool)
			if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) {
				if obj.(*appsv1.Deployment).ResourceVersion == strconv.Itoa(n+1) {
					close(received)
				}
			}}); err != nil {
				b.Fatal(err)
			}
			running(b, informer, func() {
				b.StartTimer()
				for _, e := range events {
					s.events <- e
				}
				<-received
				b.StopTimer()
			})
			b.StartTimer()
		}
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
}

// BenchmarkList measures the time until an informer has a streamed list of 10,000 objects. B/arriving is the growth of
// the heap for each object when the whole list has arrived and the store has nothing of it: each object has 2 KB that
// the transformer removes.
func BenchmarkList(b *testing.B) {
	const n = 10_000
	payload := strings.Repeat("x", 2<<10)
	s := &source{}
	for i := range n {
		d := at(i, 1)
		s.list = append(s.list, d)
	}
	compare(b, func(b *testing.B, newInformer informerOf) {
		var before, after runtime.MemStats
		for b.Loop() {
			informer := newInformer(padded{s, payload}, nil)
			if err := informer.SetTransform(func(obj any) (any, error) {
				obj.(*appsv1.Deployment).Annotations = nil
				return obj, nil
			}); err != nil {
				b.Fatal(err)
			}
			s.arrived = func() {
				b.StopTimer()
				if after.HeapAlloc == 0 {
					runtime.GC()
					runtime.ReadMemStats(&after)
				}
				b.StartTimer()
			}
			if before.HeapAlloc == 0 {
				runtime.GC()
				runtime.ReadMemStats(&before)
			}
			running(b, informer, func() {
				if got := len(informer.GetStore().ListKeys()); got != n {
					b.Fatalf("%d objects are in the store, of %d", got, n)
				}
			})
		}
		b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/n, "B/arriving")
	})
}

// padded is a source whose objects have an annotation, each a copy of its own.
type padded struct {
	*source
	payload string
}

func (p padded) Watch(options metav1.ListOptions) (watch.Interface, error) {
	w, err := p.source.Watch(options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		if e.Type == watch.Added {
			e.Object.(*appsv1.Deployment).Annotations = map[string]string{"managed": strings.Clone(p.payload)}
		}
		return e, true
	}), nil
}

// BenchmarkBehindASlowOne measures the time from an event until its handler is called, if the informer is about to
// process another object for a millisecond. An index function makes it slow.
func BenchmarkBehindASlowOne(b *testing.B) {
	const slow = time.Millisecond
	compare(b, func(b *testing.B, newInformer informerOf) {
		begun, received := make(chan bool, 1), make(chan bool, 1)
		s := &source{list: []*appsv1.Deployment{at(0, 1), at(1, 1)}, events: make(chan watch.Event)}
		informer := newInformer(s, cache.Indexers{"slow": func(obj any) ([]string, error) {
			// An index function is called for the old object and for the new one.
			if d := obj.(*appsv1.Deployment); d.Name == "web-0" && d.Labels["slow"] == d.ResourceVersion {
				d.Labels = nil
				begun <- true
				time.Sleep(slow)
			}
			return nil, nil
		}})
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) {
			if obj.(*appsv1.Deployment).Name == "web-1" {
				received <- true
			}
		}}); err != nil {
			b.Fatal(err)
		}
		running(b, informer, func() {
			for version := 2; b.Loop(); version++ {
				b.StopTimer()
				d := at(0, version)
				d.Labels = map[string]string{"slow": d.ResourceVersion}
				s.events <- watch.Event{Type: watch.Modified, Object: d}
				<-begun
				b.StartTimer()
				s.events <- watch.Event{Type: watch.Modified, Object: at(1, version)}
				<-received
			}
		})
		b.ReportMetric((b.Elapsed().Seconds()/float64(b.N)-slow.Seconds())*1e6, "µs-behind")
	})
}
