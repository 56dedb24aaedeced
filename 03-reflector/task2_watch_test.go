package reflector_test

// Task 2: the watch loop.

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Events_reach_the_store(t *testing.T) {
	guard.Test(t, "The store receives the list, and then each event, in order.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls(), "calls of the store for the list")
		w.create("b")
		w.update("a")
		w.remove("b")
		require.Equal(t, []string{"Add b@3", "Update a@4", "Delete b@5"}, w.store.calls(),
			"calls of the store for the events")
		t.Rule("LastSyncResourceVersion is the version of the last list, event or bookmark.")
		require.Equal(t, "5", w.r.LastSyncResourceVersion(), "LastSyncResourceVersion after the events")
	})
}

func TestTask2_Watch_begins_where_the_list_was(t *testing.T) {
	guard.Test(t, "A watch begins at the version of the list. From an older version events come twice; from a newer one "+
		"they are missed.", func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		require.Equal(t, []string{"list@0", "watch@3"}, w.requests(), "requests to the server")
		q := w.server.Requests("watch")[0].Query
		t.Rule("A watch asks for bookmarks, which move the version while nothing happens.")
		require.Equal(t, "true", q.Get("allowWatchBookmarks"), "allowWatchBookmarks of the watch")
	})
}

func TestTask2_Watch_lasts_five_to_ten_minutes(t *testing.T) {
	guard.Test(t, "A watch asks to last at least five minutes, or MinWatchTimeout if that is longer, and at most twice "+
		"as long. Chance decides, so that the watches of a cluster do not all end together.", func(t *guard.T) {
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
				require.GreaterOrEqual(t, seconds, c.from, "timeoutSeconds of watch %d", i+1)
				require.LessOrEqual(t, seconds, c.to, "timeoutSeconds of watch %d", i+1)
				distinct[seconds] = true
			}
			require.Greater(t, len(distinct), 3, "different timeoutSeconds in 12 hours")
			w.stop()
		}
	})
}

func TestTask2_Watch_that_ends_is_begun_again(t *testing.T) {
	guard.Test(t, "A watch that has ended well is no reason for a list: the next one begins at once, at the version of "+
		"the last event. A list is a hundred times the work.", func(t *guard.T) {
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

func TestTask2_A_day_of_watches(t *testing.T) {
	guard.Test(t, "The store receives each change, and receives it once.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.store.calls()
		for i := range 24 {
			w.pass(time.Hour)
			w.update("a")
			require.Len(t, w.store.calls(), 1, "calls of the store for change %d of 24", i+1)
		}
		t.Rule("A watch that has ended well is no reason for a list.")
		require.Equal(t, 1, len(w.server.Requests("list")), "lists in a day")
		t.Rule("Watches last five to ten minutes, and the next one begins when one ends.")
		require.InDelta(t, 24*60/7.5, len(w.server.Requests("watch")), 24, "watches in a day")
		require.Equal(t, 1, w.server.Watches(), "open watches at the end of the day")
	})
}

func TestTask2_Watch_that_ends_at_once_makes_a_list_due(t *testing.T) {
	guard.Test(t, "A watch that lasted less than a second and brought nothing makes a list due, after the back-off. A "+
		"Reflector that begins it again at once does so a thousand times a second.", func(t *guard.T) {
		s := &script{}
		for range 3 {
			s.lists, s.watches = append(s.lists, lists("7", "a")), append(s.watches, s.ends())
		}
		t.Did("RunWithContext for half a second; each watch ends at once, without an event")
		runFor(t, newScripted(s, &store{}), 500*time.Millisecond)
		require.Equal(t, []string{"list@0", "watch@7"}, s.requests(), "requests when watches end without an event")

		t.Rule("A watch that brought an event is not suspicious, however short it was: the next one begins at once.")
		s = &script{}
		s.lists = append(s.lists, lists("7", "a"), lists("8", "a"))
		s.watches = append(s.watches, s.ends(event(watch.Modified, "a", "8")), s.ends())
		t.Did("a watch that ends at once, with an event")
		runFor(t, newScripted(s, &store{}), 500*time.Millisecond)
		require.Equal(t, []string{"list@0", "watch@7", "watch@8"}, s.requests(),
			"requests when the first watch brings an event")

		t.Rule("A bookmark is an event too: a watch that brought one is not suspicious, and the next one begins at once.")
		s = &script{}
		s.lists = append(s.lists, lists("7", "a"), lists("8", "a"))
		s.watches = append(s.watches, s.ends(event(watch.Bookmark, "", "8")), s.ends())
		t.Did("a watch that ends at once, with a bookmark")
		runFor(t, newScripted(s, &store{}), 500*time.Millisecond)
		require.Equal(t, []string{"list@0", "watch@7", "watch@8"}, s.requests(),
			"requests when the first watch brings a bookmark")
	})
}

func TestTask2_Quiet_watch_is_begun_again(t *testing.T) {
	guard.Test(t, "A watch that lasted more than a second has ended well, even if it brought nothing: a quiet watch is "+
		"no reason for a list.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7", "a"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			c := s.channel()
			time.AfterFunc(2*time.Second, func() { close(c.result) })
			return c, nil
		})
		t.Did("RunWithContext; the first watch brings nothing, and ends after two seconds")
		runFor(t, newScripted(s, &store{}), time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7"}, s.requests(), "requests to the source")
	})
}

