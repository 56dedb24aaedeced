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
	guard.Test(t, "first the list", func(t *guard.T) {
		w := newWorld(t, "a").run()
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls())
		w.create("b")
		w.update("a")
		w.remove("b")
		t.Rule("then each event, in order")
		require.Equal(t, []string{"Add b@3", "Update a@4", "Delete b@5"}, w.store.calls())
		t.Rule("the version of the last event")
		require.Equal(t, "5", w.r.LastSyncResourceVersion())
	})
}

func TestTask2_Watch_begins_where_the_list_was(t *testing.T) {
	guard.Test(t, "from an older version, things come twice; from a newer one, they are missed", func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		require.Equal(t, []string{"list@0", "watch@3"}, w.asked())
		q := w.server.Requests("watch")[0].Query
		t.Rule("bookmarks keep the version young while nothing happens")
		require.Equal(t, "true", q.Get("allowWatchBookmarks"))
	})
}

func TestTask2_Watch_lasts_five_to_ten_minutes(t *testing.T) {
	guard.Test(t, "each watch says how long it is to last, so that one that hangs is found out", func(t *guard.T) {
		for _, c := range []struct {
			min, from, to int
		}{{0, 300, 600}, {60, 300, 600}, {1200, 1200, 2400}} {
			w := newWorldWith(t, cache.ReflectorOptions{MinWatchTimeout: time.Duration(c.min) * time.Second}).run()
			t.Did("MinWatchTimeout %ds", c.min)
			w.pass(12 * time.Hour)
			distinct := map[int]bool{}
			for _, r := range w.server.Requests("watch") {
				seconds, err := strconv.Atoi(r.Query.Get("timeoutSeconds"))
				require.NoError(t, err)
				t.Rule("five minutes at least, whatever MinWatchTimeout says: to begin a watch is work for the server")
				require.GreaterOrEqual(t, seconds, c.from)
				t.Rule("at most twice as long")
				require.LessOrEqual(t, seconds, c.to)
				distinct[seconds] = true
			}
			t.Rule("by chance, so that not all watches of all programs end in the same second")
			require.Greater(t, len(distinct), 3)
			w.stop()
		}
	})
}

func TestTask2_Watch_that_ends_is_begun_again(t *testing.T) {
	guard.Test(t, "at once, from the version of the last event; a list would be a hundred times the work, every "+
		"few minutes, for each program of the cluster", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.pass(time.Minute)
		w.create("b")
		w.store.calls()
		w.did("the server ends the watch")
		w.server.EndWatches()
		require.Equal(t, []string{"list@0", "watch@2", "watch@3"}, w.asked())
		w.create("c")
		t.Rule("and nothing is told twice")
		require.Equal(t, []string{"Add c@4"}, w.store.calls())
	})
}

func (w *world) did(format string, args ...any) { w.t.Did(format, args...) }

func TestTask2_A_day_of_watches(t *testing.T) {
	guard.Test(t, "each change is told, and told once", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.store.calls()
		for range 24 {
			w.pass(time.Hour)
			w.update("a")
			require.Len(t, w.store.calls(), 1)
		}
		t.Rule("a day of watches that end after five to ten minutes each, and one list")
		require.Len(t, w.server.Requests("list"), 1)
		t.Rule("one after the other")
		require.InDelta(t, 24*60/7.5, len(w.server.Requests("watch")), 24)
		t.Rule("and only one at a time")
		require.Equal(t, 1, w.server.Watches())
	})
}

