package controller_test

// Task 4: resyncs, and handlers that go.

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
)

// handleEvery registers a handler with a resync period.
func (w *world) handleEvery(period time.Duration) *handler {
	w.t.Did("AddEventHandlerWithResyncPeriod %v", period)
	h := &handler{}
	_, err := w.informer.AddEventHandlerWithResyncPeriod(h, period)
	require.NoError(w.t, err)
	return h
}

// every is a world whose informer resyncs by default.
func every(t *guard.T, period time.Duration, names ...string) *world {
	return newWorldWith(t, cache.SharedIndexInformerOptions{ResyncPeriod: period}, names...)
}

func TestTask4_Resync_tells_everything_again(t *testing.T) {
	guard.Test(t, "the first list", func(t *guard.T) {
		w := every(t, time.Minute, "a", "b")
		h := w.handle()
		w.run()
		require.Equal(t, []string{"first a@2", "first b@3"}, sorted(h.told()))
		w.pass(59 * time.Second)
		t.Rule("not before it is time")
		require.Empty(t, h.told())
		w.pass(2 * time.Second)
		t.Rule("an update from what is known to the same: for whoever lost something on the way (no request " +
			"goes to the server for it)")
		require.Equal(t, []string{"again a@2", "again b@3"}, sorted(h.told()))
		w.pass(time.Minute)
		t.Rule("and so on")
		require.Equal(t, []string{"again a@2", "again b@3"}, sorted(h.told()))
	})
}

func TestTask4_Resync_reaches_those_that_are_due(t *testing.T) {
	guard.Test(t, "the first list is for everybody", func(t *guard.T) {
		w := every(t, time.Minute, "a")
		often, seldom, never := w.handle(), w.handleEvery(3*time.Minute), w.handleEvery(0)
		w.run()
		for _, h := range []*handler{often, seldom, never} {
			require.Equal(t, []string{"first a@2"}, h.told())
		}
		w.pass(9*time.Minute + time.Second)
		t.Rule("in nine minutes, one each minute")
		require.Len(t, often.told(), 9)
		t.Rule("in nine minutes, one each three")
		require.Len(t, seldom.told(), 3)
		t.Rule("0 is never")
		require.Empty(t, never.told())
	})
}

func TestTask4_Change_reaches_everybody(t *testing.T) {
	guard.Test(t, "a change is for all handlers", func(t *guard.T) {
		w := every(t, time.Minute, "a")
		often, never := w.handle(), w.handleEvery(0)
		w.run()
		w.pass(90 * time.Second)
		often.told()
		never.told()
		w.change("a")
		require.Equal(t, []string{"update a@2 to a@3"}, often.told())
		t.Rule("also for those without resyncs")
		require.Equal(t, []string{"update a@2 to a@3"}, never.told())
		w.create("b")
		w.remove("a")
		t.Rule("what comes and what goes is for all handlers")
		require.Equal(t, []string{"add b@4", "delete a@5"}, often.told())
		t.Rule("also for those without resyncs")
		require.Equal(t, []string{"add b@4", "delete a@5"}, never.told())
	})
}

func TestTask4_List_without_news_counts_as_a_resync(t *testing.T) {
	guard.Test(t, "b is news, and a has the version that it had: after an outage every handler would work for "+
		"nothing (#87957)", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		often, never := w.handle(), w.handleEvery(0)
		w.run()
		w.pass(61 * time.Minute) // since then it is known who is due
		often.told()
		never.told()
		w.away(func() { w.create("b") })
		require.Equal(t, []string{"add b@3"}, never.told())
		t.Rule("who took part in the last resync takes part in this one: it may be what mends a change that " +
			"got lost")
		require.Equal(t, []string{"add b@3", "again a@2"}, sorted(often.told()))
	})
}

func TestTask4_Change_that_a_list_brings_reaches_everybody(t *testing.T) {
	guard.Test(t, "a list brings it as Replaced, like all that has not changed: its version says that it is no "+
		"resync", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		often, never := w.handle(), w.handleEvery(0)
		w.run()
		w.pass(61 * time.Minute) // since then it is known who is due
		often.told()
		never.told()
		w.away(func() { w.change("a") })
		require.Equal(t, []string{"update a@2 to a@3"}, never.told())
		t.Rule("a change is for all handlers")
		require.Equal(t, []string{"update a@2 to a@3"}, often.told())
	})
}

func TestTask4_Most_impatient_handler_sets_the_pace(t *testing.T) {
	guard.Test(t, "six in a minute: before the start the informer goes by the shortest period", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		slow, fast := w.handle(), w.handleEvery(10*time.Second)
		w.run()
		slow.told()
		fast.told()
		w.pass(time.Minute + time.Second)
		require.Len(t, fast.told(), 6)
		t.Rule("and who wants one an hour gets one an hour")
		require.Empty(t, slow.told())
	})
}