func TestTask2_Version_may_be_asked_by_anyone(t *testing.T) {
	guard.Race(t, "LastSyncResourceVersion may be called from any goroutine, while the watch moves the version: both "+
		"take the lock.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		c := s.channel()
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return c, nil })
		r := newScripted(s, &store{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.ListAndWatchWithContext(ctx)
		}()
		t.Did("LastSyncResourceVersion by two goroutines, while a watch brings events")
		ask := func(int) { r.LastSyncResourceVersion() }
		guard.Storm(func(i int) { c.result <- event(watch.Modified, "a", strconv.Itoa(8+i)) }, ask, ask)
		cancel()
		<-ended
	})
}

func TestTask2_Version_moves_when_the_store_has_the_event(t *testing.T) {
	guard.Test(t, "First the store, then the version: a version is the Reflector's only when the store has received the "+
		"list or event that it belongs to.", func(t *guard.T) {
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
	guard.Test(t, "A store that refuses an event does not end the watch: the next event is about another "+
		"object.", func(t *guard.T) {
		w := newWorld(t).run()
		w.store.calls()
		w.store.lock.Lock()
		w.store.onCall = func(string) error { return errors.New("an object without a key") }
		w.store.lock.Unlock()
		w.did("the store refuses every call")
		w.create("a")
		w.create("b")
		require.Equal(t, []string{"Add a@2", "Add b@3"}, w.store.calls(), "calls of the store")
		require.Equal(t, []string{"list@0", "watch@1"}, w.requests(), "requests to the server")
		t.Rule("The version moves even if the store refuses the event. Otherwise the next watch brings the event again.")
		require.Equal(t, "3", w.r.LastSyncResourceVersion(), "LastSyncResourceVersion after both events")
	})
}

// replicaSet is an event about an object of another type than a Deployment.
func replicaSet(name, version string) watch.Event {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
	return watch.Event{Type: watch.Added, Object: set}
}

func TestTask2_Other_types_are_left_out(t *testing.T) {
	guard.Test(t, "Objects of other types, and events of unknown types, are left out: a handler asserts the type, and "+
		"panics.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(replicaSet("r", "8"), event(watch.Added, "a", "9"),
			watch.Event{Type: "RENAMED", Object: deployment("b")}))
		t.Did("a Reflector for Deployments; a ReplicaSet, a Deployment and an event of type RENAMED come")
		once(t, s, st)
		require.Equal(t, []string{"Replace [] @7", "Add a@9"}, st.calls(), "calls of the store")
	})
}

func TestTask2_Other_kinds_of_unstructured_objects_are_left_out(t *testing.T) {
	guard.Test(t, "If the expected type is unstructured and has a kind, objects of other kinds are left out as well, "+
		"though their Go type is the same.", func(t *guard.T) {
		object := func(group, kind, name, version string) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": group, "kind": kind,
				"metadata": map[string]any{"name": name, "resourceVersion": version},
			}}
		}
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(
			watch.Event{Type: watch.Added, Object: object("apps/v1", "ReplicaSet", "r", "8")},
			watch.Event{Type: watch.Added, Object: object("example.com/v1", "Deployment", "theirs", "8")},
			watch.Event{Type: watch.Added, Object: object("apps/v1", "Deployment", "a", "9")}))
		t.Did("a Reflector for unstructured objects of kind Deployment in apps/v1; r, theirs and a come")
		listAndWatchFor(t, reflector.NewReflector(s, object("apps/v1", "Deployment", "", ""), st, 0), time.Minute)
		require.Equal(t, []string{"Replace [] @7", "Add a@9"}, st.calls(), "calls of the store")
	})
}

