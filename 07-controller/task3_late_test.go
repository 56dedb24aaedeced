package controller_test

// Task 3: late handlers, and HasSynced of a registration.

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Late_handler_receives_the_store(t *testing.T) {
	guard.Test(t, "A late handler first receives the objects in the store, and then every change: the objects "+
		"come as additions of the first list.", func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		w.remove("b")
		w.create("c")
		t.Did("prod/a is created")
		w.Create(in("prod", deployment("a")))
		synctest.Wait()
		h := w.handle()
		require.Equal(t, []string{"first a@2", "first c@5", "first prod/a@6"}, sorted(h.calls()), "the late handler's calls")
	})
}

func TestTask3_Late_handler_receives_every_change(t *testing.T) {
	guard.Test(t, "A late handler first receives the objects in the store, and then every "+
		"change.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		h := w.handle()
		w.create("b")
		w.change("a")
		w.remove("a")
		require.Equal(t, []string{"first a@2", "add b@3", "update a@2 to a@4", "delete a@5"}, h.calls(),
			"the late handler's calls")
	})
}

func TestTask3_Other_handlers_receive_nothing_again(t *testing.T) {
	guard.Test(t, "The objects in the store go to the late handler only.", func(t *guard.T) {
		w := newWorld(t, "a")
		early := w.handle()
		w.run()
		early.calls()
		w.handle()
		require.Empty(t, early.calls(), "the early handler's calls")
	})
}

func TestTask3_Handler_comes_while_a_delta_is_handled(t *testing.T) {
	for title, change := range guard.InOrder(map[string]func(w *world){
		"an addition": func(w *world) { w.create("b") },
		"an update":   func(w *world) { w.change("a") },
		"a deletion":  func(w *world) { w.remove("a") },
	}) {
		t.Run(title, func(t *testing.T) {
			guard.Test(t, "A late handler first receives the objects in the store, as additions of the "+
				"first list, and then every change, with no gaps and no duplicates: it cannot join "+
				"in the middle of a delta.", func(t *guard.T) {
				w := newWorld(t, "a")
				late := &counter{has: map[string]string{}}
				comes := sync.OnceFunc(func() {
					t.Did("the store has the change, and no handler has received it; AddEventHandler")
					_, err := w.informer.AddEventHandler(late)
					require.NoError(t, err, "the error of AddEventHandler")
				})
				store := &pausingIndexer{t: t}
				w.informer = newInformer(store.under(below), w.source())
				w.run()
				store.change = comes
				change(w)
				comes() // after it, if the informer does not take the layers that it is given, as client-go's
				synctest.Wait()
				require.Empty(t, late.wrong, "wrong calls of the late handler")
				require.Equal(t, w.versions(), late.has, "the objects that the late handler knows")
			})
		})
	}
}

// versions returns the versions in the store, by name.
func (w *world) versions() map[string]string {
	has := map[string]string{}
	for _, obj := range w.informer.GetStore().List() {
		d := obj.(*appsv1.Deployment)
		has[d.Name] = d.ResourceVersion
	}
	return has
}

// Changes and handlers that come at the same time can come in any order, so this test makes many of both.
func TestTask3_No_gap_and_no_duplicate(t *testing.T) {
	guard.Test(t, "A late handler first receives the objects in the store, as additions of the first list, and "+
		"then every change, with no gaps and no duplicates.", func(t *guard.T) {
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
			require.NoError(t, err, "the error of AddEventHandler")
			synctest.Wait()
		}
		want := len(w.informer.GetStore().ListKeys())
		for i, h := range handlers {
			require.Empty(t, h.wrong, "wrong calls of handler %d", i)
			require.Len(t, h.has, want, "the objects that handler %d knows", i)
		}
	})
}

// counter is a handler that keeps a store of its own, and notes each call that does not fit it.
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
		c.wrong = append(c.wrong, "a deletion of an object that it does not know: "+name(obj))
	}
	delete(c.has, d.Name)
}

