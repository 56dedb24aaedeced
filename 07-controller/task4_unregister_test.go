package controller_test

// Task 4: handlers that are removed.

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
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

func TestTask4_Removed_handler_receives_nothing(t *testing.T) {
	guard.Test(t, "RemoveEventHandler removes a handler, which receives nothing more.", func(t *guard.T) {
		w := newWorld(t, "a")
		h, other := &handler{}, w.handle()
		registration := w.register(h)
		w.run()
		h.calls()
		other.calls()
		t.Did("RemoveEventHandler")
		require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of RemoveEventHandler")
		w.create("b")
		require.Empty(t, h.calls(), "the calls of the removed handler")
		t.Rule("The other handlers go on.")
		require.Equal(t, []string{"add b@3"}, other.calls(), "the calls of the other handler")
	})
}

func TestTask4_Removed_in_the_middle(t *testing.T) {
	guard.Test(t, "A running call continues, and the remaining notifications are dropped.", func(t *guard.T) {
		w := newWorld(t)
		door := gate.New(t)
		h := &handler{before: func(string) { door.Wait() }}
		registration := w.register(h)
		w.run()
		w.create("a", "b", "c")
		t.Did("RemoveEventHandler while the handler is in its call for a")
		require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of RemoveEventHandler")
		door.Open()
		require.Equal(t, []string{"add a@2"}, h.calls(), "the handler's calls")
	})
}

func TestTask4_Handler_may_remove_itself(t *testing.T) {
	for waiting, names := range [][]string{{"a"}, {"a", "b"}} {
		t.Run(fmt.Sprint(waiting, " more waiting"), func(t *testing.T) {
			guard.Test(t, "RemoveEventHandler does not wait for the running call, so a handler may remove "+
				"itself.", func(t *guard.T) {
				w := newWorld(t, names...)
				var registration cache.ResourceEventHandlerRegistration
				door := gate.New(t) // until b waits behind a: a notification that run has taken may still be delivered
				h := &handler{}
				h.before = func(string) {
					door.Wait()
					require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of RemoveEventHandler")
				}
				registration = w.register(h)
				w.run()
				require.Empty(t, h.calls(), "the handler's calls before RemoveEventHandler")
				t.Did("RemoveEventHandler, from within the handler")
				door.Open()
				require.Len(t, h.calls(), 1, "the handler's calls after RemoveEventHandler")
			})
		})
	}
}

func TestTask4_Removed_twice(t *testing.T) {
	guard.Test(t, "RemoveEventHandler does nothing for a handler that is already removed, for the handle of "+
		"another informer, and after the end: here it is called twice, and after the end.", func(t *guard.T) {
		w := newWorld(t, "a")
		registration, stays := w.register(&handler{}), w.register(&handler{})
		w.run()
		require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of the 1st RemoveEventHandler")
		t.Did("RemoveEventHandler once more")
		require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of the 2nd RemoveEventHandler")
		w.create("b")
		require.Equal(t, []string{"a@2", "b@3"}, w.stored(), "the store after b was created")
		w.end()
		t.Did("RemoveEventHandler of the other handler")
		require.NoError(t, w.informer.RemoveEventHandler(stays), "the error of RemoveEventHandler after the end")
	})
}

func TestTask4_Removed_by_two_at_once(t *testing.T) {
	guard.Test(t, "RemoveEventHandler does nothing for a handler that is already removed, for the handle of another "+
		"informer, and after the end: here two goroutines remove a handler at once.", func(t *guard.T) {
		const handlers = 1_000
		for _, moment := range []string{"before the start", "while the informer runs"} {
			w := newWorld(t, "a")
			var registrations [handlers]cache.ResourceEventHandlerRegistration
			for i := range registrations {
				var err error
				registrations[i], err = w.informer.AddEventHandler(&handler{})
				require.NoError(t, err, "the error of AddEventHandler")
			}
			if moment != "before the start" {
				w.run()
			}
			t.Did("AddEventHandler, %d times; %s, two goroutines remove each of them at the same moments", handlers, moment)
			var failed atomic.Value
			guard.Meet(t, handlers, func(i int) {
				if err := w.informer.RemoveEventHandler(registrations[i]); err != nil {
					failed.Store(err)
				}
			})
			require.Nil(t, failed.Load(), "the error of RemoveEventHandler")
		}
	})
}

func TestTask4_Removed_before_the_start(t *testing.T) {
	guard.Test(t, "RemoveEventHandler removes a handler, which receives nothing more: here it is removed before "+
		"the start.", func(t *guard.T) {
		w := newWorld(t, "a")
		h := &handler{}
		registration := w.register(h)
		t.Did("RemoveEventHandler, twice, before the start")
		for range 2 {
			require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of RemoveEventHandler")
		}
		w.run()
		require.Empty(t, h.calls(), "the handler's calls")
		t.Rule("HasSynced of a registration is about its handler: it is true when every call for the first list has " +
			"returned. A removed handler has no such call.")
		require.False(t, registration.HasSynced(), "the registration of the removed handler has synced")
	})
}