func TestTask2_Without_a_type_everything_comes(t *testing.T) {
	guard.Test(t, "Without an expected type (nil) the store receives objects of any type.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(replicaSet("r", "8"), event(watch.Added, "a", "9")))
		t.Did("a Reflector without an expected type; a ReplicaSet and a Deployment come")
		listAndWatchFor(t, reflector.NewReflector(s, nil, st, 0), time.Minute)
		require.Equal(t, []string{"Replace [] @7", "Add r@8", "Add a@9"}, st.calls(), "calls of the store")
	})
}

func TestTask2_Every_watch_is_stopped(t *testing.T) {
	guard.Test(t, "However a watch ends, the Reflector stops it. One that is left open is a connection and two "+
		"goroutines that nothing uses (#131266).", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), lists("8"), lists("9"))
		s.watches = append(s.watches, s.ends(event(watch.Added, "a", "8")), s.sends(expiredEvent()), s.sends())
		t.Did("RunWithContext; one watch ends, one brings an ERROR, and one goes on until the context ends")
		runFor(t, newScripted(s, &store{}), time.Hour)
		require.Equal(t, 3, s.begun, "watches that were started")
		require.Equal(t, 0, s.left(), "watches that were not stopped")
	})
}

// expiredEvent is an ERROR with a Status that says 410.
func expiredEvent() watch.Event {
	return watch.Event{Type: watch.Error, Object: &metav1.Status{Status: "Failure", Code: 410, Reason: "Expired"}}
}

func TestTask2_Cancel_ends_it_at_once(t *testing.T) {
	guard.Test(t, "A context that ends ends everything at once, and nothing is left: a program that stops has thirty "+
		"seconds for everything.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.pass(time.Minute)
		w.did("the context is cancelled")
		w.stop()
		require.True(t, w.hasEnded(), "RunWithContext has returned")
		require.Equal(t, 0, w.server.Watches(), "open watches after the end")
		w.create("b")
		w.store.calls()
		require.Equal(t, []string{"list@0", "watch@2"}, w.requests(), "requests to the server")

		t.Rule("Wait for the context as well as for the next event: the source may ignore the context.")
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		deaf := s.channel()
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return deaf, nil })
		r := newScripted(s, &store{})
		ctx, cancel := context.WithCancel(t.Context())
		var returned atomic.Bool
		t.Did("ListAndWatchWithContext with a watch that ignores the context, which is cancelled")
		t.Go(func() {
			r.ListAndWatchWithContext(ctx)
			returned.Store(true)
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		prompt := returned.Load()
		close(deaf.result)
		require.True(t, prompt, "ListAndWatchWithContext has returned")
	})
}

func TestTask2_End_of_a_watch_is_no_error(t *testing.T) {
	guard.Test(t, "However a watch ends that has begun, that is not an error: watches end, and a list is due "+
		"then.", func(t *guard.T) {
		s := &script{}
		for _, c := range []struct {
			what string
			next watchFunc
		}{
			{"ends at once", s.ends()},
			{"brings 410", s.sends(expiredEvent())},
		} {
			t.Story(8)
			s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, c.next)
			t.Did("a watch that %s", c.what)
			_, err := once(t, s, &store{})
			require.NoError(t, err, "the error of ListAndWatchWithContext after a watch that %s", c.what)
		}
	})
}

func TestTask2_Watch_that_cannot_be_begun_is_an_error(t *testing.T) {
	guard.Test(t, "ListAndWatchWithContext returns an error if a watch could not be begun.", func(t *guard.T) {
		broken := errors.New("certificate signed by unknown authority")
		s := &script{}
		s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, watchFails(broken))
		t.Did("the watch fails: %v", broken)
		_, err := once(t, s, &store{})
		require.ErrorIs(t, err, broken, "the error of ListAndWatchWithContext")
	})
}
