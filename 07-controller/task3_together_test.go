package controller_test

// Task 3: handlers that are added while the informer is busy.

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Informer_syncs_while_a_handler_joins(t *testing.T) {
	guard.Test(t, "HasSynced of a late registration is false until its handler has received the objects in the "+
		"store, even if the informer syncs while the handler joins.", func(t *guard.T) {
		w, listed, door := newWorld(t, "a"), gate.New(t), gate.New(t)
		store := &pausingIndexer{t: t}
		w.informer = newInformer(lateSynced{door: listed}.under(store.under(below)), w.source())
		w.run()
		t.Did("the store has a, and the first list is through while AddEventHandler looks into the store")
		store.list = listed.Open
		registration := w.register(&handler{before: func(string) { door.Wait() }})
		settle()
		t.Did("the late handler is at the first object; HasSynced")
		require.False(t, registration.HasSynced(), "the late registration has synced during the first call")
		door.Open()
		w.create("b") // a design may look for the end of the list when the queue has given it an object
		settle()
		t.Did("the call has returned; HasSynced")
		require.True(t, registration.HasSynced(), "the late registration has synced after the first call")
	})
}

func TestTask3_Empty_list_ends_while_a_handler_joins(t *testing.T) {
	guard.Apart(t, "With an empty first list every registration has synced, of early and of late handlers: once, even if "+
		"the informer syncs while the handler joins.", func(t *guard.T) {
		w, listed := newWorld(t), gate.New(t)
		store := &pausingIndexer{t: t}
		w.informer = newInformer(lateSynced{door: listed}.under(store.under(below)), w.source())
		w.run()
		t.Did("the first list, which is empty, is through while AddEventHandler looks into the store")
		store.list = listed.Open
		registration := w.register(&handler{})
		settle()
		w.create("b") // as above
		settle()
		require.True(t, registration.HasSynced(), "the late registration has synced")
	})
}

func TestTask3_Change_comes_while_a_handler_joins(t *testing.T) {
	for title, change := range guard.InOrder(map[string]func(*fcache.FakeControllerSource){
		"an addition": func(source *fcache.FakeControllerSource) { source.Add(deployment("b")) },
		"an update":   func(source *fcache.FakeControllerSource) { source.Modify(deployment("a")) },
		"a deletion":  func(source *fcache.FakeControllerSource) { source.Delete(deployment("a")) },
	}) {
		t.Run(title, func(t *testing.T) {
			guard.Test(t, "A late handler first receives the objects in the store, as additions of the first list, and "+
				"then every change, with no gaps and no duplicates: a change waits while a handler joins.", func(t *guard.T) {
				source := fcache.NewFakeControllerSource()
				t.Cleanup(source.Shutdown)
				source.Add(deployment("a"))
				store := &pausingIndexer{t: t}
				w := &world{t: t, informer: newInformer(store.under(below), noStreams{source}), ended: make(chan struct{})}
				w.run()
				t.Did("AddEventHandler has read the store; then the change comes")
				store.list = func() { change(source) }
				late := &counter{has: map[string]string{}}
				w.register(late)
				if store.Indexer == nil { // the informer does not take the layers that it is given, as client-go's
					change(source)
				}
				synctest.Wait()
				require.Empty(t, late.wrong, "wrong calls of the late handler")
				require.Equal(t, w.versions(), late.has, "the objects that the late handler knows")
			})
		})
	}
}

func TestTask3_Objects_of_the_store_can_be_freed(t *testing.T) {
	guard.Test(t, "A delivered notification can be freed: a late handler does not keep the objects that were in the "+
		"store.", func(t *guard.T) {
		w := newWorld(t, numbered(50)...).run()
		var states []weak.Pointer[appsv1.Deployment]
		w.register(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			states = append(states, weak.Make(obj.(*appsv1.Deployment)))
		}})
		synctest.Wait()
		w.remove(numbered(50)...)
		require.Len(t, states, 50, "the states that the late handler received")
		require.LessOrEqual(t, inMemory(states), 5, "states of 50 that are still in memory, all delivered and deleted")
		runtime.KeepAlive(w.informer)
	})
}

func TestTask3_Change_before_the_informer_has_synced(t *testing.T) {
	guard.Test(t, "HasSynced of a registration is about its handler: it is true when every call for the first list has "+
		"returned. Other calls do not count.", func(t *guard.T) {
		w, listed, door := newWorld(t, "a"), gate.New(t), gate.New(t)
		w.informer = newInformer(lateSynced{door: listed}.under(below), w.source())
		registration := w.register(&handler{before: func(note string) {
			if note == "delete b@5" {
				door.Wait()
			}
		}})
		w.run()
		t.Did("the handler has the first list, and changes, before the informer notices the end of the list")
		w.create("b")
		w.change("b")
		w.remove("b")
		late := w.register(&handler{})
		settle()
		t.Did("the handler does not return from its last call, for a deletion")
		t.Rule("A registration does not sync before its informer.")
		require.Equal(t, w.informer.HasSynced(), late.HasSynced(), "the late registration has synced, as the informer has")
		t.Did("the informer notices the end of the list")
		t.Rule("HasSynced of a registration is about its handler: it is true when every call for the first list has " +
			"returned. Other calls do not count.")
		listed.Open()
		w.create("c") // likewise
		settle()
		require.True(t, registration.HasSynced(), "the registration has synced")
		require.True(t, late.HasSynced(), "the late registration has synced")
	})
}

