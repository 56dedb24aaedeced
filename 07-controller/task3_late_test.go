package controller_test

// Task 3: late handlers, and the question whether a handler has heard of everything.

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
)

func TestTask3_Late_handler_hears_what_is_there(t *testing.T) {
	guard.Test(t, "what is in the store, as the first list: a handler does not have to know whether it is late", func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		w.remove("b")
		w.create("c")
		h := w.handle()
		require.Equal(t, []string{"first a@2", "first c@5"}, sorted(h.told()))
	})
}

func TestTask3_Late_handler_hears_what_comes(t *testing.T) {
	guard.Test(t, "and then it is one of them", func(t *guard.T) {
		w := newWorld(t, "a").run()
		h := w.handle()
		w.create("b")
		w.change("a")
		w.remove("a")
		require.Equal(t, []string{"first a@2", "add b@3", "update a@2 to a@4", "delete a@5"}, h.told())
	})
}

func TestTask3_Nobody_else_hears_it_again(t *testing.T) {
	guard.Test(t, "the additions are for the late one alone", func(t *guard.T) {
		w := newWorld(t, "a")
		early := w.handle()
		w.run()
		early.told()
		w.handle()
		require.Empty(t, early.told())
	})
}

func TestTask3_Handler_comes_while_a_delta_is_handled(t *testing.T) {
	for title, change := range map[string]func(w *world){
		"an addition": func(w *world) { w.create("b") },
		"an update":   func(w *world) { w.change("a") },
		"a deletion":  func(w *world) { w.remove("a") },
	} {
		t.Run(title, func(t *testing.T) {
			guard.Test(t, "one lock is held from the store to the last listener: who joins sees a change in the store or "+
				"is told of it, never both", func(t *guard.T) {
				w := newWorld(t, "a")
				late := &counter{has: map[string]string{}}
				comes := sync.OnceFunc(func() {
					t.Did("the store has it, and no handler has been told; AddEventHandler")
					_, err := w.informer.AddEventHandler(late)
					require.NoError(t, err)
				})
				store := &pausingIndexer{t: t}
				w.informer = controller.NewSharedIndexInformerOn(store.under(below), w.source(), &appsv1.Deployment{}, cache.SharedIndexInformerOptions{})
				w.run()
				store.pause = comes
				change(w)
				comes() // after it, if the informer does not take the layers that it is given, as client-go's
				synctest.Wait()
				require.Empty(t, late.wrong)
				t.Rule("and never neither")
				require.Equal(t, w.stands(), late.has)
			})
		})
	}
}

// stands is what the store has, by name.
func (w *world) stands() map[string]string {
	has := map[string]string{}
	for _, obj := range w.informer.GetStore().List() {
		d := obj.(*appsv1.Deployment)
		has[d.Name] = d.ResourceVersion
	}
	return has
}

// pausingIndexer lets somebody loose after a change of the store, and gives them far more turns than they need if nothing
// is in their way. It does so on one processor, so that a turn that is given up goes to them, however busy the machine is.
type pausingIndexer struct {
	cache.Indexer
	t     *guard.T
	pause func() // nil as long as nobody is to come
}

func (p *pausingIndexer) under(below layers.Layers) layers.Layers {
	made := below.NewIndexer
	below.NewIndexer = func(keys cache.KeyFunc, indexers cache.Indexers) cache.Indexer {
		p.Indexer = made(keys, indexers)
		return p
	}
	return below
}

func (p *pausingIndexer) changed(err error) error {
	if p.pause != nil {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		p.t.Go(p.pause)
		p.pause = nil
		for range 1_000 {
			runtime.Gosched()
		}
	}
	return err
}

func (p *pausingIndexer) Add(obj any) error    { return p.changed(p.Indexer.Add(obj)) }
func (p *pausingIndexer) Update(obj any) error { return p.changed(p.Indexer.Update(obj)) }
func (p *pausingIndexer) Delete(obj any) error { return p.changed(p.Indexer.Delete(obj)) }