func TestTask4_Handle_of_another_informer(t *testing.T) {
	guard.Test(t, "RemoveEventHandler does nothing for a handler that is already removed, for the handle of "+
		"another informer, and after the end: here it receives the handle of another "+
		"informer.", func(t *guard.T) {
		w, other := newWorld(t, "a"), newWorld(t, "a")
		h := &handler{}
		w.register(h)
		stranger := &handler{}
		theirs, both := other.register(stranger), other.register(h)
		w.run()
		other.run()
		h.calls()
		stranger.calls()
		t.Did("RemoveEventHandler with another informer's handles, one of them for a handler that this one has too")
		require.NoError(t, w.informer.RemoveEventHandler(theirs), "the error of RemoveEventHandler")
		require.NoError(t, w.informer.RemoveEventHandler(both), "the error of RemoveEventHandler")
		w.create("b")
		require.Equal(t, []string{"add b@3"}, h.calls(), "the calls of this informer's handler")
		t.Did("on the other informer's server:")
		other.create("b")
		require.Equal(t, []string{"add b@3"}, stranger.calls(), "the calls of the other informer's handler")
	})
}

func TestTask4_Handle_of_another_informer_in_each_phase(t *testing.T) {
	for _, started := range []string{"neither", "this", "the other"} {
		t.Run(started+" has started", func(t *testing.T) {
			guard.Test(t, "RemoveEventHandler does nothing for a handler that is already removed, for the handle of "+
				"another informer, and after the end: here not both informers have started.", func(t *guard.T) {
				w, other := newWorld(t, "a"), newWorld(t, "a")
				stranger := &handler{}
				theirs := other.register(stranger)
				if started == "this" {
					w.run()
				} else if started == "the other" {
					other.run()
					stranger.calls()
				}
				t.Did("RemoveEventHandler with another informer's handle")
				require.NoError(t, w.informer.RemoveEventHandler(theirs), "the error of RemoveEventHandler")
				if started != "the other" {
					t.Did("the other informer starts")
					other.run()
					require.Equal(t, []string{"first a@2"}, stranger.calls(), "the calls of the other informer's handler")
				}
				other.create("b")
				require.Equal(t, []string{"add b@3"}, stranger.calls(), "the calls of the other informer's handler")
				finished := theirs.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
				require.False(t, isClosed(finished), "ShutdownChan of the other informer's handler is closed")
			})
		})
	}
}

// strange is a registration that no informer has made.
type strange struct{}

func (strange) HasSynced() bool                     { return true }
func (strange) HasSyncedChecker() cache.DoneChecker { return nil }

func TestTask4_Handle_of_no_informer(t *testing.T) {
	guard.Test(t, "RemoveEventHandler returns an error for a handle that does not come from "+
		"AddEventHandler.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		require.Error(t, w.informer.RemoveEventHandler(strange{}), "RemoveEventHandler")
		require.Error(t, w.informer.RemoveEventHandler(nil), "RemoveEventHandler(nil)")
	})
}

func TestTask4_ShutDownEventHandler_waits_for_the_last_call(t *testing.T) {
	guard.Test(t, "When run returns, finished is closed: cache.ShutDownEventHandler waits for it, and afterwards "+
		"the handler is never called again.", func(t *guard.T) {
		w := newWorld(t)
		h := &handler{before: func(string) { time.Sleep(time.Minute) }}
		registration := w.register(h)
		w.run()
		w.create("a", "b")
		before := time.Now()
		t.Did("cache.ShutDownEventHandler while the handler is in its call for a")
		require.NoError(t, cache.ShutDownEventHandler(w.informer, registration), "the error of ShutDownEventHandler")
		require.Equal(t, time.Minute, time.Since(before), "time that ShutDownEventHandler waits for the call")
		require.Equal(t, []string{"add a@2"}, h.calls(), "the handler's calls")
	})
}

func TestTask4_ShutDownEventHandler_before_the_start(t *testing.T) {
	guard.Test(t, "If the handler never ran, finished is closed: cache.ShutDownEventHandler would wait forever "+
		"otherwise.", func(t *guard.T) {
		w := newWorld(t, "a")
		registration := w.register(&handler{})
		returned := make(chan struct{})
		t.Did("cache.ShutDownEventHandler before the start")
		t.Go(func() {
			defer close(returned)
			require.NoError(t, cache.ShutDownEventHandler(w.informer, registration), "the error of ShutDownEventHandler")
		})
		synctest.Wait()
		require.True(t, isClosed(returned), "ShutDownEventHandler has returned")
		w.run()
		t.Rule("The informer starts as if the handler had never been added.")
		require.Equal(t, []string{"a@2"}, w.stored(), "the store after the start")
	})
}

func TestTask4_Handlers_come_and_go_from_many(t *testing.T) {
	guard.Race(t, "Handlers may be added and removed while the informer distributes deltas: one lock guards the "+
		"listeners.", func(t *guard.T) {
		source := fcache.NewFakeControllerSource()
		informer := newInformer(below, noStreams{source})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			informer.RunWithContext(ctx)
		}()
		comeAndGo := func(int) {
			if registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{}); err == nil {
				_ = informer.RemoveEventHandler(registration)
			}
		}
		t.Did("AddEventHandler and RemoveEventHandler by two goroutines, while a Deployment changes")
		guard.Storm(func(int) { source.Modify(deployment("a")) }, comeAndGo, comeAndGo)
		cancel()
		<-ended
		source.Shutdown()
	})
}