func TestTask3_Changes_of_objects_that_wait_for_the_store(t *testing.T) {
	for title, update := range guard.InOrder(map[string]func(last bool, door gate.Gate){
		"the call for the last change does not return": func(last bool, door gate.Gate) {
			if last {
				door.Wait()
			}
		},
		"each call for a change panics": func(bool, gate.Gate) { panic("a bug in a handler") },
	}) {
		t.Run(title, func(t *testing.T) {
			guard.Apart(t, "HasSynced of a registration is about its handler: it is true when every call for the first list "+
				"has returned. Other calls do not count.", func(t *guard.T) {
				defer replace(&utilruntime.ReallyCrash, false)()
				defer replace(&utilruntime.PanicHandlers, nil)() // they would print the stack
				names := []string{"a", "b", "c"}
				w, queue, door := newWorld(t, names...), slowFirst{door: gate.New(t)}, gate.New(t)
				w.informer = newInformer(queue.under(below), w.source())
				changes := 0
				registration := w.register(&handler{before: func(note string) {
					if strings.HasPrefix(note, "update") {
						changes++
						update(changes == len(names), door)
					}
				}})
				w.run()
				t.Did("the queue waits with the first list")
				w.change(names...)
				w.remove("b")
				t.Did("the queue goes on, with an addition and all changes of each object in one; %s", title)
				queue.door.Open()
				w.pass(time.Minute)
				require.True(t, registration.HasSynced(), "the registration has synced")
				door.Open()
			})
		})
	}
}

func TestTask3_Handlers_that_come_hold_up_no_change(t *testing.T) {
	guard.Test(t, "Adding handlers delays no change: a waiting change reaches the store before two more handlers "+
		"are added.", func(t *guard.T) {
		source := fcache.NewFakeControllerSource()
		t.Cleanup(source.Shutdown)
		store := &pausingIndexer{t: t}
		w := &world{t: t, informer: newInformer(store.under(below), noStreams{source}), ended: make(chan struct{})}
		w.run()
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that only a lock can make this goroutine wait
		t.Did("a is created while a handler comes; more of them come without a pause")
		store.list = func() { source.Add(deployment("a")) }
		stored := func() bool { _, exists, _ := w.informer.GetStore().Get(deployment("a")); return exists }
		came := 0
		for ; came < 10 && !stored(); came++ {
			_, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
			require.NoError(t, err, "the error of AddEventHandler")
		}
		if store.Indexer != nil { // the informer takes the layers that it is given; client-go's does not
			require.LessOrEqual(t, came, 3, "handlers that came before a was in the store")
		}
	})
}

func TestTask3_Handler_is_registered_twice(t *testing.T) {
	guard.Test(t, "Each handler receives every change, in order. A handler that is registered twice receives "+
		"it twice.", func(t *guard.T) {
		w := newWorld(t, "a")
		h := &handler{}
		w.register(h)
		w.run()
		w.register(h)
		require.Equal(t, []string{"first a@2", "first a@2"}, h.calls(), "the handler's calls")
		w.change("a")
		require.Equal(t, []string{"update a@2 to a@3", "update a@2 to a@3"}, h.calls(), "the handler's calls after a change")
	})
}

func TestTask3_Panic_is_no_delivery(t *testing.T) {
	guard.Apart(t, "HasSynced of a registration is about its handler: it is true when every call for the first list has "+
		"returned. A call that panics does not return (#129024).", func(t *guard.T) {
		defer replace(&utilruntime.ReallyCrash, false)()
		defer replace(&utilruntime.PanicHandlers, nil)() // they would print the stack
		w := newWorld(t, "a", "b")
		registration := w.register(&handler{before: func(note string) {
			if note == "first a@2" {
				panic("a bug in a handler")
			}
		}})
		t.Did("the handler panics at a")
		w.run()
		w.pass(time.Minute)
		require.False(t, registration.HasSynced(), "the registration has synced after a panic")
	})
}

func TestTask3_No_registration_syncs_before_its_informer(t *testing.T) {
	guard.Apart(t, "A registration does not sync before its informer: when its handler has the first list, so has the "+
		"store.", func(t *guard.T) {
		for range guard.Times(20, 4) {
			var early atomic.Int32
			w := newWorld(t)
			t.Did("1000 handlers are registered; as soon as its registration has synced, each asks the informer")
			for range 1000 {
				registration, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
				require.NoError(t, err, "the error of AddEventHandler")
				t.Go(func() {
					select {
					case <-registration.HasSyncedChecker().Done():
						if !w.informer.HasSynced() {
							early.Add(1)
						}
					case <-t.Context().Done():
					}
				})
			}
			w.run()
			require.Zero(t, early.Load(), "registrations that have synced although their informer has not")
			w.end()
		}
	})
}
