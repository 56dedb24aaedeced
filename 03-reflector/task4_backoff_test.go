package reflector_test

// Task 4: back-off, 429, and servers that are away.

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// gaps are the times between moments.
func gaps(moments []time.Time) (all []time.Duration) {
	for i := 1; i < len(moments); i++ {
		all = append(all, moments[i].Sub(moments[i-1]))
	}
	return all
}

// failingLists notes when each of n lists was asked for, and fails it.
func failingLists(s *script, n int, moments *[]time.Time) {
	for range n {
		s.lists = append(s.lists, func(metav1.ListOptions) (apiruntime.Object, error) {
			*moments = append(*moments, time.Now())
			return nil, errors.New("the server is on fire")
		})
	}
}

func TestTask4_Waits_grow_up_to_a_minute(t *testing.T) {
	guard.Test(t, "it goes on for as long as it takes", func(t *guard.T) {
		var moments []time.Time
		s := &script{}
		failingLists(s, 1000, &moments)
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		t.Did("RunWithContext for half an hour, and every list fails")
		r.RunWithContext(ctx)
		for i, gap := range gaps(moments) {
			t.Rule("wait %d: a thousand programs that try without a wait are a second outage (#87794)", i+1)
			require.GreaterOrEqual(t, gap, 800*time.Millisecond)
			t.Rule("wait %d: who waits for long is stale for long; 30s, and at most twice as long by chance", i+1)
			require.LessOrEqual(t, gap, time.Minute)
			if i < 5 {
				t.Rule("wait %d: doubled with each try", i+1)
				require.GreaterOrEqual(t, gap, 800*time.Millisecond<<i)
				t.Rule("wait %d: doubled with each try, and at most twice as long by chance", i+1)
				require.LessOrEqual(t, gap, 1600*time.Millisecond<<i)
			}
		}
		t.Rule("it goes on for as long as it takes")
		require.Greater(t, len(moments), 25)
		t.Rule("and not much more often than once in ten seconds")
		require.Less(t, len(moments), 300)
	})
}

func TestTask4_Waits_have_chance_in_them(t *testing.T) {
	guard.Test(t, "at most 1.6s until the second try", func(t *guard.T) {
		distinct := map[time.Duration]bool{}
		t.Did("the first wait of ten Reflectors whose list fails")
		for range 10 {
			var moments []time.Time
			s := &script{}
			failingLists(s, 2, &moments)
			r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			r.RunWithContext(ctx)
			cancel()
			require.Len(t, moments, 2)
			distinct[gaps(moments)[0]] = true
		}
		t.Rule("clients that were cut off together must not come back together")
		require.Greater(t, len(distinct), 5)
	})
}

func TestTask4_Waits_begin_anew_after_a_good_time(t *testing.T) {
	guard.Test(t, "who still waits as long as at the end of the last outage is stale for a minute after each "+
		"short one", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.did("an outage of ten minutes, an hour without one, and another outage")
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
		require.Less(t, time.Since(down), 15*time.Second)
	})
}

func TestTask4_Cancel_during_a_wait_is_prompt(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		for _, what := range []string{"a list that fails", "a server that refuses watches"} {
			w := newWorld(t, "a")
			if what == "a list that fails" {
				w.server.Down()
			}
			w.run()
			w.server.Down()
			w.pass(10*time.Minute + time.Millisecond)
			w.did("during the wait behind %s, the context is cancelled", what)
			w.stop()
			synctest.Wait()
			select {
			case <-w.ended:
			default:
				require.Fail(t, "RunWithContext goes on", "a sleep that nothing can end keeps the program for half a minute, and it is killed (#55242)")
			}
		}
	})
}

func TestTask4_Refused_watch_needs_no_list(t *testing.T) {
	guard.Test(t, "the server has forgotten nothing: it tells what has happened since", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.pass(time.Minute)
		w.did("the server goes away for ten minutes; meanwhile b is created")
		w.server.Down()
		w.pass(10 * time.Minute)
		w.server.Create(deployment("b"))
		w.store.calls()
		w.server.Up()
		w.pass(time.Minute)
		require.Equal(t, []string{"Add b@3"}, w.store.calls())
		t.Rule("the watch goes on where it was; a list from every client is what a server that has just " +
			"started needs least (#87794)")
		require.Equal(t, []string{"list@0", "watch@2", "watch@2"}, w.asked())
	})
}