func TestTask2_Watch_that_ends_at_once_makes_a_list_due(t *testing.T) {
	guard.Test(t, "something is wrong; who begins again at once does so some thousand times a second", func(t *guard.T) {
		s := &script{}
		for range 3 {
			s.lists, s.watches = append(s.lists, lists("7", "a")), append(s.watches, s.ends())
		}
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		t.Did("RunWithContext for half a second; each watch ends at once, without an event")
		r.RunWithContext(ctx)
		require.Equal(t, []string{"list@0", "watch@7"}, s.requests())
		s = &script{}
		s.lists = append(s.lists, lists("7", "a"), lists("8", "a"))
		s.watches = append(s.watches, s.ends(event(watch.Modified, "a", "8")), s.ends())
		t.Did("a watch that ends at once, with an event")
		r = reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		r.RunWithContext(ctx)
		t.Rule("it has brought something, so all is well")
		require.Equal(t, []string{"list@0", "watch@7", "watch@8"}, s.requests())
		s = &script{}
		s.lists = append(s.lists, lists("7", "a"), lists("8", "a"))
		s.watches = append(s.watches, s.ends(event(watch.Bookmark, "", "8")), s.ends())
		t.Did("a watch that ends at once, with a bookmark")
		r = reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		r.RunWithContext(ctx)
		t.Rule("a bookmark is an event, so all is well")
		require.Equal(t, []string{"list@0", "watch@7", "watch@8"}, s.requests())
	})
}

func TestTask2_Quiet_watch_is_begun_again(t *testing.T) {
	guard.Test(t, "less than a second would be suspicious; that nothing has happened is no reason for a list", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7", "a"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			c := s.channel()
			time.AfterFunc(2*time.Second, func() { close(c.result) })
			return c, nil
		})
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("RunWithContext; the first watch brings nothing, and ends after two seconds")
		r.RunWithContext(ctx)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7"}, s.requests())
	})
}

func TestTask2_Version_may_be_asked_by_anyone(t *testing.T) {
	guard.Race(t, "LastSyncResourceVersion may be called from any goroutine, while the watch moves the version: both take the lock", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		c := s.channel()
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return c, nil })
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
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
	guard.Test(t, "whoever sees a version must be able to rely on it that the store has got there", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.tells(event(watch.Added, "a", "8"), event(watch.Modified, "a", "9"), event(watch.Deleted, "a", "10")))
		r := reflector.NewReflector(s, &appsv1.Deployment{}, st, 0)
		var seen []string
		st.onCall = func(call string) error { seen = append(seen, call+" at "+r.LastSyncResourceVersion()); return nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("RunWithContext; the store looks at the version during each call")
		r.RunWithContext(ctx)
		require.Equal(t, []string{"Replace [] @7 at ", "Add a@8 at 7", "Update a@9 at 8", "Delete a@10 at 9"}, seen)
	})
}

func TestTask2_Store_that_refuses_does_not_end_the_watch(t *testing.T) {
	guard.Test(t, "the next event is about another object", func(t *guard.T) {
		w := newWorld(t).run()
		w.store.calls()
		w.store.lock.Lock()
		w.store.onCall = func(string) error { return errors.New("an object without a key") }
		w.store.lock.Unlock()
		w.did("the store refuses all that comes")
		w.create("a")
		w.create("b")
		require.Equal(t, []string{"Add a@2", "Add b@3"}, w.store.calls())
		t.Rule("what one store does not want is no reason to ask the server again")
		require.Equal(t, []string{"list@0", "watch@1"}, w.asked())
		t.Rule("the store has been told; from an older version the next watch would bring again what it does " +
			"not want")
		require.Equal(t, "3", w.r.LastSyncResourceVersion())
	})
}

func TestTask2_Other_types_are_left_out(t *testing.T) {
	guard.Test(t, "handlers assert types; an object of another one is a panic, far from here", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		other := watch.Event{Type: watch.Added, Object: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "r", ResourceVersion: "8"}}}
		s.watches = append(s.watches, s.tells(other, event(watch.Added, "a", "9"), watch.Event{Type: "RENAMED", Object: deployment("b")}))
		once(t, s, st)
		require.Equal(t, []string{"Replace [] @7", "Add a@9"}, st.calls())
	})
}

