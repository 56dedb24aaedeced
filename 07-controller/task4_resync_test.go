package controller_test

// Task 4: resyncs, and handlers that go.

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
)

// handleEvery registers a handler with a resync period.
func (w *world) handleEvery(period time.Duration) *handler {
	w.t.Did("AddEventHandlerWithResyncPeriod %v", period)
	h := &handler{}
	_, err := w.informer.AddEventHandlerWithResyncPeriod(h, period)
	require.NoError(w.t, err, "the error of AddEventHandlerWithResyncPeriod")
	return h
}

// every is a world whose informer resyncs by default.
func every(t *guard.T, period time.Duration, names ...string) *world {
	return newWorldWith(t, cache.SharedIndexInformerOptions{ResyncPeriod: period}, names...)
}

func TestTask4_Resync_tells_everything_again(t *testing.T) {
	guard.Test(t, "A resync delivers every object in the store again, as an update from a state to the "+
		"same state.", func(t *guard.T) {
		w := every(t, time.Minute, "a", "b")
		h := w.handle()
		w.run()
		require.Equal(t, []string{"first a@2", "first b@3"}, sorted(h.calls()), "the calls for the first list")
		w.pass(59 * time.Second)
		require.Empty(t, h.calls(), "the calls before the 1st resync")
		w.pass(2 * time.Second)
		require.Equal(t, []string{"again a@2", "again b@3"}, sorted(h.calls()), "the calls of the 1st resync")
		w.pass(time.Minute)
		require.Equal(t, []string{"again a@2", "again b@3"}, sorted(h.calls()), "the calls of the 2nd resync")
	})
}

func TestTask4_Resync_reaches_those_that_are_due(t *testing.T) {
	guard.Test(t, "Each handler has a resync period of its own, and a resync reaches the handlers "+
		"that are due.", func(t *guard.T) {
		w := every(t, time.Minute, "a")
		often, seldom, never := w.handle(), w.handleEvery(3*time.Minute), w.handleEvery(0)
		w.run()
		for _, h := range []*handler{often, seldom, never} {
			require.Equal(t, []string{"first a@2"}, h.calls(), "the calls for the first list")
		}
		w.pass(9*time.Minute + time.Second)
		require.Len(t, often.calls(), 9, "calls in nine minutes, with a resync every minute")
		require.Len(t, seldom.calls(), 3, "calls in nine minutes, with a resync every three minutes")
		require.Empty(t, never.calls(), "calls in nine minutes, without resyncs")
	})
}

func TestTask4_Change_reaches_everybody(t *testing.T) {
	guard.Test(t, "A change reaches every handler, with or without resyncs.", func(t *guard.T) {
		w := every(t, time.Minute, "a")
		often, never := w.handle(), w.handleEvery(0)
		w.run()
		w.pass(90 * time.Second)
		often.calls()
		never.calls()
		w.change("a")
		require.Equal(t, []string{"update a@2 to a@3"}, often.calls(), "the calls with resyncs, after a was changed")
		require.Equal(t, []string{"update a@2 to a@3"}, never.calls(), "the calls without resyncs, after a was changed")
		w.create("b")
		w.remove("a")
		require.Equal(t, []string{"add b@4", "delete a@5"}, often.calls(),
			"the calls with resyncs, after b was created and a deleted")
		require.Equal(t, []string{"add b@4", "delete a@5"}, never.calls(),
			"the calls without resyncs, after b was created and a deleted")
	})
}

func TestTask4_List_without_news_counts_as_a_resync(t *testing.T) {
	guard.Test(t, "A list that brings nothing new counts as a resync: an unchanged object goes to the handlers of "+
		"the last resync (#87957).", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		often, never := w.handle(), w.handleEvery(0)
		w.run()
		w.pass(61 * time.Minute) // since then the informer knows the handlers that are due
		often.calls()
		never.calls()
		w.away(func() { w.create("b") })
		require.Equal(t, []string{"add b@3"}, never.calls(), "the calls without resyncs")
		require.Equal(t, []string{"add b@3", "again a@2"}, sorted(often.calls()), "the calls with resyncs")
	})
}

