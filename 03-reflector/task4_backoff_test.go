package reflector_test

// Task 4: back-off, 429, and servers that are away.

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// gaps returns the times between moments.
func gaps(moments []time.Time) (all []time.Duration) {
	for i := 1; i < len(moments); i++ {
		all = append(all, moments[i].Sub(moments[i-1]))
	}
	return all
}

// failingLists adds n lists that fail, and that note when they were asked for.
func failingLists(s *script, n int, moments *[]time.Time) {
	for range n {
		s.lists = append(s.lists, func(metav1.ListOptions) (apiruntime.Object, error) {
			*moments = append(*moments, time.Now())
			return nil, errors.New("the server is on fire")
		})
	}
}

func TestTask4_Waits_grow_up_to_a_minute(t *testing.T) {
	guard.Test(t, "Each wait is 800ms, doubled with each try up to 30s, and up to twice as long by chance. The "+
		"Reflector waits before it asks a server in trouble again, and longer each time (#87794).", func(t *guard.T) {
		var moments []time.Time
		s := &script{}
		failingLists(s, 1000, &moments)
		t.Did("RunWithContext for half an hour, and every list fails")
		runFor(t, newScripted(s, &store{}), 30*time.Minute)
		for i, gap := range gaps(moments) {
			require.GreaterOrEqual(t, gap, 800*time.Millisecond, "wait %d", i+1)
			require.LessOrEqual(t, gap, time.Minute, "wait %d", i+1)
			if i < 5 {
				require.GreaterOrEqual(t, gap, 800*time.Millisecond<<i, "wait %d", i+1)
				require.LessOrEqual(t, gap, 1600*time.Millisecond<<i, "wait %d", i+1)
			}
		}
		t.Rule("RunWithContext calls ListAndWatchWithContext again and again until the context ends.")
		require.Greater(t, len(moments), 25, "lists in half an hour")
		require.Less(t, len(moments), 300, "lists in half an hour")
	})
}

func TestTask4_Waits_are_random(t *testing.T) {
	guard.Test(t, "Each wait is 800ms, doubled with each try up to 30s, and up to twice as long by chance. Clients "+
		"that were cut off together must not come back together.", func(t *guard.T) {
		distinct := map[time.Duration]bool{}
		t.Did("the first wait of ten Reflectors whose list fails")
		for range 10 {
			var moments []time.Time
			s := &script{}
			failingLists(s, 2, &moments)
			runFor(t, newScripted(s, &store{}), 2*time.Second)
			require.Equal(t, 2, len(moments), "lists of one Reflector in 2s")
			distinct[gaps(moments)[0]] = true
		}
		require.Greater(t, len(distinct), 5, "different waits of the ten")
	})
}

func TestTask4_Waits_start_at_the_beginning_after_a_good_time(t *testing.T) {
	guard.Test(t, "After two minutes without a failure the waits start with 800ms again. Otherwise the store is stale "+
		"for up to a minute after a short outage.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.did("an outage of ten minutes, an hour without one, and an outage of three seconds")
		w.server.Down()
		w.pass(10 * time.Minute)
		w.server.Up()
		w.pass(time.Hour)
		w.server.Down()
		down := time.Now()
		w.pass(3 * time.Second)
		w.create("b")
		w.server.Up()
		w.store.calls()
		for len(w.store.calls()) == 0 && time.Since(down) < time.Hour {
			time.Sleep(100 * time.Millisecond)
		}
		require.Less(t, time.Since(down), 15*time.Second, "time from the short outage to the next call of the store")
	})
}

func TestTask4_Cancel_during_a_wait_is_prompt(t *testing.T) {
	guard.Test(t, "When the context ends, every request, watch and wait ends at once. If the wait goes on, "+
		"Kubernetes kills the program (#55242).", func(t *guard.T) {
		for _, what := range []string{"a list that fails", "a server that refuses watches"} {
			t.Story(8)
			w := newWorld(t, "a")
			if what == "a list that fails" {
				w.server.Down()
			}
			w.run()
			w.pass(time.Minute) // otherwise the watch is a very short one, and a list is due
			w.server.Down()
			w.pass(10*time.Minute + time.Millisecond)
			w.did("during the wait after %s, the context is cancelled", what)
			w.stop()
			require.True(t, w.hasEnded(), "RunWithContext has returned from the wait after %s", what)
		}
	})
}