func TestTask4_Handlers_come_while_it_starts_and_ends(t *testing.T) {
	guard.Race(t, "Handlers may be added and removed at any time: a lock guards the fields that RunWithContext "+
		"sets.", func(t *guard.T) {
		t.Did("20 times, all at once: RunWithContext, the end of its context, and a handler that comes and goes, twice")
		for range 20 {
			source := fcache.NewFakeControllerSource()
			informer := newInformer(below, noStreams{source})
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() { informer.RunWithContext(ctx) })
			for range 2 {
				all.Go(func() {
					if registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{}); err == nil {
						_ = informer.RemoveEventHandler(registration)
					}
				})
			}
			all.Go(cancel)
			all.Wait()
			source.Shutdown()
		}
	})
}

func TestTask4_Removed_handler_can_be_freed(t *testing.T) {
	guard.Test(t, "A removed handler can be freed, and its goroutines end.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		goroutines := guard.Goroutines()
		var handlers []weak.Pointer[handler]
		t.Did("fifty handlers come, each receives a change, and they go")
		for range 50 {
			h := w.come()
			handlers = append(handlers, weak.Make(h.handler))
			w.change("a")
			require.NoError(t, w.informer.RemoveEventHandler(h.registration), "the error of RemoveEventHandler")
		}
		synctest.Wait()
		require.LessOrEqual(t, guard.Goroutines()-goroutines, 5, "goroutines of 50 handlers that were removed")
		require.LessOrEqual(t, inMemory(handlers), 5, "handlers of 50 that are still in memory, all removed")
		w.create("b")
		require.Equal(t, []string{"a@52", "b@53"}, w.stored(), "the store after b was created")
	})
}

func TestTask4_Removed_handler_keeps_no_object(t *testing.T) {
	guard.Test(t, "A delivered notification can be freed, even if a program keeps the handle of a removed "+
		"handler.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		kept := w.come().registration
		synctest.Wait()
		require.NoError(t, w.informer.RemoveEventHandler(kept), "the error of RemoveEventHandler")
		var states []weak.Pointer[appsv1.Deployment]
		w.register(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
			states = append(states, weak.Make(obj.(*appsv1.Deployment)))
		}})
		t.Did("fifty objects come and go")
		w.create(numbered(50)...)
		w.remove(numbered(50)...)
		require.Len(t, states, 50, "the states that the other handler received")
		require.LessOrEqual(t, inMemory(states), 5, "states of 50 that are still in memory, all delivered and deleted")
		runtime.KeepAlive(kept)
		runtime.KeepAlive(w.informer)
	})
}

// coming is a handler, and its registration.
type coming struct {
	handler      *handler
	registration cache.ResourceEventHandlerRegistration
}

func (w *world) come() coming {
	h := &handler{}
	registration, err := w.informer.AddEventHandler(h)
	require.NoError(w.t, err, "the error of AddEventHandler")
	return coming{h, registration}
}

func TestTask4_One_of_two_registrations_is_removed(t *testing.T) {
	guard.Test(t, "RemoveEventHandler removes a handler, which receives nothing more. Another registration of the same "+
		"handler stays.", func(t *guard.T) {
		w := newWorld(t, "a")
		h := &handler{}
		first := w.register(h)
		w.register(h)
		w.run()
		h.calls()
		require.NoError(t, w.informer.RemoveEventHandler(first), "the error of RemoveEventHandler")
		w.change("a")
		require.Equal(t, []string{"update a@2 to a@3"}, h.calls(), "the handler's calls")
	})
}

func TestTask4_Handler_is_removed_right_after_a_panic(t *testing.T) {
	guard.Apart(t, "A stopped listener drops the remaining notifications, even if it is stopped less than a second after "+
		"a panic.", func(t *guard.T) {
		defer replace(&utilruntime.ReallyCrash, false)()
		defer replace(&utilruntime.PanicHandlers, nil)() // they would print the stack
		w := newWorld(t, "a")
		h := &handler{before: func(note string) {
			if strings.Contains(note, "again") || strings.Contains(note, "update") {
				panic("a bug in a handler")
			}
		}}
		registration := w.register(h)
		w.run()
		h.calls()
		t.Did("the handler panics at a change of a, and three others are created")
		w.change("a")
		w.create("x", "y", "z")
		t.Did("RemoveEventHandler")
		require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of RemoveEventHandler")
		w.pass(time.Minute)
		// A notification that run has taken before its rest may still be delivered, as in client-go.
		require.LessOrEqual(t, len(h.calls()), 1, "calls of the removed handler")
		t.Rule("When run returns, finished is closed, with or without panics before.")
		finished := registration.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
		require.True(t, isClosed(finished), "ShutdownChan of the removed handler is closed")
	})
}