func TestTask4_Change_that_a_list_brings_reaches_everybody(t *testing.T) {
	guard.Test(t, "A change reaches every handler, even if a list brings it: the new version says that it is "+
		"not a resync.", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		often, never := w.handle(), w.handleEvery(0)
		w.run()
		w.pass(61 * time.Minute) // since then the informer knows the handlers that are due
		often.calls()
		never.calls()
		w.away(func() { w.change("a") })
		require.Equal(t, []string{"update a@2 to a@3"}, never.calls(), "the calls without resyncs")
		require.Equal(t, []string{"update a@2 to a@3"}, often.calls(), "the calls with resyncs")
	})
}

func TestTask4_Most_impatient_handler_sets_the_pace(t *testing.T) {
	guard.Test(t, "Before the start a handler that wants a shorter period than the informer's makes it the "+
		"informer's.", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		slow, fast := w.handle(), w.handleEvery(10*time.Second)
		w.run()
		slow.calls()
		fast.calls()
		w.pass(time.Minute + time.Second)
		require.Len(t, fast.calls(), 6, "calls in a minute, with a resync every ten seconds")
		t.Rule("Each handler has a resync period of its own, and a resync reaches the handlers that are due.")
		require.Empty(t, slow.calls(), "calls in a minute, with a resync every hour")
	})
}

func TestTask4_Late_handler_gets_the_pace_that_there_is(t *testing.T) {
	guard.Test(t, "Resyncs come at the informer's pace, which is set when it starts: a late handler cannot have "+
		"them faster.", func(t *guard.T) {
		w := every(t, time.Minute, "a").run()
		h := w.handleEvery(time.Second)
		h.calls()
		w.pass(3*time.Minute + time.Second)
		calls := len(h.calls())
		require.GreaterOrEqual(t, calls, 2, "calls in three minutes, with a resync every second wanted")
		require.LessOrEqual(t, calls, 3, "calls in three minutes, with a resync every second wanted")
	})
}

func TestTask4_Late_handler_cannot_be_faster_than_the_pace(t *testing.T) {
	guard.Test(t, "Resyncs come at the informer's pace, which is set when it starts: a late handler cannot have "+
		"them faster.", func(t *guard.T) {
		w := every(t, time.Minute, "a").run()
		w.pass(30 * time.Second)
		h := w.handleEvery(time.Second)
		require.Equal(t, []string{"first a@2"}, h.calls(), "the calls for the first list")
		w.pass(31 * time.Second)
		require.Empty(t, h.calls(), "the calls in the first 31 seconds")
		w.pass(time.Minute)
		require.Equal(t, []string{"again a@2"}, h.calls(), "the calls in the next minute")
	})
}

func TestTask4_Not_more_often_than_each_second(t *testing.T) {
	guard.Test(t, "A resync period of less than a second is a second.", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		h := w.handleEvery(time.Millisecond)
		w.run()
		h.calls()
		w.pass(10*time.Second + 500*time.Millisecond)
		require.Len(t, h.calls(), 10, "calls in ten and a half seconds, with a resync every millisecond wanted")
	})
}

func TestTask4_Informer_without_resyncs_has_none(t *testing.T) {
	guard.Test(t, "An informer that was made without resyncs has none, whatever its handlers want.", func(t *guard.T) {
		w := newWorld(t, "a")
		h := w.handleEvery(time.Minute)
		w.run()
		h.calls()
		w.pass(time.Hour)
		require.Empty(t, h.calls(), "calls in an hour")
	})
}

