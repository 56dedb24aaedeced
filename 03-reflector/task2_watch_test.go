package reflector_test

// Task 2: the watch loop.

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Events_reach_the_store(t *testing.T) {
	guard.Test(t, "The events of watches follow, one watch after another, until a list is due or the context ends. "+
		"The store receives each event once, in order.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls(), "calls of the store for the list")
		w.create("b")
		w.update("a")
		w.remove("b")
		require.Equal(t, []string{"Add b@3", "Update a@4", "Delete b@5"}, w.store.calls(),
			"calls of the store for the events")
		t.Rule("LastSyncResourceVersion returns the version of the last list, event or bookmark that the store has " +
			"received.")
		require.Equal(t, "5", w.r.LastSyncResourceVersion(), "LastSyncResourceVersion after the events")

		t.Rule("The store receives each event once, in order. An object that has a deletionTimestamp is still there.")
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		events := []watch.Event{
			event(watch.Added, "a", "8"), event(watch.Modified, "a", "9"), event(watch.Modified, "a", "10"),
			event(watch.Deleted, "a", "11"), event(watch.Added, "a", "12"),
		}
		for _, e := range events {
			e.Object.(*appsv1.Deployment).DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}
		s.watches = append(s.watches, s.sends(events...))
		t.Did("the watch sends a@8, the changes a@9 and a@10, the deletion a@11 and a new a@12 at once, each with a " +
			"deletionTimestamp")
		once(t, s, st)
		require.Equal(t, []string{"Replace [] @7", "Add a@8", "Update a@9", "Update a@10", "Delete a@11", "Add a@12"},
			st.calls(), "calls of the store")
	})
}

func TestTask2_Watch_starts_at_the_version_of_the_list(t *testing.T) {
	guard.Test(t, "A watch starts at the last version. From an older version events come twice; from a newer one they "+
		"are missed.", func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		require.Equal(t, []string{"list@0", "watch@3"}, w.requests(), "requests to the server")
		q := w.server.Requests("watch")[0].Query
		t.Rule("A watch asks for bookmarks. They move the version while nothing happens.")
		require.Equal(t, "true", q.Get("allowWatchBookmarks"), "allowWatchBookmarks of the watch")
	})
}

func TestTask2_Watch_lasts_five_to_ten_minutes(t *testing.T) {
	guard.Test(t, "A watch asks to last at least five minutes, or MinWatchTimeout if that is longer, and at most "+
		"twice as long. Chance decides, so that the watches of a cluster do not all end together.", func(t *guard.T) {
		for _, c := range []struct {
			min, from, to int
		}{{0, 300, 600}, {60, 300, 600}, {1200, 1200, 2400}} {
			t.Story(8)
			w := newWorldWith(t, cache.ReflectorOptions{MinWatchTimeout: time.Duration(c.min) * time.Second}).run()
			t.Did("MinWatchTimeout %ds", c.min)
			w.pass(12 * time.Hour)
			distinct := map[int]bool{}
			for i, r := range w.server.Requests("watch") {
				seconds, err := strconv.Atoi(r.Query.Get("timeoutSeconds"))
				require.NoError(t, err, "timeoutSeconds of watch %d, as a number", i+1)
				require.Equal(t, "true", r.Query.Get("allowWatchBookmarks"), "allowWatchBookmarks of watch %d", i+1)
				require.GreaterOrEqual(t, seconds, c.from, "timeoutSeconds of watch %d", i+1)
				require.LessOrEqual(t, seconds, c.to, "timeoutSeconds of watch %d", i+1)
				distinct[seconds] = true
			}
			require.Greater(t, len(distinct), 3, "different timeoutSeconds in 12 hours")
			w.stop()
		}

		t.Story(8)
		var asked [2][]int64
		for i := range asked {
			s := &script{}
			s.lists = append(s.lists, lists("7"))
			for range 20 {
				s.watches = append(s.watches, s.ends(event(watch.Modified, "a", "8")))
			}
			t.Did("ListAndWatchWithContext of a new Reflector; 20 watches bring an event each, and end")
			listAndWatchFor(t, newScripted(s, &store{}), time.Minute)
			t.Rule("A watch asks for bookmarks, after a watch that brought an event as well.")
			for _, options := range s.options[1:] {
				require.True(t, options.AllowWatchBookmarks, "AllowWatchBookmarks of a watch")
				asked[i] = append(asked[i], *options.TimeoutSeconds)
			}
			time.Sleep(time.Second) // for a Reflector whose chance starts with the time
		}
		t.Rule("Chance decides how long a watch asks to last: two programs do not ask for the same.")
		require.NotEqual(t, asked[0], asked[1], "TimeoutSeconds of the watches of the two Reflectors")
	})
}

