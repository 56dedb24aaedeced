package controller_test

// Task 4: resyncs.

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

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

func TestTask4_Resync_delivers_everything_again(t *testing.T) {
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
	guard.Test(t, "Each handler has its own resync period, and a resync reaches the handlers that are "+
		"due.", func(t *guard.T) {
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

func TestTask4_Change_reaches_every_handler(t *testing.T) {
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
	guard.Test(t, "An update that does not change the resourceVersion counts as a resync, whatever the type of "+
		"the delta: a relist delivers an unchanged object to the handlers of the last resync "+
		"(#87957).", func(t *guard.T) {
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

func TestTask4_Change_in_a_list_reaches_every_handler(t *testing.T) {
	guard.Test(t, "A change reaches every handler, even if a list reports it: a new version is not a "+
		"resync.", func(t *guard.T) {
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

func TestTask4_Shortest_period_sets_the_pace(t *testing.T) {
	guard.Test(t, "Before the start, a period shorter than the informer's pace becomes the "+
		"pace.", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		slow, fast := w.handle(), w.handleEvery(10*time.Second)
		w.run()
		slow.calls()
		fast.calls()
		w.pass(time.Minute + time.Second)
		require.Len(t, fast.calls(), 6, "calls in a minute, with a resync every ten seconds")
		t.Rule("Each handler has its own resync period, and a resync reaches the handlers that are due.")
		require.Empty(t, slow.calls(), "calls in a minute, with a resync every hour")
	})
}

func TestTask4_Late_handler_gets_the_pace_that_there_is(t *testing.T) {
	guard.Test(t, "After the start the pace stays, and a shorter period becomes the pace: a late handler cannot "+
		"have faster resyncs.", func(t *guard.T) {
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
	guard.Test(t, "After the start the pace stays, and a shorter period becomes the pace: a late handler cannot "+
		"have faster resyncs.", func(t *guard.T) {
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
	guard.Test(t, "A period below a second becomes a second.", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		h := w.handleEvery(time.Millisecond)
		w.run()
		h.calls()
		w.pass(10*time.Second + 500*time.Millisecond)
		require.Len(t, h.calls(), 10, "calls in ten and a half seconds, with a resync every millisecond wanted")
	})
}

func TestTask4_Informer_without_resyncs_has_none(t *testing.T) {
	guard.Test(t, "An informer that was made without resyncs has none, whatever its handlers ask for: the result "+
		"is 0.", func(t *guard.T) {
		w := newWorld(t, "a")
		h := w.handleEvery(time.Minute)
		w.run()
		h.calls()
		w.pass(time.Hour)
		require.Empty(t, h.calls(), "calls in an hour")
	})
}

func TestTask4_All_that_are_due_take_part(t *testing.T) {
	guard.Test(t, "Each handler has its own resync period, and a resync reaches the handlers that are due: all "+
		"of them, and no others.", func(t *guard.T) {
		w := every(t, time.Minute, "a")
		w.Create(in("prod", deployment("a")))
		all, others := []*handler{}, []*handler{}
		for range 10 {
			all = append(all, w.handle())
			others = append(others, w.handleEvery(0))
		}
		w.run()
		for i, h := range all {
			h.calls()
			others[i].calls()
		}
		w.pass(time.Minute + time.Second)
		for i, h := range all {
			require.Equal(t, []string{"again a@2", "again prod/a@3"}, sorted(h.calls()), "the calls of handler %d of 10", i+1)
			require.Empty(t, others[i].calls(), "the calls of handler %d of 10 without resyncs", i+1)
		}
	})
}

func TestTask4_Resyncs_that_were_missed_are_not_made_up_for(t *testing.T) {
	guard.Test(t, "Two resyncs of a handler are at least its period apart, even after an outage of many "+
		"periods.", func(t *guard.T) {
		w := every(t, 10*time.Second, "a")
		w.handle()
		h := w.handleEvery(time.Minute)
		w.run()
		t.Did("the server is away for an hour")
		w.Down()
		w.Cut()
		w.pass(time.Hour)
		w.Up()
		w.pass(2 * time.Minute)
		h.calls()
		w.pass(5*time.Minute + time.Second)
		require.LessOrEqual(t, len(h.calls()), 6, "calls in five minutes, with a resync every minute")
	})
}

func TestTask4_List_without_news_before_the_first_resync(t *testing.T) {
	guard.Test(t, "An update that does not change the resourceVersion counts as a resync, whatever the type of "+
		"the delta: before the first resync every handler takes part.", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		early := w.handle()
		w.run()
		late := w.handle()
		early.calls()
		late.calls()
		t.Did("this informer has no resyncs")
		w.away(func() { w.create("c") })
		require.Equal(t, []string{"add c@4", "again a@2", "again b@3"}, sorted(early.calls()), "the early handler's calls")
		require.Equal(t, []string{"add c@4", "again a@2", "again b@3"}, sorted(late.calls()), "the late handler's calls")
	})
}

func TestTask4_Removed_handler_asks_for_no_resync(t *testing.T) {
	guard.Test(t, "RemoveEventHandler removes a handler, which receives nothing more: it causes no resync "+
		"either.", func(t *guard.T) {
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
