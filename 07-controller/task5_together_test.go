package controller_test

// Task 5: two calls that begin at the same moment, and panics of functions that the informer is given.

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
)

// meeting is an indexer that holds the informer's lock in AddIndexers, until two other calls have waited for it so long
// that package sync hands it on at each Unlock: wherever the first of them gives the lock back, the second continues.
type meeting struct {
	cache.Indexer
	t             *guard.T
	first, second func()
}

func (m *meeting) under(below layers.Layers) layers.Layers {
	return overIndexer(below, func(made cache.Indexer) cache.Indexer { m.Indexer = made; return m })
}

func (m *meeting) AddIndexers(cache.Indexers) error {
	for _, call := range []func(){m.first, m.second} {
		if call != nil {
			m.t.Go(call)
		}
		yield(guard.Times(60_000, 25_000)) // milliseconds: package sync hands a lock on after one
	}
	m.first, m.second = nil, nil
	return nil
}

// begin begins two calls at once.
func (w *world) begin(m *meeting, first, second func()) {
	w.t.Did("two calls begin at the same moment")
	func() {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		m.first, m.second = first, second
		for range 2 {
			_ = w.informer.AddIndexers(cache.Indexers{}) // an error if one of the calls is the end
		}
		yield(1_000)
	}()
	if m.first != nil { // AddIndexers did not come there: client-go's informer does not take the layers that it is given
		w.t.Go(first)
		w.t.Go(second)
	}
	settle()
}

func TestTask5_Calls_at_the_same_moment(t *testing.T) {
	type calls struct {
		*world
		*handler
		registration cache.ResourceEventHandlerRegistration
		err          error
	}
	add := func(c *calls) { c.registration, c.err = c.informer.AddEventHandler(c.handler) }
	remove := func(c *calls) { c.err = c.informer.RemoveEventHandler(c.registration) }
	run := func(c *calls) { c.start() }
	again := func(c *calls) { c.informer.RunWithContext(c.t.Context()) }
	end := func(c *calls) { c.stop() }
	transform := func(c *calls) {
		c.err = c.informer.SetTransform(func(obj any) (any, error) {
			metav1.SetMetaDataLabel(&obj.(*appsv1.Deployment).ObjectMeta, "transformed", "yes")
			return obj, nil
		})
	}
	receives := func(t *guard.T, c *calls) {
		t.Rule("Each handler receives every change, in order, on one goroutine.")
		require.NoError(t, c.err, "the error of AddEventHandler")
		door := gate.New(t)
		c.before = func(string) { door.Wait() }
		require.Equal(t, []string{"first a@2"}, c.calls(), "the handler's calls for the first list")
		c.create("b")
		c.create("c")
		c.before = nil
		require.Empty(t, c.calls(), "the calls that have returned while the handler is in its call for b")
		door.Open()
		require.Equal(t, []string{"add b@3", "add c@4"}, c.calls(), "the handler's calls")
	}
	finished := func(t *guard.T, c *calls) {
		t.Rule("If the handler never ran, finished is closed: ShutdownChan reports that the handler will not be called " +
			"again.")
		if c.err == nil {
			require.True(t, isClosed(c.registration.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()),
				"ShutdownChan is closed")
		}
	}
	for title, row := range guard.InOrder(map[string]struct {
		before, first, second func(c *calls)
		check                 func(t *guard.T, c *calls)
	}{
		"AddEventHandler, RunWithContext": {nil, add, run, receives},
		"RunWithContext, AddEventHandler": {nil, run, add, receives},
		"AddEventHandler, the end": {run, add, end, func(t *guard.T, c *calls) {
			c.end()
			finished(t, c)
		}},
		"RemoveEventHandler, RunWithContext": {add, remove, run, func(t *guard.T, c *calls) {
			finished(t, c)
			c.create("b")
			t.Rule("RemoveEventHandler removes a handler, which receives nothing more.")
			require.NotContains(t, c.calls(), "add b@3", "the calls of the removed handler")
			c.end()
		}},
		"SetTransform, RunWithContext": {nil, transform, run, func(t *guard.T, c *calls) {
			t.Rule("SetTransform returns an error after the start: the objects in the store have not passed through it.")
			labels := c.informer.GetStore().List()[0].(*appsv1.Deployment).Labels
			require.Equal(t, c.err == nil, labels["transformed"] == "yes", "the object in the store has passed through it")
		}},
		"RunWithContext, RunWithContext": {nil, run, again, func(t *guard.T, c *calls) {
			t.Rule("A second RunWithContext returns and changes nothing: otherwise two watches would fill one store (#104853).")
			require.Equal(t, 1, c.Watches(), "open watches")
		}},
	}) {
		t.Run(title, func(t *testing.T) {
			guard.Test(t, "All methods may be called from any goroutine.", func(t *guard.T) {
				m := &meeting{t: t}
				c := &calls{world: newWorld(t, "a"), handler: &handler{}}
				c.informer = newInformer(m.under(below), c.source())
				if row.before != nil {
					row.before(c)
					settle()
				}
				c.begin(m, func() { row.first(c) }, func() { row.second(c) })
				row.check(t, c)
			})
		})
	}
}