func TestTask3_HasSynced_waits_for_delivery(t *testing.T) {
	guard.Test(t, "HasSynced of a registration is about its handler: it is true when every call for the first list "+
		"has returned (#113985).", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		next := make(chan struct{}, 2) // each lets one call return
		t.Cleanup(func() { close(next) })
		registration := w.register(&handler{before: func(string) { <-next }})
		w.run()
		t.Did("the handler is at the first of two; HasSynced")
		require.True(t, w.informer.HasSynced(), "the informer has synced")
		require.False(t, registration.HasSynced(), "the registration has synced during the 1st of two calls")
		next <- struct{}{}
		synctest.Wait()
		t.Did("the handler is at the second; HasSynced")
		require.False(t, registration.HasSynced(), "the registration has synced during the 2nd of two calls")
		next <- struct{}{}
		synctest.Wait()
		t.Did("it has returned; HasSynced")
		require.True(t, registration.HasSynced(), "the registration has synced after both calls")
		require.True(t, cache.IsDone(registration.HasSyncedChecker()), "HasSyncedChecker is done after both calls")
	})
}

func TestTask3_HasSynced_does_not_wait_for_later_changes(t *testing.T) {
	guard.Test(t, "HasSynced of a registration is about the first list, not about later changes.", func(t *guard.T) {
		w := newWorld(t, "a")
		doors := map[string]gate.Gate{"first a@2": gate.New(t), "add b@3": gate.New(t)}
		registration := w.register(&handler{before: func(note string) { doors[note].Wait() }})
		w.run()
		w.create("b")
		doors["first a@2"].Open()
		synctest.Wait()
		t.Did("the handler has a, which was there at the start, and is at b, which came later; HasSynced")
		require.True(t, registration.HasSynced(), "the registration has synced during the call for a later change")
	})
}

func TestTask3_HasSynced_not_before_the_list(t *testing.T) {
	guard.Test(t, "A registration does not sync before the first list, even if its handler has nothing left to "+
		"receive.", func(t *guard.T) {
		w := newWorld(t, "a")
		registration := w.register(&handler{})
		require.False(t, registration.HasSynced(), "the registration has synced before the start")
		w.Down()
		w.run()
		w.pass(time.Minute)
		t.Did("there is no server, so nothing is left to be delivered; HasSynced")
		require.False(t, registration.HasSynced(), "the registration has synced without a server")
		w.Up()
		w.pass(2 * time.Minute)
		require.True(t, registration.HasSynced(), "the registration has synced after the list")
	})
}

func TestTask3_HasSynced_after_an_end_without_a_list(t *testing.T) {
	guard.Test(t, "A registration does not sync before the first list: if the informer ends before it, the handler never "+
		"has.", func(t *guard.T) {
		w := newWorld(t, "a")
		early := w.register(&handler{})
		w.Down()
		w.run()
		late := w.register(&handler{})
		w.end()
		require.False(t, early.HasSynced(), "the early registration has synced without a list")
		require.False(t, late.HasSynced(), "the late registration has synced without a list")
	})
}

func TestTask3_HasSynced_not_in_the_middle_of_the_list(t *testing.T) {
	guard.Test(t, "A registration does not sync before its informer, even if its handler has received every "+
		"object so far.", func(t *guard.T) {
		w, door := held(t, "a", "b")
		registration := w.register(&handler{})
		w.run()
		t.Did("the list has a and b; one is delivered, and the other on its way into the store; HasSynced")
		require.False(t, registration.HasSynced(), "the registration has synced in the middle of the list")
		t.Did("a second handler comes; it may have to wait, as it does for client-go's informer")
		came := make(chan cache.ResourceEventHandlerRegistration, 1)
		headStart(t, func() { came <- w.register(&handler{}) })
		if len(came) == 1 {
			second := <-came
			require.False(t, second.HasSynced(), "the second registration has synced in the middle of the list")
			came <- second
		}
		t.Did("that one comes into the store; HasSynced")
		door.Open()
		settle()
		require.True(t, registration.HasSynced(), "the registration has synced after the list")
		require.True(t, (<-came).HasSynced(), "the second registration has synced after the list")
	})
}

func TestTask3_Handler_may_add_a_handler(t *testing.T) {
	guard.Test(t, "No lock is held while a handler runs, so it may call the informer, and add a "+
		"handler.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		second := &handler{}
		w.register(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			w.informer.HasSynced()
			w.informer.IsStopped()
			w.informer.LastSyncResourceVersion()
			if name(obj) == "a@2" {
				_, err := w.informer.AddEventHandler(second)
				require.NoError(t, err, "the error of AddEventHandler")
			}
		}})
		synctest.Wait()
		w.create("b")
		require.Equal(t, []string{"first a@2", "add b@3"}, second.calls(), "the calls of the second handler")
	})
}