func TestTask4_Refused_watch_needs_no_list(t *testing.T) {
	guard.Test(t, "If the server refuses connections or has too much to do (429), the next watch starts after the "+
		"back-off, at the last version. The server has forgotten nothing, and after an outage it has no time for lists "+
		"(#87794).", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.pass(time.Minute)
		w.did("the server goes away for ten minutes; meanwhile b is created")
		w.server.Down()
		w.pass(10 * time.Minute)
		w.server.Create(deployment("b"))
		w.store.calls()
		w.server.Up()
		w.pass(time.Minute)
		require.Equal(t, []string{"Add b@3"}, w.store.calls(), "calls of the store after the outage")
		require.Equal(t, []string{"list@0", "watch@2", "watch@2"}, w.requests(), "requests to the server")
	})
}

func TestTask4_Refusal_may_be_wrapped(t *testing.T) {
	guard.Test(t, "The error may be wrapped: there are four layers between the socket and the Reflector, and "+
		"each may wrap it (#81634).", func(t *guard.T) {
		w := newWorld(t)
		w.server.Down()
		_, refused := w.server.Client().Get("http://in-memory/")
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, watchFails(fmt.Errorf("watch: %w", refused)), watchFails(fmt.Errorf("watch: %w", busy)),
			s.sends())
		t.Did("two watches are refused: %v, and %v", refused, busy)
		once(t, s, &store{})
		require.Equal(t, []string{"list@0", "watch@7", "watch@7", "watch@7"}, s.requests(), "requests to the source")
	})
}

func TestTask4_Watch_that_fails_otherwise_makes_a_list_due(t *testing.T) {
	guard.Test(t, "A watch that fails to start for any other reason makes a list due. Only a refused connection and "+
		"429 mean that the server has forgotten nothing.", func(t *guard.T) {
		for _, failure := range []error{
			apierrors.NewServiceUnavailable("starting"), apierrors.NewInternalError(errors.New("etcd is away")),
			fmt.Errorf("read: %w", syscall.ECONNRESET), errors.New("the network is away"), errExpired, errTooLarge,
		} {
			t.Story(8)
			s := &script{}
			s.lists = append(s.lists, lists("7"), lists("8"))
			s.watches = append(s.watches, watchFails(failure))
			t.Did("RunWithContext; the watch is answered: %v", failure)
			r := newScripted(s, &store{})
			r.MaxInternalErrorRetryDuration = time.Minute // that is for watches that end with an internal error
			runFor(t, r, time.Minute)
			require.Equal(t, []string{"list@0", "watch@7", "list@7", "watch@8"}, s.requests(), "requests to the source")
		}
	})
}

func TestTask4_Watch_that_cannot_start_is_an_error(t *testing.T) {
	guard.Test(t, "ListAndWatchWithContext returns an error if a list or Replace failed, or if a watch could not "+
		"start.", func(t *guard.T) {
		broken := errors.New("certificate signed by unknown authority")
		s := &script{}
		s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, watchFails(broken))
		t.Did("the watch fails: %v", broken)
		_, err := once(t, s, &store{})
		require.ErrorIs(t, err, broken, "the error of ListAndWatchWithContext")
	})
}

func TestTask4_Busy_server_needs_no_list(t *testing.T) {
	guard.Test(t, "If the server refuses connections or has too much to do (429), the next watch starts after the "+
		"back-off, at the last version. A server that is too busy for a watch is too busy for a list "+
		"(#100878).", func(t *guard.T) {
		for _, how := range []string{"as an answer", "as an event"} {
			t.Story(8)
			w := newWorld(t, "a").run()
			w.pass(time.Minute)
			fault := fakeapi.Answer(429, "")
			if how == "as an event" {
				fault = fakeapi.Event(429)
			}
			w.script("ends the watch, and answers the next three with 429, "+how, "watch", fakeapi.Times(3, fault)...)
			w.server.EndWatches()
			w.pass(2 * time.Minute)
			w.store.calls()
			w.create("b")
			require.Equal(t, []string{"Add b@3"}, w.store.calls(), "calls of the store after the server was busy")
			require.Equal(t, 1, len(w.server.Requests("list")), "lists with 429 %s", how)
			var moments []time.Time
			for _, r := range w.server.Requests("watch")[1:] {
				moments = append(moments, r.Time)
			}
			require.Equal(t, 4, len(moments), "watches after the first, of which three get 429")
			for i, gap := range gaps(moments) {
				require.GreaterOrEqual(t, gap, 800*time.Millisecond<<i, "wait after 429 number %d", i+1)
			}
			w.stop()
		}
	})
}