func TestTask5_Calls_that_wait_for_a_delta(t *testing.T) {
	guard.Test(t, "All methods may be called from any goroutine: two that wait while a delta is processed do not "+
		"wait for each other afterwards.", func(t *guard.T) {
		store := &pausingIndexer{t: t}
		w := newWorld(t, "a")
		w.informer = newInformer(store.under(below), w.source())
		w.run()
		var registration cache.ResourceEventHandlerRegistration
		calls := map[string]func(){
			"AddEventHandler":         func() { _, _ = w.informer.AddEventHandler(&handler{}) },
			"RemoveEventHandler":      func() { _ = w.informer.RemoveEventHandler(registration) },
			"AddIndexers":             func() { _ = w.informer.AddIndexers(cache.Indexers{}) },
			"SetTransform":            func() { _ = w.informer.SetTransform(nil) },
			"SetWatchErrorHandler":    func() { _ = w.informer.SetWatchErrorHandler(nil) },
			"LastSyncResourceVersion": func() { w.informer.LastSyncResourceVersion() },
			"IsStopped":               func() { w.informer.IsStopped() },
		}
		for first := range guard.InOrder(calls) {
			for second := range guard.InOrder(calls) {
				if first == second {
					continue
				}
				registration = w.register(&handler{})
				returned := make(chan string, 2)
				call := func(method string) {
					t.Did("%s, while a delta is processed", method)
					calls[method]()
					returned <- method
				}
				store.change = func() {
					t.Go(func() { call(first) })
					yield(200) // until it waits
					t.Go(func() { call(second) })
				}
				w.change("a")
				if store.Indexer != nil { // the informer takes the layers that it is given; client-go's does not
					require.Len(t, returned, 2, "calls that have returned")
				}
			}
		}
	})
}

func TestTask5_Panic_of_a_function_that_it_is_given(t *testing.T) {
	for title, use := range guard.InOrder(map[string]func(w *world, source *brokenList, fail func()) error{
		"a transform": func(w *world, _ *brokenList, fail func()) error {
			return w.informer.SetTransform(func(obj any) (any, error) {
				fail()
				return obj, nil
			})
		},
		"a watch error handler": func(w *world, source *brokenList, fail func()) error {
			source.broken.Store(true)
			return w.informer.SetWatchErrorHandler(func(*cache.Reflector, error) {
				source.broken.Store(false)
				fail()
			})
		},
	}) {
		t.Run(title, func(t *testing.T) {
			guard.Apart(t, "A panic is reported to utilruntime. If utilruntime.ReallyCrash is off, the informer "+
				"continues.", func(t *guard.T) {
				reported := 0
				defer replace(&utilruntime.ReallyCrash, false)()
				defer replace(&utilruntime.PanicHandlers, []func(context.Context, any){
					func(context.Context, any) { reported++ },
				})()
				w := newWorld(t, "a")
				source := &brokenList{ListerWatcher: w.source()}
				w.informer = newInformer(below, source)
				t.Did("%s panics once", title)
				failed := false
				err := use(w, source, func() {
					if !failed {
						failed = true
						panic("a bug in " + title)
					}
				})
				require.NoError(t, err, "the error of the setter")
				w.run()
				w.pass(2 * time.Minute)
				require.Equal(t, 1, reported, "panics that were reported")
				require.Equal(t, []string{"a@2"}, w.stored(), "the store two minutes after the panic")
			})
		})
	}
}