func TestTask2_Watch_that_ends_is_started_again(t *testing.T) {
	guard.Test(t, "After a watch that ends well, the next one starts at once at the last version, without a "+
		"list. A list costs the server a hundred times as much.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.pass(time.Minute)
		w.create("b")
		w.store.calls()
		w.did("the server ends the watch")
		w.server.EndWatches()
		require.Equal(t, []string{"list@0", "watch@2", "watch@3"}, w.requests(), "requests to the server")
		w.create("c")
		require.Equal(t, []string{"Add c@4"}, w.store.calls(), "calls of the store from the next watch")
	})
}

func TestTask2_Three_days_of_watches(t *testing.T) {
	guard.Test(t, "The store receives each change once.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.store.calls()
		for i := range 72 {
			w.pass(time.Hour)
			w.update("a")
			require.Len(t, w.store.calls(), 1, "calls of the store for change %d of 72", i+1)
		}
		t.Rule("After a watch that ends well, the next one starts at once at the last version, without a " +
			"list.")
		require.Equal(t, 1, len(w.server.Requests("list")), "lists in three days")
		t.Rule("Watches last five to ten minutes, and the next one starts when one ends.")
		require.InDelta(t, 72*60/7.5, len(w.server.Requests("watch")), 60, "watches in three days")
		require.Equal(t, 1, w.server.Watches(), "open watches at the end")
	})
}

func TestTask2_Watch_that_ends_at_once_makes_a_list_due(t *testing.T) {
	guard.Test(t, "A watch that lasted less than a second and brought nothing makes a list due. A Reflector that "+
		"starts the next watch at once does so a thousand times a second.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7", "a"))
		s.watches = append(s.watches, s.ends(), s.ends(), s.ends(), s.ends())
		t.Did("the watch ends at once, without an event")
		once(t, s, &store{})
		require.Equal(t, []string{"list@0", "watch@7"}, s.requests(), "requests when the watch ends without an event")

		t.Rule("A watch that brought an event is not suspicious, however short it was: the next one starts at once. " +
			"A bookmark is an event too, and so is one that the store refuses.")
		for _, eventType := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark} {
			t.Story(8)
			s = &script{}
			s.lists = append(s.lists, lists("7", "a"))
			s.watches = append(s.watches, s.ends(event(eventType, "a", "8")), s.ends())
			t.Did("a watch that ends at once, with an event of type %s; the store refuses it", eventType)
			var moments []time.Time
			s.onRequest = func(string) { moments = append(moments, time.Now()) }
			once(t, s, &store{onCall: refuseEvents})
			require.Equal(t, []string{"list@0", "watch@7", "watch@8"}, s.requests(), "requests when the first watch brings %s",
				eventType)
			require.Zero(t, moments[2].Sub(moments[1]), "time from one watch to the next")
		}

		t.Rule("An object of another type does not count as an event: for the store this watch has brought nothing.")
		s = &script{}
		s.lists = append(s.lists, lists("7", "a"))
		s.watches = append(s.watches, s.ends(replicaSet("r", "8")), s.ends())
		t.Did("a watch that ends at once, with a ReplicaSet")
		once(t, s, &store{})
		require.Equal(t, []string{"list@0", "watch@7"}, s.requests(), "requests when the watch brings only a ReplicaSet")
	})
}