func TestTask2_Other_kinds_of_unstructured_objects_are_left_out(t *testing.T) {
	guard.Test(t, "their Go types are all the same, and their kinds are not", func(t *guard.T) {
		inGroup := func(group, kind, name, version string) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{"apiVersion": group, "kind": kind, "metadata": map[string]any{"name": name, "resourceVersion": version}}}
		}
		object := func(kind, name, version string) *unstructured.Unstructured {
			return inGroup("apps/v1", kind, name, version)
		}
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.tells(watch.Event{Type: watch.Added, Object: object("ReplicaSet", "r", "8")},
			watch.Event{Type: watch.Added, Object: inGroup("example.com/v1", "Deployment", "theirs", "8")}, watch.Event{Type: watch.Added, Object: object("Deployment", "a", "9")}))
		r := reflector.NewReflector(s, object("Deployment", "", ""), st, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("a Reflector for unstructured objects of kind Deployment")
		r.ListAndWatchWithContext(ctx)
		require.Equal(t, []string{"Replace [] @7", "Add a@9"}, st.calls())
	})
}

func TestTask2_Without_a_type_everything_comes(t *testing.T) {
	guard.Test(t, "nil is any type", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		other := watch.Event{Type: watch.Added, Object: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "r", ResourceVersion: "8"}}}
		s.watches = append(s.watches, s.tells(other, event(watch.Added, "a", "9")))
		r := reflector.NewReflector(s, nil, st, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("a Reflector that expects nothing")
		r.ListAndWatchWithContext(ctx)
		require.Equal(t, []string{"Replace [] @7", "Add r@8", "Add a@9"}, st.calls())
	})
}

func TestTask2_Every_watch_is_stopped(t *testing.T) {
	guard.Test(t, "watches", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), lists("8"), lists("9"))
		s.watches = append(s.watches,
			s.ends(event(watch.Added, "a", "8")),
			s.tells(watch.Event{Type: watch.Error, Object: &metav1.Status{Status: "Failure", Code: 410, Reason: "Expired"}}),
			s.tells())
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		t.Did("RunWithContext; one watch ends, one brings an ERROR, and one goes on until the context ends")
		r.RunWithContext(ctx)
		require.Equal(t, 3, s.begun)
		t.Rule("a watch that is left is a connection and two goroutines, and nobody knows of it any more " +
			"(#131266)")
		require.Equal(t, 0, s.left())
	})
}

func TestTask2_Cancel_ends_it_at_once(t *testing.T) {
	guard.Test(t, "and the server sees that nobody listens", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.pass(time.Minute)
		w.did("the context is cancelled")
		w.stop()
		synctest.Wait()
		select {
		case <-w.ended:
		default:
			require.Fail(t, "RunWithContext goes on", "a program that ends has thirty seconds, for all that it does")
		}
		require.Equal(t, 0, w.server.Watches())
		w.create("b")
		w.store.calls()
		t.Rule("nothing is asked for after the end")
		require.Equal(t, []string{"list@0", "watch@2"}, w.asked())

		s := &script{}
		s.lists = append(s.lists, lists("7"))
		deaf := s.channel()
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return deaf, nil })
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel := context.WithCancel(t.Context())
		var returned atomic.Bool
		t.Did("ListAndWatchWithContext with a watch that does not hear the context, which is cancelled")
		t.Go(func() {
			r.ListAndWatchWithContext(ctx)
			returned.Store(true)
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		prompt := returned.Load()
		close(deaf.result)
		t.Rule("whoever waits for an event must wait for the end as well")
		require.True(t, prompt)
	})
}

func TestTask2_End_of_a_watch_is_no_error(t *testing.T) {
	guard.Test(t, "watches end, and a list is due then: nobody has to look into it", func(t *guard.T) {
		s := &script{}
		for _, c := range []struct {
			what string
			next func(metav1.ListOptions) (watch.Interface, error)
		}{
			{"ends at once", s.ends()},
			{"brings 410", s.tells(watch.Event{Type: watch.Error, Object: &metav1.Status{Status: "Failure", Code: 410, Reason: "Expired"}})},
		} {
			t.Story(8)
			s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, c.next)
			t.Did("a watch that %s", c.what)
			_, err := once(t, s, &store{})
			require.NoError(t, err)
		}
	})
}

func TestTask2_Watch_that_cannot_be_begun_is_an_error(t *testing.T) {
	guard.Test(t, "whoever called has to know why", func(t *guard.T) {
		broken := errors.New("certificate signed by unknown authority")
		s := &script{}
		s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, watchFails(broken))
		_, err := once(t, s, &store{})
		require.ErrorIs(t, err, broken)
	})
}