func TestTask4_Refusal_may_be_wrapped(t *testing.T) {
	guard.Test(t, "between the socket and here are four layers, and each may wrap the error (#81634)", func(t *guard.T) {
		w := newWorld(t)
		w.server.Down()
		_, refused := w.server.Client().Get("http://in-memory/")
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, watchFails(fmt.Errorf("watch: %w", refused)), watchFails(refused), s.tells())
		once(t, s, &store{})
		require.Equal(t, []string{"list@0", "watch@7", "watch@7", "watch@7"}, s.requests())
	})
}

func TestTask4_Watch_that_fails_otherwise_makes_a_list_due(t *testing.T) {
	guard.Test(t, "what refuses connections has forgotten nothing, and what is busy has not either; of anything "+
		"else nobody knows, and a watch that is tried for ever never finds out", func(t *guard.T) {
		for _, failure := range []error{
			apierrors.NewServiceUnavailable("starting"), apierrors.NewInternalError(errors.New("etcd is away")),
			fmt.Errorf("read: %w", syscall.ECONNRESET), errors.New("the network is away"),
		} {
			s := &script{}
			s.lists = append(s.lists, lists("7"), lists("8"))
			s.watches = append(s.watches, watchFails(failure))
			r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			t.Did("RunWithContext; the watch is answered: %v", failure)
			r.RunWithContext(ctx)
			require.Equal(t, []string{"list@0", "watch@7", "list@7", "watch@8"}, s.requests())
		}
	})
}

func TestTask4_Busy_server_needs_no_list(t *testing.T) {
	guard.Test(t, "the watch goes on where it was", func(t *guard.T) {
		for _, how := range []string{"as an answer", "as an event"} {
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
			require.Equal(t, []string{"Add b@3"}, w.store.calls())
			t.Rule("a server that is too busy for a watch is too busy for a list (#100878)")
			require.Len(t, w.server.Requests("list"), 1)
			var moments []time.Time
			for _, r := range w.server.Requests("watch")[1:] {
				moments = append(moments, r.Time)
			}
			t.Rule("three were refused")
			require.Len(t, moments, 4)
			for i, gap := range gaps(moments) {
				t.Rule("wait %d: longer each time", i+1)
				require.GreaterOrEqual(t, gap, 800*time.Millisecond<<i)
			}
			w.stop()
		}
	})
}

func TestTask4_Internal_errors_are_tried_again_for_a_while(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		internal := failing(apierrors.NewInternalError(errors.New("etcdserver: request timed out")))
		for _, c := range []struct {
			retry time.Duration
			want  []string
			why   string
		}{
			{0, []string{"list@0", "watch@7", "list@8"}, "unless it is asked to, a Reflector does not try an internal error again; it lists"},
			{time.Minute, []string{"list@0", "watch@7", "watch@8", "watch@8"}, "an internal error of the watch says nothing of the history; as long as it may, a Reflector begins the watch again, at once and without a wait"},
		} {
			s := &script{}
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, s.tells(event(watch.Added, "a", "8"), internal), s.tells(internal), s.tells())
			r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
			r.MaxInternalErrorRetryDuration = c.retry
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			t.Did("MaxInternalErrorRetryDuration %v; watches bring internal errors", c.retry)
			r.RunWithContext(ctx)
			requests := s.requests()
			t.Rule("%s", c.why)
			require.Equal(t, c.want, requests[:min(len(requests), len(c.want))])
		}
	})
}

func TestTask4_Internal_errors_are_not_tried_for_ever(t *testing.T) {
	guard.Test(t, "after that time a list is due: perhaps it helps", func(t *guard.T) {
		internal := failing(apierrors.NewInternalError(errors.New("etcdserver: request timed out")))
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		for range 1000 {
			s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
				time.Sleep(time.Second)
				return s.channel(internal), nil
			})
		}
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		r.MaxInternalErrorRetryDuration = 20 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		t.Did("MaxInternalErrorRetryDuration 20s; for a minute and a half every watch brings an internal error, after a second")
		r.RunWithContext(ctx)
		requests := s.requests()
		require.Contains(t, requests[2:], "list@7")
		t.Rule("and the back-off slows it down")
		require.Less(t, len(requests), 60)
	})
}
