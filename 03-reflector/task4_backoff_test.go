package reflector_test

// Task 4: back-off, 429, and servers that are away.

import (
	"context"
	"errors"
	"fmt"
	"io"
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

		t.Rule("The Reflector waits before it asks a server in trouble again, and longer each time, whatever the trouble is.")
		s = &script{}
		s.lists = append(s.lists, listFails(internal), lists("7"), lists("8"))
		s.watches = append(s.watches, watchFails(errRefused), watchFails(busy), s.sends(failing(busy)), watchFails(internal))
		moments = nil
		s.onRequest = func(string) { moments = append(moments, time.Now()) }
		t.Did("RunWithContext; the 1st list fails; of the watches after the 2nd, one is refused, one gets the answer 429, " +
			"one brings the event 429, and one gets the answer 500")
		runFor(t, newScripted(s, &store{}), 3*time.Minute)
		var waits []time.Duration
		for _, gap := range gaps(moments) {
			if gap > 0 {
				waits = append(waits, gap)
			}
		}
		t.Rule("If the server refuses connections or has too much to do (429, as answer or as event), the next watch " +
			"starts at the last version. Any other error makes a list due.")
		require.Equal(t, []string{"list@0", "list@0", "watch@7", "watch@7", "watch@7", "watch@7", "list@7", "watch@8"},
			s.requests(), "requests to the source")
		t.Rule("The Reflector waits before it asks a server in trouble again, and longer each time, whatever the trouble is.")
		require.Equal(t, 5, len(waits), "waits of the Reflector")
		for i, wait := range waits {
			require.GreaterOrEqual(t, wait, 800*time.Millisecond<<i, "wait %d", i+1)
		}
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

func TestTask4_Wait_starts_at_the_end_of_a_call(t *testing.T) {
	guard.Test(t, "RunWithContext waits for the back-off after each call, however long the call took: a thousand "+
		"watches may end in the same second.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), lists("8"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			c := s.channel()
			time.AfterFunc(time.Hour, func() { c.send(expiredEvent()) })
			return c, nil
		})
		var moments []time.Time
		s.onRequest = func(string) { moments = append(moments, time.Now()) }
		t.Did("RunWithContext; the watch brings 410 after an hour")
		runFor(t, newScripted(s, &store{}), 2*time.Hour)
		require.Equal(t, []string{"list@0", "watch@7", "list@7", "watch@8"}, s.requests(), "requests to the source")
		require.GreaterOrEqual(t, moments[2].Sub(moments[1]), time.Hour+800*time.Millisecond,
			"time from the watch to the next list")
	})
}

func TestTask4_Cancel_during_a_wait_is_prompt(t *testing.T) {
	guard.Test(t, "When the context ends, every request, watch and wait ends at once. If the wait goes on, "+
		"Kubernetes kills the program (#55242).", func(t *guard.T) {
		for _, what := range []string{"a list that fails", "a server that refuses watches", "a watch that brings 429"} {
			t.Story(8)
			w := newWorld(t, "a")
			if what == "a list that fails" {
				w.server.Down()
			}
			w.run()
			w.pass(time.Minute) // otherwise the watch is a very short one, and a list is due
			if what == "a watch that brings 429" {
				w.script("brings 429 in each watch", "watch", fakeapi.Times(100, fakeapi.Event(429))...)
				w.server.EndWatches()
			} else {
				w.server.Down()
			}
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
		"(#8915).", func(t *guard.T) {
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
			s.ends(event(watch.Added, "a", "8")))
		t.Did("two watches are refused: %v, and %v; the next one brings a@8, and ends", refused, busy)
		once(t, s, &store{})
		want := []string{"list@0", "watch@7", "watch@7", "watch@7", "watch@8"}
		require.Equal(t, want[:4], s.requests()[:4], "the first 4 requests to the source")
		t.Rule("A watch starts at the last version: after a@8 that is not the version of the refused watches.")
		require.Equal(t, want, s.requests(), "requests to the source")

		t.Rule("A watch starts at the last version, whatever comes between the watches.")
		s = &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.ends(event(watch.Added, "a", "8")), watchFails(refused), watchFails(busy),
			s.sends(failing(busy)), s.sends())
		t.Did("a watch brings a@8, and ends; the next three are refused, answered 429, and ended with 429")
		once(t, s, &store{})
		require.Equal(t, []string{"list@0", "watch@7", "watch@8", "watch@8", "watch@8", "watch@8"}, s.requests(),
			"requests to the source")

		t.Rule("The error may be wrapped, by an error whose text does not have the words \"connection refused\".")
		s = &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, watchFails(translated{syscall.ECONNREFUSED}), s.sends())
		t.Did("a watch is refused: %v", translated{})
		once(t, s, &store{})
		require.Equal(t, []string{"list@0", "watch@7", "watch@7"}, s.requests(), "requests to the source")
	})
}

