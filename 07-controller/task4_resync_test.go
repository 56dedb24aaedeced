package controller_test

// Task 4: resyncs.

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	controller "client-go-workshop/07-controller"
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
		often, seldom, never := w.handle(), w.handleEvery(150*time.Second), w.handleEvery(0)
		almost := w.handleEvery(61 * time.Second)
		w.run()
		for _, h := range []*handler{often, seldom, never, almost} {
			require.Equal(t, []string{"first a@2"}, h.calls(), "the calls for the first list")
		}
		w.pass(time.Second)
		for minute := 1; minute <= 9; minute++ {
			w.pass(time.Minute)
			require.Len(t, often.calls(), 1, "calls in minute %d, with a resync every minute", minute)
			t.Rule("Each handler has its own resync period, and a resync reaches the handlers that are due. Two resyncs of a " +
				"handler are at least its period apart.")
			require.Len(t, seldom.calls(), map[bool]int{true: 1}[minute%3 == 0],
				"calls in minute %d, with a period of two and a half minutes", minute)
			require.Len(t, almost.calls(), 1-minute%2, "calls in minute %d, with a period of a minute and a second", minute)
			require.Empty(t, never.calls(), "calls in minute %d, without resyncs", minute)
			t.Did("another handler is registered, and removed")
			require.NoError(t, w.informer.RemoveEventHandler(w.register(&handler{})), "the error of RemoveEventHandler")
		}
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

func TestTask4_List_without_news_when_no_handler_is_due(t *testing.T) {
	const rule = "An update that does not change the resourceVersion counts as a resync, whatever the type of the " +
		"delta: a relist delivers an unchanged object to no handler if none was due at the last look."
	guard.Test(t, rule, func(t *guard.T) {
		var writes atomic.Int64
		counting := cache.Indexers{"": func(any) ([]string, error) { writes.Add(1); return nil, nil }}
		w := newWorldWith(t, cache.SharedIndexInformerOptions{ResyncPeriod: time.Hour, Indexers: counting}, "a")
		h := w.handleEvery(2 * time.Hour)
		w.run()
		h.calls()
		for hour := 1; hour <= 3; hour++ {
			before := writes.Load()
			w.pass(time.Hour)
			if hour != 2 {
				t.Rule("shouldResync reports whether at least one handler is due for a resync: if none is, no object passes " +
					"through the queue.")
				require.Equal(t, before, writes.Load(), "calls of an index function, after hour %d", hour)
				t.Rule(rule)
			}
			again := []string{}
			if hour == 2 {
				again = []string{"again a@2"}
			}
			require.Equal(t, again, h.calls(), "the calls in hour %d, with a resync every two hours", hour)
			w.away(func() { // a relist, in which a is unchanged
				w.create("b")
				w.remove("b")
			})
			require.Equal(t, again, h.calls(), "the calls after an outage in hour %d", hour)
		}
	})
}

func TestTask4_Resync_of_a_handler_that_is_behind(t *testing.T) {
	guard.Test(t, "A resync delivers every object in the store again, also to a handler that has not "+
		"received the last one yet.", func(t *guard.T) {
		names := numbered(1100)
		w, door := every(t, time.Minute, names...), gate.New(t)
		h := w.handle()
		h.before = func(string) { door.Wait() }
		w.run()
		t.Did("the handler does not return from its first call")
		w.pass(2*time.Minute + time.Second)
		door.Open()
		require.Len(t, h.calls(), 3*len(names), "calls for the list and two resyncs, of %d objects", len(names))
	})
}