func TestTask2_Quiet_watch_is_started_again(t *testing.T) {
	guard.Test(t, "After a watch that ends well, the next one starts at once at the last version, without a "+
		"list. A watch that lasted a second has ended well, even if it brought nothing.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7", "a"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			c := s.channel()
			time.AfterFunc(time.Second, c.end)
			return c, nil
		})
		t.Did("RunWithContext; the first watch brings nothing, and ends after exactly a second")
		runFor(t, newScripted(s, &store{}), time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7"}, s.requests(), "requests to the source")

		t.Rule("A watch that lasted less than a second and brought nothing makes a list due.")
		s = &script{}
		s.lists = append(s.lists, lists("7", "a"))
		for _, lasts := range []time.Duration{time.Minute, time.Second - time.Nanosecond} {
			s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
				c := s.channel()
				time.AfterFunc(lasts, c.end)
				return c, nil
			})
		}
		t.Did("ListAndWatchWithContext; two watches bring nothing, one for a minute and one for a second less a nanosecond")
		once(t, s, &store{})
		require.Equal(t, []string{"list@0", "watch@7", "watch@7"}, s.requests(), "requests to the source")

		t.Rule("A watch lasts from its request on: some proxies hold the answer back until there is an event.")
		s = &script{}
		s.lists = append(s.lists, lists("7", "a"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			time.Sleep(2 * time.Second)
			return s.ending(), nil
		})
		t.Did("RunWithContext; the first watch is answered after two seconds, and has ended by then")
		runFor(t, newScripted(s, &store{}), time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7"}, s.requests(), "requests after a late answer")
	})
}

func TestTask2_Any_goroutine_may_ask_for_the_version(t *testing.T) {
	guard.Race(t, "LastSyncResourceVersion may be called from any goroutine, while the watch moves the "+
		"version.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		c := s.channel()
		opened := make(chan struct{})
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { close(opened); return c, nil })
		r := newScripted(s, &store{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan struct{})
		t.Go(func() {
			defer close(ended)
			r.ListAndWatchWithContext(ctx)
		})
		select {
		case <-opened:
		case <-ended:
			require.Fail(t, "no watch was opened")
		}
		t.Did("LastSyncResourceVersion by two goroutines, while a watch brings events")
		ask := func(int) { r.LastSyncResourceVersion() }
		guard.Storm(func(i int) { c.send(event(watch.Modified, "a", strconv.Itoa(8+i))) }, ask, ask)
		cancel()
		c.end() // for a loop that does not look at the context, which is for other tests
		<-ended
	})
}

func TestTask2_Version_moves_when_the_store_has_the_event(t *testing.T) {
	guard.Test(t, "The version moves only after the store has received the list or event. First the store, "+
		"then the version.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches,
			s.sends(event(watch.Added, "a", "8"), event(watch.Modified, "a", "9"), event(watch.Deleted, "a", "10")))
		r := newScripted(s, st)
		var seen []string
		st.onCall = func(call string) error {
			seen = append(seen, call+" at "+r.LastSyncResourceVersion())
			return nil
		}
		t.Did("RunWithContext; the store asks for the version during each call")
		runFor(t, r, time.Minute)
		require.Equal(t, []string{"Replace [] @7 at ", "Add a@8 at 7", "Update a@9 at 8", "Delete a@10 at 9"}, seen,
			"calls of the store, each at LastSyncResourceVersion")
	})
}

