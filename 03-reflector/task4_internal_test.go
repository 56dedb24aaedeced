package reflector_test

// Task 4: watches that end with internal errors.

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Internal_errors_are_tried_again_for_a_while(t *testing.T) {
	const (
		again = "After an internal error that ends a watch, the next watch starts at once, without a list, for as long " +
			"as MaxInternalErrorRetryDuration says."
		never = "If MaxInternalErrorRetryDuration is 0, an internal error that ends a watch makes a list due."
	)
	guard.Test(t, again, func(t *guard.T) {
		internal := failing(apierrors.NewInternalError(errors.New("etcdserver: request timed out")))
		for retry, want := range guard.InOrder(map[time.Duration][]string{
			0:           {"list@0", "watch@7", "list@8"},
			time.Minute: {"list@0", "watch@7", "watch@8", "watch@8"},
		}) {
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
		for _, lasts := range []time.Duration{time.Minute, 10 * time.Minute} {
			t.Story(8)
			s := &script{}
			later := func(metav1.ListOptions) (watch.Interface, error) {
				c := s.channel()
				time.AfterFunc(lasts, func() { c.send(internal) })
				return c, nil
			}
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, later, later, later, s.sends())
			r := newScripted(s, &store{})
			r.MaxInternalErrorRetryDuration = 20 * time.Second
			t.Did("MaxInternalErrorRetryDuration 20s; three watches, each for %v, end with an internal error", lasts)
			listAndWatchFor(t, r, time.Hour)
			require.Equal(t, []string{"list@0", "watch@7", "watch@7", "watch@7", "watch@7"}, s.requests(),
				"requests to the source")
		}
	})
}

func TestTask4_Minute_without_an_internal_error(t *testing.T) {
	guard.Test(t, "An internal error starts a period of MaxInternalErrorRetryDuration, which a minute without an internal "+
		"error ends, and nothing else. After the period the next internal error makes a list due.", func(t *guard.T) {
		s := &script{}
		// after answers with a watch that ends after d, with these events.
		after := func(d time.Duration, events ...watch.Event) watchFunc {
			return func(metav1.ListOptions) (watch.Interface, error) {
				c := s.channel()
				time.AfterFunc(d, func() {
					for _, e := range events {
						c.send(e)
					}
					c.end()
				})
				return c, nil
			}
		}
		often := slices.Repeat([]watchFunc{after(35*time.Second, failing(internal))}, 100)
		for _, c := range []struct {
			what        string
			retry, want time.Duration
			then        []watchFunc
		}{
			{"ends well after 30s; the next one brings an internal error after 10s",
				20 * time.Second, 41 * time.Second,
				[]watchFunc{after(30 * time.Second), after(10*time.Second, failing(internal)), s.sends()}},
			{"brings 429 after 30s; the next one brings an internal error after 9s",
				20 * time.Second, 41 * time.Second,
				[]watchFunc{after(30*time.Second, failing(busy)), after(9*time.Second, failing(internal)), s.sends()}},
			{"brings an internal error after 5m; after it each one does so after 35s: the second period ends after 25m1s",
				20 * time.Minute, 25*time.Minute + 26*time.Second,
				append([]watchFunc{after(5*time.Minute, failing(internal))}, often...)},
		} {
			t.Story(8)
			*s = script{}
			s.lists = append(s.lists, lists("7"))
			s.watches = append(append(s.watches, after(time.Second, failing(internal))), c.then...)
			r := reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, &store{}, cache.ReflectorOptions{
				Backoff: &wait.Backoff{Duration: time.Second, Factor: 1, Steps: 1000},
			})
			r.MaxInternalErrorRetryDuration = c.retry
			t.Did("MaxInternalErrorRetryDuration %v; a watch brings an internal error after 1s; the next one %s", c.retry, c.what)
			start := time.Now()
			require.NoError(t, listAndWatchFor(t, r, time.Hour), "the error of ListAndWatchWithContext")
			require.Equal(t, c.want, time.Since(start), "time until ListAndWatchWithContext returned")
		}
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
				time.AfterFunc(d, func() { c.send(e) })
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

func TestTask4_Internal_errors_count_from_the_first_on(t *testing.T) {
	guard.Test(t, "An internal error that ends a watch starts a period of MaxInternalErrorRetryDuration. No other end of "+
		"a watch does.", func(t *guard.T) {
		s := &script{}
		for what, end := range guard.InOrder(map[string]watchFunc{
			"brings 429":      func(metav1.ListOptions) (watch.Interface, error) { return s.channel(failing(busy)), nil },
			"is answered 429": watchFails(busy),
			"ends after a second": func(metav1.ListOptions) (watch.Interface, error) {
				time.Sleep(time.Second)
				return s.ending(), nil
			},
		}) {
			t.Story(8)
			*s = script{}
			s.lists = append(s.lists, lists("7"))
			for range 40 {
				s.watches = append(s.watches, end)
			}
			s.watches = append(s.watches, s.sends(failing(internal)), s.sends())
			r := reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, &store{}, cache.ReflectorOptions{
				Backoff: &wait.Backoff{Duration: time.Second, Factor: 1, Steps: 1000},
			})
			r.MaxInternalErrorRetryDuration = 20 * time.Second
			t.Did("MaxInternalErrorRetryDuration 20s; each of 40 watches %s, and the next one brings an internal error", what)
			start := time.Now()
			listAndWatchFor(t, r, time.Hour)
			require.Equal(t, time.Hour, time.Since(start), "time until ListAndWatchWithContext returned: no list is due")
			require.Equal(t, 42, s.count("watch"), "watches")
		}
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

		for what, between := range guard.InOrder(map[string]watchFunc{
			"another internal error": func(o metav1.ListOptions) (watch.Interface, error) { return s.channel(internal), nil },
			"an event, and ends": func(o metav1.ListOptions) (watch.Interface, error) {
				return s.ending(event(watch.Added, "a", "7")), nil
			},
			"429":                func(o metav1.ListOptions) (watch.Interface, error) { return s.channel(failing(busy)), nil },
			"no answer, but 429": watchFails(busy),
		}) {
			t.Story(8)
			t.Rule("After MaxInternalErrorRetryDuration of internal errors, the next one makes a list due. Only a minute " +
				"without an internal error starts the duration again. No other minute does, and no other end of a watch.")
			*s = script{}
			start := time.Now()
			s.lists = append(s.lists, lists("7"))
			for range 1000 {
				s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
					time.Sleep(time.Second)
					return s.channel(internal), nil
				}, between)
			}
			r := reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, &store{}, cache.ReflectorOptions{
				Backoff: &wait.Backoff{Duration: time.Second, Factor: 1, Steps: 1000},
			})
			r.MaxInternalErrorRetryDuration = 3 * time.Minute
			t.Did("MaxInternalErrorRetryDuration 3m0s; every second watch brings an internal error, after a second; each "+
				"watch between them brings %s", what)
			listAndWatchFor(t, r, 10*time.Minute)
			require.LessOrEqual(t, time.Since(start), 3*time.Minute+5*time.Second, "time until ListAndWatchWithContext returned")
			t.Rule("After an internal error that ends a watch, the next watch starts at once, without a list, for as long as " +
				"MaxInternalErrorRetryDuration says. The number of errors does not matter.")
			require.GreaterOrEqual(t, time.Since(start), 3*time.Minute, "time until ListAndWatchWithContext returned")
		}
	})
}