// translated is an error whose text says nothing about its cause.
type translated struct{ cause error }

func (translated) Error() string   { return "Verbindungsaufbau abgelehnt" }
func (e translated) Unwrap() error { return e.cause }

func TestTask4_Short_watch_after_a_wait_makes_a_list_due(t *testing.T) {
	guard.Test(t, "A watch that lasted less than a second and brought nothing makes a list due. The time counts from "+
		"the request: what the Reflector did before it does not matter.", func(t *guard.T) {
		s := &script{}
		for what, before := range guard.InOrder(map[string]watchFunc{
			"is refused":      watchFails(errRefused),
			"is answered 429": watchFails(busy),
			"brings 429":      func(metav1.ListOptions) (watch.Interface, error) { return s.channel(failing(busy)), nil },
			"ends after a minute": func(metav1.ListOptions) (watch.Interface, error) {
				time.Sleep(time.Minute)
				return s.ending(), nil
			},
			"brings an internal error after a minute": func(metav1.ListOptions) (watch.Interface, error) {
				time.Sleep(time.Minute)
				return s.channel(failing(internal)), nil
			},
		}) {
			t.Story(8)
			*s = script{}
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, before, before, before, s.ends(), s.sends())
			r := newScripted(s, &store{})
			r.MaxInternalErrorRetryDuration = time.Hour
			t.Did("ListAndWatchWithContext; each of three watches %s; the next one ends at once, without an event", what)
			listAndWatchFor(t, r, time.Hour)
			require.Equal(t, []string{"list@0", "watch@7", "watch@7", "watch@7", "watch@7"}, s.requests(),
				"requests to the source")
		}
	})
}

func TestTask4_Watch_that_fails_otherwise_makes_a_list_due(t *testing.T) {
	guard.Test(t, "A watch that fails to start for any other reason makes a list due. Only a refused connection and "+
		"429 mean that the server has forgotten nothing.", func(t *guard.T) {
		for _, failure := range []error{
			apierrors.NewServiceUnavailable("starting"), apierrors.NewInternalError(errors.New("etcd is away")),
			fmt.Errorf("read: %w", syscall.ECONNRESET), errors.New("the network is away"), errExpired, errTooLarge,
			apierrors.NewServiceUnavailable("error trying to reach service: dial tcp 10.0.0.1:443: connection refused"),
			errors.New("http2: client connection lost"), fmt.Errorf("dial: %w", syscall.ETIMEDOUT),
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
		for _, broken := range []error{
			errors.New("certificate signed by unknown authority"), context.Canceled, context.DeadlineExceeded, io.EOF,
			io.ErrUnexpectedEOF, errExpired, errTooLarge, unavailable, internal,
		} {
			for _, version := range []string{"7", ""} {
				t.Story(5)
				s := &script{}
				s.lists, s.watches = append(s.lists, lists(version)), append(s.watches, watchFails(broken))
				t.Did("the version of the list is %q; the watch fails: %v; the context goes on", version, broken)
				_, err := once(t, s, &store{})
				require.ErrorIs(t, err, broken, "the error of ListAndWatchWithContext")

				s = &script{}
				s.lists = append(s.lists, lists(version))
				s.watches = append(s.watches, s.ends(event(watch.Modified, "a", "8")), watchFails(broken))
				t.Did("the same, but a watch brings a@8 before the one that fails")
				_, err = once(t, s, &store{})
				require.ErrorIs(t, err, broken, "the error of ListAndWatchWithContext")
			}
		}
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
