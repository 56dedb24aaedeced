package reflector_test

// Tasks 2, 4, 5 and 7: options.Clock. Its time passes only when a test steps it. The time of the bubble is independent.

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

// clocked runs ListAndWatchWithContext with a clock that the test steps, until the test ends.
func clocked(
	t *guard.T, s cache.ListerWatcher, st *store, options cache.ReflectorOptions, retry time.Duration,
) *testclock.FakeClock {
	c := testclock.NewFakeClock(time.Now().Add(-time.Hour)) // the bubble has another time
	options.Clock = c
	r := reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, st, options)
	r.MaxInternalErrorRetryDuration = retry
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	t.Did("ListAndWatchWithContext with a clock that the test steps")
	t.Go(func() { r.ListAndWatchWithContext(ctx) })
	synctest.Wait()
	return c
}

// step lets time pass on a clock, and none in the bubble.
func step(t *guard.T, c *testclock.FakeClock, d time.Duration) {
	t.Did("%v pass on the clock", d)
	c.Step(d)
	synctest.Wait()
}

func TestTask2_Clock_measures_watches(t *testing.T) {
	guard.Test(t, "options.Clock measures all durations: how long a watch has lasted.", func(t *guard.T) {
		for _, onTheClock := range []bool{true, false} {
			t.Story(8)
			s := &script{}
			first := s.channel()
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return first, nil })
			c := clocked(t, s, &store{}, cache.ReflectorOptions{}, 0)
			want := []string{"list@0", "watch@7"}
			if onTheClock {
				step(t, c, 2*time.Second)
				want = append(want, "watch@7")
			} else {
				t.Did("2s pass, and none on the clock")
				time.Sleep(2 * time.Second)
			}
			t.Did("the watch ends, without an event")
			first.end()
			require.Equal(t, want, s.requests(), "requests to the source")
		}
	})
}

func TestTask4_Clock_measures_waits(t *testing.T) {
	guard.Test(t, "options.Clock measures all durations: the wait before a watch that was refused.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, watchFails(busy), s.sends(failing(busy)), watchFails(busy), s.sends())
		c := clocked(t, s, &store{}, cache.ReflectorOptions{}, 0)
		t.Did("a minute passes, and none on the clock")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"list@0", "watch@7"}, s.requests(), "requests to the source after the answer 429")
		step(t, c, 2*time.Second)
		t.Did("an hour passes, and none on the clock")
		time.Sleep(time.Hour)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7"}, s.requests(), "requests to the source after the event 429")
		step(t, c, 4*time.Second)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7", "watch@7"}, s.requests(), "requests after both waits")

		t.Rule("options.Clock measures all durations: the two minutes after which the waits start with 800ms again.")
		step(t, c, 3*time.Second)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7", "watch@7"}, s.requests(), "requests in the third wait")
		step(t, c, 4*time.Second)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7", "watch@7", "watch@7"}, s.requests(),
			"requests after the third wait")
	})
}

func TestTask4_Clock_measures_internal_errors(t *testing.T) {
	guard.Test(t, "options.Clock measures all durations: MaxInternalErrorRetryDuration.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		sources := []*channel{s.channel(), s.channel(), s.channel()}
		for _, source := range sources {
			s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return source, nil })
		}
		internal := failing(apierrors.NewInternalError(errors.New("etcdserver: request timed out")))
		c := clocked(t, s, &store{}, cache.ReflectorOptions{}, 20*time.Second)
		t.Did("MaxInternalErrorRetryDuration 20s; the watch brings an internal error")
		sources[0].send(internal)
		synctest.Wait()
		t.Did("30s pass, and none on the clock; the next watch brings an internal error")
		time.Sleep(30 * time.Second)
		sources[1].send(internal)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7", "watch@7"}, s.requests(), "requests to the source")
		step(t, c, 30*time.Second)
		t.Did("the next watch brings an internal error")
		sources[2].send(internal)
		require.Equal(t, []string{"list@0", "watch@7", "watch@7", "watch@7"}, s.requests(), "requests after the third error")
	})
}

func TestTask7_Clock_measures_streams(t *testing.T) {
	bonus(t, "options.Clock measures all durations: how long a stream has lasted.", func(t *guard.T) {
		for _, onTheClock := range []bool{true, false} {
			t.Story(8)
			s := &script{}
			first := s.channel()
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return first, nil })
			c := clocked(t, streaming{s}, &store{}, cache.ReflectorOptions{}, 0)
			want := []string{"watch@", "list@0", "watch@7"}
			if onTheClock {
				step(t, c, 2*time.Second)
				want = []string{"watch@", "watch@"}
			} else {
				t.Did("2s pass, and none on the clock")
				time.Sleep(2 * time.Second)
			}
			t.Did("the stream ends, without an event")
			first.end()
			synctest.Wait()
			step(t, c, 2*time.Second) // until the wait before the next stream has ended
			require.Equal(t, want, s.requests(), "requests to the source")
		}

		t.Story(8)
		t.Rule("options.Clock measures all durations: the wait after a stream that is refused or that brings 429.")
		s := &script{}
		s.watches = append(s.watches, watchFails(busy), s.sends(failing(busy)), s.sends())
		c := clocked(t, streaming{s}, &store{}, cache.ReflectorOptions{}, 0)
		t.Did("an hour passes, and none on the clock; a stream is answered 429")
		time.Sleep(time.Hour)
		require.Equal(t, []string{"watch@"}, s.requests(), "requests to the source after the answer 429")
		step(t, c, 2*time.Second)
		t.Did("an hour passes, and none on the clock; a stream brings 429")
		time.Sleep(time.Hour)
		require.Equal(t, []string{"watch@", "watch@"}, s.requests(), "requests to the source after the event 429")
		step(t, c, 4*time.Second)
		require.Equal(t, []string{"watch@", "watch@", "watch@"}, s.requests(), "requests to the source after both waits")
	})
}

func TestTask5_Clock_measures_the_period(t *testing.T) {
	guard.Test(t, "options.Clock measures all durations: the period between two resyncs.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		c := clocked(t, s, st, cache.ReflectorOptions{ResyncPeriod: time.Minute}, 0)
		st.calls()
		t.Did("an hour passes, and none on the clock")
		time.Sleep(time.Hour)
		require.Empty(t, st.calls(), "calls of the store")
		step(t, c, time.Minute)
		require.Equal(t, []string{"Resync"}, st.calls(), "calls of the store after a period on the clock")
	})
}