func TestTask2_Store_that_refuses_does_not_end_the_watch(t *testing.T) {
	guard.Test(t, "An error of the store does not end a watch or hold the version back. The next event is about "+
		"another object.", func(t *guard.T) {
		reported := countErrors(t)
		w := newWorld(t)
		w.store.onCall = refuseEvents
		w.run()
		w.store.calls()
		w.did("the store refuses every call")
		w.create("a")
		w.create("b")
		w.update("a")
		w.remove("b")
		want := []string{"Add a@2", "Add b@3", "Update a@4", "Delete b@5"}
		require.Equal(t, want, w.store.calls(), "calls of the store")
		require.Equal(t, []string{"list@0", "watch@1"}, w.requests(), "requests to the server")
		t.Rule("An error of the store does not end a watch or hold the version back. Otherwise the next watch brings " +
			"the same event again.")
		require.Equal(t, "5", w.r.LastSyncResourceVersion(), "LastSyncResourceVersion after the events")
		t.Rule("An error of the store is reported with utilruntime.HandleErrorWithContext. Nothing else shows that the " +
			"store misses an object.")
		require.GreaterOrEqual(t, reported.Load(), int64(4), "errors that were reported with the caller's context")

		t.Rule("An error of the store does not end a watch or hold the version back, however many there are.")
		var events []watch.Event
		for i := range 60 {
			events = append(events, event(watch.Modified, "a", strconv.Itoa(8+i)))
		}
		s, st := &script{}, &store{onCall: refuseEvents}
		s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, s.sends(events...))
		t.Did("a watch brings 60 events, and the store refuses each")
		r, _ := once(t, s, st)
		require.Len(t, st.calls(), 61, "calls of the store")
		require.Equal(t, []string{"list@0", "watch@7"}, s.requests(), "requests to the source")
		require.Equal(t, "67", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the events")

		t.Rule("LastSyncResourceVersion may be called from any goroutine, and by a handler of errors.")
		*s = script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8"), event(watch.Added, "b", "9")))
		r = newScripted(s, st)
		var seen []string
		utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(context.Context, error, string, ...any) {
			seen = append(seen, r.LastSyncResourceVersion())
		}}
		t.Did("the same with a@8 and b@9; the handler of errors asks for the version")
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, []string{"7", "8"}, seen, "LastSyncResourceVersion in the handler of errors")
	})
}

// expiredEvent is an ERROR with a Status that says 410.
func expiredEvent() watch.Event {
	return watch.Event{Type: watch.Error, Object: &metav1.Status{Status: "Failure", Code: 410, Reason: "Expired",
		ListMeta: metav1.ListMeta{ResourceVersion: "99"}}}
}

func TestTask2_End_of_a_watch_is_not_an_error(t *testing.T) {
	const rule = "The end of a watch that has started is not an error. Watches end, and some ends make a list due."
	guard.Test(t, rule, func(t *guard.T) {
		s := &script{}
		for _, c := range []struct {
			what string
			next watchFunc
		}{
			{"ends at once", s.ends()},
			{"brings 410", s.sends(expiredEvent())},
			{"brings an internal error", s.sends(failing(internal))},
			{"brings an ERROR that is not a Status", s.sends(watch.Event{Type: watch.Error, Object: deployment("a")})},
		} {
			t.Story(8)
			start := time.Now()
			s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, c.next)
			t.Did("a watch that %s", c.what)
			r, err := once(t, s, &store{})
			require.NoError(t, err, "the error of ListAndWatchWithContext after a watch that %s", c.what)
			t.Rule("The version moves only after the store has received the list or event: an ERROR is none of the objects.")
			require.Equal(t, "7", r.LastSyncResourceVersion(), "the version after a watch that %s", c.what)
			t.Rule(rule)
			require.Equal(t, time.Duration(0), time.Since(start), "time until ListAndWatchWithContext returned: a list is due")
		}
	})
}

func TestTask2_Versions_are_not_compared(t *testing.T) {
	guard.Test(t, "The Reflector does not compare versions. It passes them back to the server as they "+
		"came.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("100"), lists("006"))
		s.watches = append(s.watches, s.ends(event(watch.Added, "a", "90")), s.ends(event(watch.Modified, "a", "09")),
			s.ends(event(watch.Added, "b", "eight")), s.ends(event(watch.Deleted, "a", "7"), event(watch.Deleted, "b", "7")),
			s.sends(event(watch.Added, "c", "seven"), expiredEvent()))
		t.Did("RunWithContext; the list is at version 100, events come at versions 90, 09, eight, 7, 7 and seven, and " +
			"the next list is at version 006")
		runFor(t, newScripted(s, st), time.Minute)
		watches := slices.DeleteFunc(s.requests(), func(request string) bool { return strings.HasPrefix(request, "list") })
		want := []string{"watch@100", "watch@90", "watch@09", "watch@eight", "watch@7", "watch@006"}
		require.Equal(t, want, watches, "watches that the source was asked for")
		require.Equal(t, []string{"Replace [] @100", "Add a@90", "Update a@09", "Add b@eight", "Delete a@7", "Delete b@7",
			"Add c@seven", "Replace [] @006"}, st.calls(), "calls of the store")
	})
}