func TestTask4_Event_without_news_counts_as_a_resync(t *testing.T) {
	guard.Test(t, "An update that does not change the resourceVersion counts as a resync, whatever the type of "+
		"the delta: here a watch reports it.", func(t *guard.T) {
		w, source := newWorld(t), &scripted{}
		source.answer("10", 1)
		w.informer = controller.NewSharedIndexInformerOn(below, source, &appsv1.Deployment{},
			cache.SharedIndexInformerOptions{ResyncPeriod: time.Hour})
		often, never := w.handle(), w.handleEvery(0)
		w.run()
		w.pass(61 * time.Minute) // since then the informer knows the handlers that are due
		often.calls()
		never.calls()
		// Servers of additional APIs may send no version, or one that is not a number. After a backup it may be smaller.
		for i, want := range []string{
			"again a@10", "update a@10 to a@", "again a@", "update a@ to a@x", "again a@x", "update a@x to a@y",
			"again a@y", "update a@y to a@20", "again a@20", "update a@20 to a@19",
		} {
			version := []string{"10", "", "", "x", "x", "y", "y", "20", "20", "19"}[i]
			event := []watch.EventType{watch.Modified, watch.Added}[i/2%2]
			t.Did("the watch reports %s: a has version %q", event, version)
			source.events.Action(event, generationOf(version, 2+int64(i/2))) // a new status is no new generation
			require.Equal(t, []string{want}, often.calls(), "the calls with resyncs")
			if i%2 == 0 {
				require.Empty(t, never.calls(), "the calls without resyncs")
			} else {
				require.Equal(t, []string{want}, never.calls(), "the calls without resyncs")
			}
		}
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
	guard.Test(t, "Before the start, the informer's pace becomes as short as the shortest "+
		"period.", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		before, _, fast, after := w.handle(), w.handleEvery(30*time.Minute), w.handleEvery(10*time.Second), w.handle()
		t.Did("another handler is registered, and removed")
		require.NoError(t, w.informer.RemoveEventHandler(w.register(&handler{})), "the error of RemoveEventHandler")
		w.run()
		for _, h := range []*handler{before, fast, after} {
			h.calls()
		}
		w.pass(time.Minute + time.Second)
		require.Len(t, fast.calls(), 6, "calls in a minute, with a resync every ten seconds")
		t.Rule("Each handler has its own resync period, and a resync reaches the handlers that are due.")
		require.Empty(t, before.calls(), "calls in a minute, of a handler with the informer's period of an hour")
		require.Empty(t, after.calls(), "calls in a minute, of another handler with the informer's period of an hour")
	})
}

func TestTask4_Late_handler_cannot_be_faster_than_the_pace(t *testing.T) {
	guard.Test(t, "After the start the pace stays, and a handler with a shorter period gets the pace: a late "+
		"handler cannot have faster resyncs.", func(t *guard.T) {
		w := every(t, time.Minute, "a").run()
		w.pass(30 * time.Second)
		both := []*handler{w.handleEvery(time.Second), w.handleEvery(20 * time.Second)}
		for _, h := range both {
			require.Equal(t, []string{"first a@2"}, h.calls(), "the calls for the first list")
		}
		t.Did("another handler has a longer period")
		both = append(both, w.handleEvery(70*time.Second))
		both[2].calls()
		w.pass(31 * time.Second)
		for i, h := range both {
			require.Empty(t, h.calls(), "the calls of late handler %d in the first 31 seconds", i+1)
		}
		w.pass(time.Minute)
		for i, h := range both {
			require.Len(t, h.calls(), 1, "calls of late handler %d in the next minute", i+1)
		}
		w.pass(time.Minute)
		for i, h := range both[:2] {
			require.Len(t, h.calls(), 1, "calls of late handler %d in the minute after that", i+1)
		}
		t.Rule("Two resyncs of a handler are at least its period apart.")
		require.Empty(t, both[2].calls(), "the calls of late handler 3, a minute after its first resync")
	})
}

func TestTask4_Not_more_often_than_each_second(t *testing.T) {
	guard.Test(t, "A period below a second becomes a second.", func(t *guard.T) {
		w := every(t, time.Hour, "a")
		h := w.handleEvery(time.Millisecond)
		w.run()
		h.calls()
		w.pass(50 * time.Millisecond)
		late := w.handleEvery(time.Second)
		w.pass(10*time.Second + 450*time.Millisecond)
		require.Len(t, h.calls(), 10, "calls in ten and a half seconds, with a resync every millisecond wanted")
		t.Rule("A period below a second becomes a second. So does the pace, if this period is the shortest.")
		require.Len(t, without("first", late.calls()), 9, "calls of a handler that comes between two resyncs")
		t.Rule("A period below a second becomes a second.")
		w = every(t, 500*time.Millisecond, "a")
		early := w.handle()
		w.run()
		early.calls()
		h = w.handleEvery(500 * time.Millisecond)
		h.calls()
		w.pass(10*time.Second + 250*time.Millisecond)
		require.Len(t, early.calls(), 10, "calls in ten seconds, with the informer's period of half a second")
		require.LessOrEqual(t, len(h.calls()), 10, "calls of a late handler, with a resync every half second wanted")
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
		w.pass(25 * time.Hour)
		w.away(func() { w.create("c") })
		require.Equal(t, []string{"add c@4", "again a@2", "again b@3"}, sorted(early.calls()), "the early handler's calls")
		require.Equal(t, []string{"add c@4", "again a@2", "again b@3"}, sorted(late.calls()), "the late handler's calls")
	})
}