func TestTask4_Internal_errors_are_tried_again_for_a_while(t *testing.T) {
	const (
		again = "After an internal error that ends a watch, the next watch starts at once, without a list, for as long " +
			"as MaxInternalErrorRetryDuration says."
		never = "If MaxInternalErrorRetryDuration is 0, an internal error that ends a watch makes a list due."
	)
	guard.Test(t, again, func(t *guard.T) {
		internal := failing(apierrors.NewInternalError(errors.New("etcdserver: request timed out")))
		for retry, want := range map[time.Duration][]string{
			0:           {"list@0", "watch@7", "list@8"},
			time.Minute: {"list@0", "watch@7", "watch@8", "watch@8"},
		} {
			t.Story(8)
			t.Rule(again)
			if retry == 0 {
				t.Rule(never)
			}
			s := &script{}
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8"), internal), s.sends(internal), s.sends())
			r := newScripted(s, &store{})
			r.MaxInternalErrorRetryDuration = retry
			t.Did("MaxInternalErrorRetryDuration %v; watches bring internal errors", retry)
			runFor(t, r, 2*time.Second)
			requests := s.requests()
			require.Equal(t, want, requests[:min(len(requests), len(want))], "the first %d requests", len(want))
		}
	})
}

func TestTask4_Internal_errors_of_long_ago_do_not_count(t *testing.T) {
	guard.Test(t, "After a minute without an internal error, the next one counts as the first again.", func(t *guard.T) {
		internal := failing(apierrors.NewInternalError(errors.New("etcdserver: request timed out")))
		later := func(s *script) watchFunc {
			return func(metav1.ListOptions) (watch.Interface, error) {
				c := s.channel()
				time.AfterFunc(10*time.Minute, func() { c.result <- internal })
				return c, nil
			}
		}
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, later(s), later(s), later(s), s.sends())
		r := newScripted(s, &store{})
		r.MaxInternalErrorRetryDuration = 20 * time.Second
		t.Did("MaxInternalErrorRetryDuration 20s; three watches, each for ten minutes, end with an internal error")
		listAndWatchFor(t, r, time.Hour)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7", "watch@7", "watch@7"}, s.requests(),
			"requests to the source")
	})
}

func TestTask4_Internal_errors_count_from_the_list_on(t *testing.T) {
	guard.Test(t, "After a list the time of MaxInternalErrorRetryDuration starts again: the first internal error after "+
		"the list is retried.", func(t *guard.T) {
		internal := failing(apierrors.NewInternalError(errors.New("etcdserver: request timed out")))
		gone := failing(apierrors.NewResourceExpired("too old resource version"))
		after := func(s *script, d time.Duration, e watch.Event) watchFunc {
			return func(metav1.ListOptions) (watch.Interface, error) {
				c := s.channel()
				time.AfterFunc(d, func() { c.result <- e })
				return c, nil
			}
		}
		s := &script{}
		s.lists = append(s.lists, lists("7"), lists("8"))
		s.watches = append(s.watches, after(s, time.Second, internal), after(s, 15*time.Second, gone),
			after(s, 10*time.Second, internal), s.sends())
		r := newScripted(s, &store{})
		r.MaxInternalErrorRetryDuration = 20 * time.Second
		t.Did("MaxInternalErrorRetryDuration 20s; an internal error after 1s, 410 after 16s, and an internal error 10s later")
		runFor(t, r, 45*time.Second)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7", "list@7", "watch@8", "watch@8"}, s.requests(),
			"requests to the source")
	})
}

func TestTask4_Internal_errors_are_not_tried_forever(t *testing.T) {
	guard.Test(t, "After MaxInternalErrorRetryDuration of internal errors, the next one makes a list "+
		"due.", func(t *guard.T) {
		internal := failing(apierrors.NewInternalError(errors.New("etcdserver: request timed out")))
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		for range 1000 {
			s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
				time.Sleep(time.Second)
				return s.channel(internal), nil
			})
		}
		r := newScripted(s, &store{})
		r.MaxInternalErrorRetryDuration = 20 * time.Second
		t.Did("MaxInternalErrorRetryDuration 20s; for a minute and a half every watch brings an internal error, after a " +
			"second")
		runFor(t, r, 90*time.Second)
		requests := s.requests()
		require.Contains(t, requests[2:], "list@7", "requests after the first list and watch")
		t.Rule("RunWithContext waits for the back-off after each call.")
		require.Less(t, len(requests), 60, "requests in a minute and a half")

		t.Rule("After MaxInternalErrorRetryDuration of internal errors, the next one makes a list due. Only a minute " +
			"without an internal error starts the duration again, and no other minute does.")
		s = &script{}
		start := time.Now()
		s.lists = append(s.lists, lists("7"))
		for range 1000 {
			s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
				time.Sleep(time.Second)
				return s.channel(internal), nil
			})
		}
		r = newScripted(s, &store{})
		r.MaxInternalErrorRetryDuration = 3 * time.Minute
		t.Did("MaxInternalErrorRetryDuration 3m0s; every watch brings an internal error, after a second")
		listAndWatchFor(t, r, 10*time.Minute)
		require.LessOrEqual(t, time.Since(start), 3*time.Minute+5*time.Second, "time until ListAndWatchWithContext returned")
	})
}