// What happens while handlers come in can come in any order with them, so this is asked of many at once.
func TestTask3_No_gap_and_no_double(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		w := newWorld(t).run()
		names := numbered(300)
		var handlers []*counter
		t.Did("30 times: ten are created, changed and partly deleted, and a handler comes at the same time")
		for len(names) > 0 {
			now := names[:10]
			names = names[10:]
			t.Go(func() {
				for i, name := range now {
					w.Create(deployment(name))
					d := deployment(name)
					d.Annotations = map[string]string{"changed": "yes"}
					w.Update(d)
					if i%3 == 0 {
						w.Delete(deployment(name))
					}
				}
			})
			h := &counter{has: map[string]string{}}
			handlers = append(handlers, h)
			_, err := w.informer.AddEventHandler(h)
			require.NoError(t, err)
			synctest.Wait()
		}
		want := len(w.informer.GetStore().ListKeys())
		for i, h := range handlers {
			t.Rule("handler %d: it came in between two deltas, not in the middle of one", i)
			require.Empty(t, h.wrong)
			t.Rule("handler %d knows what the store has", i)
			require.Len(t, h.has, want)
		}
	})
}

// counter is a handler that keeps a store of its own, and notes what does not fit.
type counter struct {
	has   map[string]string
	wrong []string
}

func (c *counter) OnAdd(obj any, _ bool) {
	d := obj.(*appsv1.Deployment)
	if _, double := c.has[d.Name]; double {
		c.wrong = append(c.wrong, "a second addition of "+name(obj))
	}
	c.has[d.Name] = d.ResourceVersion
}

func (c *counter) OnUpdate(old, new any) {
	d := new.(*appsv1.Deployment)
	if c.has[d.Name] != old.(*appsv1.Deployment).ResourceVersion {
		c.wrong = append(c.wrong, fmt.Sprintf("an update from %s, of which it knows version %q", name(old), c.has[d.Name]))
	}
	c.has[d.Name] = d.ResourceVersion
}

func (c *counter) OnDelete(obj any) {
	d := obj.(*appsv1.Deployment)
	if _, known := c.has[d.Name]; !known {
		c.wrong = append(c.wrong, "a deletion of what it never had: "+name(obj))
	}
	delete(c.has, d.Name)
}

func TestTask3_HasSynced_waits_for_delivery(t *testing.T) {
	guard.Test(t, "the informer has", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		next := make(chan struct{}, 2) // each lets one call return
		t.Cleanup(func() { close(next) })
		registration := w.register(&handler{before: func(string) { <-next }})
		w.run()
		t.Did("the handler is at the first of two; HasSynced")
		require.Equal(t, true, w.informer.HasSynced())
		t.Rule("but this handler has not heard of anything yet (#113985)")
		require.Equal(t, false, registration.HasSynced())
		next <- struct{}{}
		synctest.Wait()
		t.Did("the handler is at the second; HasSynced")
		t.Rule("the call has begun, and has not returned")
		require.Equal(t, false, registration.HasSynced())
		next <- struct{}{}
		synctest.Wait()
		t.Did("it has returned; HasSynced")
		t.Rule("now it has heard of the whole list")
		require.Equal(t, true, registration.HasSynced())
		t.Rule("the same question in the form that can be waited for")
		require.Equal(t, true, cache.IsDone(registration.HasSyncedChecker()))
	})
}

func TestTask3_HasSynced_does_not_wait_for_later_changes(t *testing.T) {
	guard.Test(t, "it is about the first list, and that has been delivered", func(t *guard.T) {
		w := newWorld(t, "a")
		doors := map[string]gate.Gate{"first a@2": gate.New(t), "add b@3": gate.New(t)}
		registration := w.register(&handler{before: func(note string) { doors[note].Wait() }})
		w.run()
		w.create("b")
		doors["first a@2"].Open()
		synctest.Wait()
		t.Did("the handler has a, which was there at the start, and is at b, which came later; HasSynced")
		require.Equal(t, true, registration.HasSynced())
	})
}

func TestTask3_HasSynced_not_before_the_list(t *testing.T) {
	guard.Test(t, "before the start", func(t *guard.T) {
		w := newWorld(t, "a")
		registration := w.register(&handler{})
		require.Equal(t, false, registration.HasSynced())
		w.Down()
		w.run()
		w.pass(time.Minute)
		t.Did("there is no server, so nothing is left to be delivered; HasSynced")
		t.Rule("nothing to deliver is not the same as everything delivered")
		require.Equal(t, false, registration.HasSynced())
		w.Up()
		w.pass(2 * time.Minute)
		t.Rule("after the list")
		require.Equal(t, true, registration.HasSynced())
	})
}