func TestTask4_Removed_handler_is_told_nothing(t *testing.T) {
	guard.Test(t, "A handler that was removed receives nothing more.", func(t *guard.T) {
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
	guard.Test(t, "RemoveEventHandler lets the running call go on, and drops the notifications "+
		"that are left.", func(t *guard.T) {
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
	guard.Test(t, "A handler may remove itself: RemoveEventHandler does not wait for the running call.", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		var registration cache.ResourceEventHandlerRegistration
		door := gate.New(t) // until b waits behind a: what is on its way at that moment may still come
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
}

func TestTask4_Removed_twice(t *testing.T) {
	guard.Test(t, "RemoveEventHandler of a handler that is removed already does nothing.", func(t *guard.T) {
		w := newWorld(t, "a")
		registration := w.register(&handler{})
		w.run()
		require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of the 1st RemoveEventHandler")
		t.Did("RemoveEventHandler once more")
		require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of the 2nd RemoveEventHandler")
		w.create("b")
		require.Equal(t, []string{"a@2", "b@3"}, w.stored(), "the store after b was created")
	})
}

func TestTask4_Removed_before_the_start(t *testing.T) {
	guard.Test(t, "A handler that was removed before the start receives nothing.", func(t *guard.T) {
		w := newWorld(t, "a")
		h := &handler{}
		registration := w.register(h)
		t.Did("RemoveEventHandler before the start")
		require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of RemoveEventHandler")
		w.run()
		require.Empty(t, h.calls(), "the handler's calls")
	})
}

func TestTask4_Removed_after_the_end(t *testing.T) {
	guard.Test(t, "RemoveEventHandler after the end does nothing.", func(t *guard.T) {
		w := newWorld(t, "a")
		registration := w.register(&handler{})
		w.run()
		w.end()
		t.Did("RemoveEventHandler after the end")
		require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of RemoveEventHandler")
	})
}

func TestTask4_Handle_of_another_informer(t *testing.T) {
	guard.Test(t, "RemoveEventHandler with the handle of another informer does nothing.", func(t *guard.T) {
		w, other := newWorld(t, "a"), newWorld(t, "a")
		h := &handler{}
		w.register(h)
		stranger := &handler{}
		theirs := other.register(stranger)
		w.run()
		other.run()
		h.calls()
		stranger.calls()
		t.Did("RemoveEventHandler with another informer's handle")
		require.NoError(t, w.informer.RemoveEventHandler(theirs), "the error of RemoveEventHandler")
		w.create("b")
		require.Equal(t, []string{"add b@3"}, h.calls(), "the calls of this informer's handler")
		t.Did("on the other informer's server:")
		other.create("b")
		require.Equal(t, []string{"add b@3"}, stranger.calls(), "the calls of the other informer's handler")
	})
}

// strange is a registration that no informer has made.
type strange struct{}

func (strange) HasSynced() bool                     { return true }
func (strange) HasSyncedChecker() cache.DoneChecker { return nil }

func TestTask4_Handle_that_nobody_made(t *testing.T) {
	guard.Test(t, "RemoveEventHandler with a handle that is not from AddEventHandler is an error.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		require.Error(t, w.informer.RemoveEventHandler(strange{}), "RemoveEventHandler")
	})
}

func TestTask4_ShutDownEventHandler_waits_for_the_last_call(t *testing.T) {
	guard.Test(t, "When cache.ShutDownEventHandler returns, the handler is not running and will not be "+
		"called again.", func(t *guard.T) {
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
	guard.Test(t, "A handler that never ran will not be called any more, so cache.ShutDownEventHandler "+
		"does not wait.", func(t *guard.T) {
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
		t.Rule("The informer starts as if the handler had never been there.")
		require.Equal(t, []string{"a@2"}, w.stored(), "the store after the start")
	})
}

func TestTask4_Handlers_come_and_go_from_many(t *testing.T) {
	guard.Race(t, "Handlers may come and go while the informer distributes deltas: one lock guards the list "+
		"of listeners.", func(t *guard.T) {
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
	guard.Race(t, "Handlers may come and go at any time: a lock guards the fields of RunWithContext.", func(t *guard.T) {
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

func TestTask4_Removed_handler_asks_for_no_resync(t *testing.T) {
	guard.Test(t, "A handler that was removed asks for no resync: the others keep their own periods.", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		eager := &handler{}
		registration, err := w.informer.AddEventHandlerWithResyncPeriod(eager, time.Minute)
		require.NoError(t, err, "the error of AddEventHandlerWithResyncPeriod")
		patient := w.handle()
		w.run()
		patient.calls()
		require.NoError(t, w.informer.RemoveEventHandler(registration), "the error of RemoveEventHandler")
		w.pass(30 * time.Minute)
		require.Empty(t, patient.calls(), "the calls in the first 30 minutes")
		synctest.Wait()
		w.pass(31 * time.Minute)
		require.Equal(t, []string{"again a@2"}, patient.calls(), "the calls in the next 31 minutes")
	})
}