func TestTask4_Late_handler_gets_the_pace_that_there_is(t *testing.T) {
	guard.Test(t, "it is resynced", func(t *guard.T) {
		w := every(t, time.Minute, "a").run()
		h := w.handleEvery(time.Second)
		h.told()
		w.pass(3*time.Minute + time.Second)
		told := len(h.told())
		require.GreaterOrEqual(t, told, 2)
		t.Rule("at the informer's pace, which was set when it started")
		require.LessOrEqual(t, told, 3)
	})
}

func TestTask4_Late_handler_cannot_be_faster_than_the_pace(t *testing.T) {
	guard.Test(t, "it is told what is there", func(t *guard.T) {
		w := every(t, time.Minute, "a").run()
		w.pass(30 * time.Second)
		h := w.handleEvery(time.Second)
		require.Equal(t, []string{"first a@2"}, h.told())
		w.pass(31 * time.Second)
		t.Rule("its period is the informer's, a minute, and has not passed")
		require.Empty(t, h.told())
		w.pass(time.Minute)
		t.Rule("now it has")
		require.Equal(t, []string{"again a@2"}, h.told())
	})
}

func TestTask4_Not_more_often_than_each_second(t *testing.T) {
	guard.Test(t, "a resync is work for everybody: a second is the least", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		h := w.handleEvery(time.Millisecond)
		w.run()
		h.told()
		w.pass(10*time.Second + 500*time.Millisecond)
		require.Len(t, h.told(), 10)
	})
}

func TestTask4_Informer_without_resyncs_has_none(t *testing.T) {
	guard.Test(t, "an informer that was made with 0 does not resync, whatever its handlers want", func(t *guard.T) {
		w := newWorld(t, "a")
		h := w.handleEvery(time.Minute)
		w.run()
		h.told()
		w.pass(time.Hour)
		require.Empty(t, h.told())
	})
}

func TestTask4_Removed_handler_is_told_nothing(t *testing.T) {
	guard.Test(t, "who has gone is left in peace", func(t *guard.T) {
		w := newWorld(t, "a")
		h, other := &handler{}, w.handle()
		registration := w.register(h)
		w.run()
		h.told()
		other.told()
		t.Did("RemoveEventHandler")
		require.NoError(t, w.informer.RemoveEventHandler(registration))
		w.create("b")
		require.Empty(t, h.told())
		t.Rule("the others go on")
		require.Equal(t, []string{"add b@3"}, other.told())
	})
}

func TestTask4_Removed_in_the_middle(t *testing.T) {
	guard.Test(t, "the call that it is in ends; what waits behind it is dropped", func(t *guard.T) {
		w := newWorld(t)
		door := gate.New(t)
		h := &handler{before: func(string) { door.Wait() }}
		registration := w.register(h)
		w.run()
		w.create("a", "b", "c")
		t.Did("RemoveEventHandler while the handler is told of a")
		require.NoError(t, w.informer.RemoveEventHandler(registration))
		door.Open()
		require.Equal(t, []string{"add a@2"}, h.told())
	})
}

func TestTask4_Handler_may_remove_itself(t *testing.T) {
	guard.Test(t, "it is in the middle of its first call", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		var registration cache.ResourceEventHandlerRegistration
		door := gate.New(t) // until b waits behind a: what is on its way at that moment may still come
		h := &handler{}
		h.before = func(string) {
			door.Wait()
			require.NoError(t, w.informer.RemoveEventHandler(registration))
		}
		registration = w.register(h)
		w.run()
		require.Empty(t, h.told())
		t.Did("RemoveEventHandler, from within the handler")
		door.Open()
		t.Rule("it has heard enough after the first; nobody waits for anybody")
		require.Len(t, h.told(), 1)
	})
}

func TestTask4_Removed_twice(t *testing.T) {
	guard.Test(t, "it is gone, which is what was wanted", func(t *guard.T) {
		w := newWorld(t, "a")
		registration := w.register(&handler{})
		w.run()
		require.NoError(t, w.informer.RemoveEventHandler(registration))
		t.Did("RemoveEventHandler once more")
		require.NoError(t, w.informer.RemoveEventHandler(registration))
		w.create("b")
		t.Rule("and the informer goes on")
		require.Equal(t, []string{"a@2", "b@3"}, w.stored())
	})
}

func TestTask4_Removed_before_the_start(t *testing.T) {
	guard.Test(t, "it never began", func(t *guard.T) {
		w := newWorld(t, "a")
		h := &handler{}
		registration := w.register(h)
		t.Did("RemoveEventHandler before the start")
		require.NoError(t, w.informer.RemoveEventHandler(registration))
		w.run()
		require.Empty(t, h.told())
	})
}