func TestTask3_HasSynced_not_in_the_middle_of_the_list(t *testing.T) {
	guard.Test(t, "nothing is left to be told, but the list goes on: that is what upstream is for", func(t *guard.T) {
		w, door := held(t, "a", "b")
		registration := w.register(&handler{})
		w.run()
		t.Did("the list has a and b; one is told, and the other on its way into the store; HasSynced")
		require.Equal(t, false, registration.HasSynced())
		t.Did("that one comes into the store; HasSynced")
		door.Open()
		synctest.Wait()
		t.Rule("now it has heard of the whole list")
		require.Equal(t, true, registration.HasSynced())
	})
}

func TestTask3_Handler_may_add_a_handler(t *testing.T) {
	guard.Test(t, "no lock is held while a handler runs", func(t *guard.T) {
		w := newWorld(t, "a")
		second := &handler{}
		w.register(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			if name(obj) == "a@2" {
				_, err := w.informer.AddEventHandler(second)
				require.NoError(t, err)
			}
		}})
		w.run()
		w.create("b")
		require.Equal(t, []string{"first a@2", "add b@3"}, second.told())
	})
}

func TestTask3_HasSynced_with_an_empty_list(t *testing.T) {
	guard.Test(t, "all of nothing is delivered", func(t *guard.T) {
		w := newWorld(t)
		early := w.register(&handler{})
		w.run()
		require.Equal(t, true, early.HasSynced())
		late := w.register(&handler{})
		synctest.Wait()
		t.Rule("for a late one, too")
		require.Equal(t, true, late.HasSynced())
	})
}

func TestTask3_HasSynced_of_a_late_handler(t *testing.T) {
	guard.Test(t, "it has not heard of anything yet", func(t *guard.T) {
		w := newWorld(t, "a").run()
		door := gate.New(t)
		registration := w.register(&handler{before: func(string) { door.Wait() }})
		synctest.Wait()
		t.Did("the late handler is at the first object; HasSynced")
		require.Equal(t, false, registration.HasSynced())
		door.Open()
		synctest.Wait()
		t.Rule("now it has")
		require.Equal(t, true, registration.HasSynced())
	})
}

func TestTask3_Handler_that_comes_during_the_first_list(t *testing.T) {
	guard.Test(t, "the store is empty because nothing has come yet", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		source := &slowList{ListerWatcher: w.source(), answer: gate.New(t)}
		w.informer = controller.NewSharedIndexInformerOn(below, source, &appsv1.Deployment{}, cache.SharedIndexInformerOptions{})
		w.run()
		h := &handler{}
		registration := w.register(h)
		synctest.Wait()
		t.Did("the informer runs, its list is not answered; HasSynced of a handler that has just come")
		require.Equal(t, false, registration.HasSynced())
		source.answer.Open()
		t.Rule("each once, as the first list")
		require.Equal(t, []string{"first a@2", "first b@3"}, sorted(h.told()))
		t.Rule("and with that it is synced")
		require.Equal(t, true, registration.HasSynced())
	})
}

func TestTask3_No_handlers_after_the_end(t *testing.T) {
	guard.Test(t, "it would wait for ever, so it is told", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.end()
		_, err := w.informer.AddEventHandler(&handler{})
		require.Error(t, err)
		require.ErrorContains(t, err, "stopped already")
	})
}

func TestTask3_Second_run_disturbs_nobody(t *testing.T) {
	guard.Test(t, "the first goes on: a second that returns at once must not clean up behind it", func(t *guard.T) {
		w := newWorld(t, "a")
		early := w.handle()
		w.run()
		early.told()
		t.Did("RunWithContext a second time")
		w.informer.RunWithContext(t.Context())
		require.Equal(t, false, w.informer.IsStopped())
		late := w.handle()
		w.create("b")
		t.Rule("who was there is told")
		require.Equal(t, []string{"add b@3"}, early.told())
		t.Rule("and who comes late, too")
		require.Equal(t, []string{"first a@2", "add b@3"}, late.told())
	})
}

func TestTask3_End_with_a_late_handler_at_work(t *testing.T) {
	guard.Test(t, "late handlers are stopped and waited for like all others", func(t *guard.T) {
		w := newWorld(t, numbered(100)...).run()
		h := &handler{}
		h.before = func(string) { time.Sleep(time.Second) }
		w.register(h)
		synctest.Wait()
		before := time.Now()
		w.end()
		require.Equal(t, time.Second, time.Since(before))
	})
}