func TestTask3_Handler_calls_the_informer_that_ends(t *testing.T) {
	guard.Test(t, "No lock is held while a handler runs, so it may call the informer, even while RunWithContext waits "+
		"for the handler.", func(t *guard.T) {
		w, door := newWorld(t, "a"), gate.New(t)
		returned := false
		w.register(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			door.Wait()
			w.informer.HasSynced()
			w.informer.IsStopped()
			w.informer.LastSyncResourceVersion()
			_, err := w.informer.AddEventHandler(&handler{})
			returned = err != nil
		}})
		w.run()
		t.Did("the context ends while the handler is in its call; then the handler calls the informer")
		w.stop()
		synctest.Wait()
		door.Open()
		w.end()
		t.Rule("AddEventHandlerWithOptions returns an error after the end.")
		require.True(t, returned, "the handler's calls have returned, AddEventHandler with an error")
	})
}

func TestTask3_HasSynced_with_an_empty_list(t *testing.T) {
	guard.Test(t, "With an empty first list every registration has synced, of early and of late "+
		"handlers.", func(t *guard.T) {
		w := newWorld(t)
		early := w.register(&handler{})
		w.run()
		require.True(t, early.HasSynced(), "the early registration has synced")
		late := w.register(&handler{})
		synctest.Wait()
		require.True(t, late.HasSynced(), "the late registration has synced")
	})
}

func TestTask3_HasSynced_of_a_late_handler(t *testing.T) {
	guard.Test(t, "HasSynced of a late registration is false until its handler has received the objects in the "+
		"store.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		door := gate.New(t)
		registration := w.register(&handler{before: func(string) { door.Wait() }})
		synctest.Wait()
		t.Did("the late handler is at the first object; HasSynced")
		require.False(t, registration.HasSynced(), "the late registration has synced during the first call")
		door.Open()
		settle()
		require.True(t, registration.HasSynced(), "the late registration has synced after the first call")
	})
}

func TestTask3_Handler_that_comes_during_the_first_list(t *testing.T) {
	guard.Test(t, "A handler that is added during the first list receives each object once, and syncs with the "+
		"list.", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		source := &slowList{ListerWatcher: w.source(), answer: gate.New(t)}
		w.informer = newInformer(below, source)
		w.run()
		h := &handler{}
		registration := w.register(h)
		synctest.Wait()
		t.Did("the informer runs, its list is not answered; HasSynced of a handler that has just come")
		require.False(t, registration.HasSynced(), "the registration has synced before the list is answered")
		source.answer.Open()
		settle()
		require.Equal(t, []string{"first a@2", "first b@3"}, sorted(h.calls()), "the handler's calls")
		require.True(t, registration.HasSynced(), "the registration has synced after the list")
	})
}

func TestTask3_No_handlers_after_the_end(t *testing.T) {
	guard.Test(t, "AddEventHandlerWithOptions returns an error after the end, and so does "+
		"AddEventHandler.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.end()
		_, err := w.informer.AddEventHandler(&handler{})
		require.Error(t, err, "AddEventHandler after the end")
		require.ErrorContains(t, err, "stopped already", "the error of AddEventHandler after the end")
	})
}

func TestTask3_Second_run_changes_nothing(t *testing.T) {
	guard.Test(t, "A second RunWithContext returns and changes nothing: the first continues.", func(t *guard.T) {
		w := newWorld(t, "a")
		early := w.handle()
		w.run()
		early.calls()
		t.Did("RunWithContext a second time")
		w.informer.RunWithContext(t.Context())
		require.False(t, w.informer.IsStopped(), "the informer is stopped after the 2nd RunWithContext")
		late := w.handle()
		w.create("b")
		require.Equal(t, []string{"add b@3"}, early.calls(), "the early handler's calls")
		require.Equal(t, []string{"first a@2", "add b@3"}, late.calls(), "the late handler's calls")
	})
}

func TestTask3_End_with_a_late_handler_at_work(t *testing.T) {
	guard.Test(t, "When RunWithContext returns, nothing is left running, and no handler is called again: it "+
		"waits for late handlers too.", func(t *guard.T) {
		w := newWorld(t, numbered(100)...).run()
		h := &handler{}
		h.before = func(string) { time.Sleep(time.Second) }
		registration := w.register(h)
		synctest.Wait()
		before := time.Now()
		w.end()
		require.Equal(t, time.Second, time.Since(before), "time that RunWithContext waits for the late handler")
		t.Rule("HasSynced of a registration is about its handler: it is true when every call for the first list " +
			"has returned.")
		require.False(t, registration.HasSynced(), "the registration has synced after one call for 100 objects")
	})
}