func TestTask4_Removed_after_the_end(t *testing.T) {
	guard.Test(t, "it is gone already", func(t *guard.T) {
		w := newWorld(t, "a")
		registration := w.register(&handler{})
		w.run()
		w.end()
		t.Did("RemoveEventHandler after the end")
		require.NoError(t, w.informer.RemoveEventHandler(registration))
	})
}

func TestTask4_Handle_of_another_informer(t *testing.T) {
	guard.Test(t, "it is not one of ours, so it is gone from here", func(t *guard.T) {
		w, other := newWorld(t, "a"), newWorld(t, "a")
		h := &handler{}
		w.register(h)
		stranger := &handler{}
		theirs := other.register(stranger)
		w.run()
		other.run()
		h.told()
		stranger.told()
		t.Did("RemoveEventHandler with another informer's handle")
		require.NoError(t, w.informer.RemoveEventHandler(theirs))
		w.create("b")
		t.Rule("ours stays")
		require.Equal(t, []string{"add b@3"}, h.told())
		t.Did("on the other informer's server:")
		other.create("b")
		t.Rule("the other informer's handler stays as well: only its own informer can remove it")
		require.Equal(t, []string{"add b@3"}, stranger.told())
	})
}

// strange is a registration that no informer has made.
type strange struct{}

func (strange) HasSynced() bool                     { return true }
func (strange) HasSyncedChecker() cache.DoneChecker { return nil }

func TestTask4_Handle_that_nobody_made(t *testing.T) {
	guard.Test(t, "that is a mistake in the program, and worth an error", func(t *guard.T) {
		w := newWorld(t, "a").run()
		require.Error(t, w.informer.RemoveEventHandler(strange{}))
	})
}

func TestTask4_ShutDownEventHandler_waits_for_the_last_call(t *testing.T) {
	guard.Test(t, "when it returns, the handler is not running and never will be again", func(t *guard.T) {
		w := newWorld(t)
		h := &handler{before: func(string) { time.Sleep(time.Minute) }}
		registration := w.register(h)
		w.run()
		w.create("a", "b")
		before := time.Now()
		t.Did("cache.ShutDownEventHandler while the handler is told of a")
		require.NoError(t, cache.ShutDownEventHandler(w.informer, registration))
		require.Equal(t, time.Minute, time.Since(before))
		require.Equal(t, []string{"add a@2"}, h.told())
	})
}

func TestTask4_ShutDownEventHandler_before_the_start(t *testing.T) {
	guard.Test(t, "it is the informer's own handle", func(t *guard.T) {
		w := newWorld(t, "a")
		registration := w.register(&handler{})
		returned := make(chan struct{})
		t.Did("cache.ShutDownEventHandler before the start")
		t.Go(func() {
			defer close(returned)
			require.NoError(t, cache.ShutDownEventHandler(w.informer, registration))
		})
		synctest.Wait()
		t.Rule("a handler that never ran will not be called any more: there is nothing to wait for")
		require.Equal(t, true, isClosed(returned))
		w.run()
		t.Rule("and the informer starts as if it had never been there")
		require.Equal(t, []string{"a@2"}, w.stored())
	})
}

func TestTask4_Handlers_come_and_go_from_many(t *testing.T) {
	guard.Race(t, "handlers come and go while deltas are told: whoever touches the list of listeners has the lock that handleDeltas has", func(t *guard.T) {
		source := fcache.NewFakeControllerSource()
		informer := controller.NewSharedIndexInformerOn(below, noStreams{source}, &appsv1.Deployment{}, cache.SharedIndexInformerOptions{})
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
	guard.Race(t, "handlers come when they come, be it while the informer starts or ends: what all three touch has a lock", func(t *guard.T) {
		t.Did("20 times: RunWithContext, the end of its context, and two who add and remove a handler, all at once")
		for range 20 {
			source := fcache.NewFakeControllerSource()
			informer := controller.NewSharedIndexInformerOn(below, noStreams{source}, &appsv1.Deployment{}, cache.SharedIndexInformerOptions{})
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

func TestTask4_Removed_handler_asks_for_no_resync(t *testing.T) {
	guard.Test(t, "who is left wants one an hour", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		eager := &handler{}
		registration, err := w.informer.AddEventHandlerWithResyncPeriod(eager, time.Minute)
		require.NoError(t, err)
		patient := w.handle()
		w.run()
		patient.told()
		require.NoError(t, w.informer.RemoveEventHandler(registration))
		w.pass(30 * time.Minute)
		require.Empty(t, patient.told())
		synctest.Wait()
		w.pass(31 * time.Minute)
		t.Rule("and gets it")
		require.Equal(t, []string{"again a@2"}, patient.told())
	})
}
