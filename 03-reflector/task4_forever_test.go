package reflector_test

// Task 4: servers that stay in trouble. A Reflector asks less often, and never gives up.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

// trouble is a source that gives the same answers again and again. After 10,000 requests it answers only when the
// context ends. So a Reflector that asks without a pause does not ask forever.
type trouble struct {
	*script
	list  listFunc
	watch watchFunc
	asked int
	// streams is true if the source can stream lists.
	streams bool
}

func (s *trouble) IsWatchListSemanticsUnSupported() bool { return !s.streams }

func (s *trouble) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if s.asked++; s.asked > 10_000 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.list(options)
}

func (s *trouble) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if s.asked++; s.asked > 10_000 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.watch(options)
}

// count returns the number of requests of a verb.
func (s *script) count(verb string) (n int) {
	for _, request := range s.requests() {
		if strings.HasPrefix(request, verb) {
			n++
		}
	}
	return n
}

var (
	busy         = apierrors.NewTooManyRequests("too many requests, please try again later", 1)
	unauthorized = apierrors.NewUnauthorized("Unauthorized")
	forbidden    = apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no such role"))
	notFound     = apierrors.NewNotFound(schema.GroupResource{}, "")
	invalid      = apierrors.NewInvalid(schema.GroupKind{}, "", nil)
	unavailable  = apierrors.NewServiceUnavailable("starting")
	internal     = apierrors.NewInternalError(errors.New("etcd is away"))
	errRefused   = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
)

func TestTask4_Every_loop_waits(t *testing.T) {
	guard.Test(t, "The Reflector waits before it asks a server in trouble again, and longer each time. A loop "+
		"of requests without a wait sends thousands of them a second.", func(t *guard.T) {
		s := &script{}
		good := lists("7", "a")
		for _, c := range []struct {
			what  string
			list  listFunc
			watch watchFunc
		}{
			{"lists fail", listFails(internal), nil},
			{"lists are refused, at every version", listFails(errExpired), nil},
			{"connections are refused", listFails(errRefused), nil},
			{"watches cannot start", good, watchFails(unavailable)},
			{"watches are refused", good, watchFails(errRefused)},
			{"watches are answered 429", good, watchFails(busy)},
			{"watches are answered 410", good, watchFails(errExpired)},
			{"watches bring 429", good, func(metav1.ListOptions) (watch.Interface, error) {
				return s.channel(failing(busy)), nil
			}},
			{"watches bring an event and 429", good, func(metav1.ListOptions) (watch.Interface, error) {
				return s.channel(event(watch.Modified, "a", "8"), failing(busy)), nil
			}},
			{"watches bring 410", good, func(metav1.ListOptions) (watch.Interface, error) {
				return s.channel(expiredEvent()), nil
			}},
			{"watches bring internal errors", good, func(metav1.ListOptions) (watch.Interface, error) {
				return s.channel(failing(internal)), nil
			}},
			{"watches end at once", good, func(metav1.ListOptions) (watch.Interface, error) { return s.ending(), nil }},
		} {
			t.Story(8)
			*s = script{}
			t.Did("RunWithContext for a minute; %s", c.what)
			source := &trouble{script: s, list: c.list, watch: c.watch}
			runFor(t, newReflector(source, &store{}), time.Minute)
			require.Less(t, source.asked, 30, "requests in a minute in which %s", c.what)
		}
	})
}

func TestTask4_Run_never_gives_up(t *testing.T) {
	const rule = "RunWithContext calls ListAndWatchWithContext again and again until the context ends. A certificate " +
		"is renewed, a role is bound and a CRD is created later, and then the store must fill."
	guard.Test(t, rule, func(t *guard.T) {
		for _, failure := range []error{
			internal, unavailable, unauthorized, forbidden, notFound, invalid, busy, errExpired, errTooLarge, errRefused,
			errors.New("certificate has expired"), context.Canceled, context.DeadlineExceeded,
		} {
			t.Story(8)
			s, st, start := &script{}, &store{}, time.Now()
			source := &trouble{script: s, watch: s.sends(), list: func(o metav1.ListOptions) (runtime.Object, error) {
				if time.Since(start) < 6*time.Hour {
					return nil, failure
				}
				return lists("7", "a")(o)
			}}
			t.Did("RunWithContext; for six hours every list is answered: %v", failure)
			runFor(t, newReflector(source, st), 6*time.Hour+2*time.Minute)
			require.Equal(t, []string{"Replace [a@1] @7"}, st.calls(), "calls of the store in the two minutes after that")
		}
	})
}

func TestTask4_Watches_never_give_up(t *testing.T) {
	const rule = "If the server refuses connections or has too much to do (429), the next watch starts after " +
		"the back-off, at the last version. However often that happens, no list is due."
	guard.Test(t, rule, func(t *guard.T) {
		for _, c := range []struct {
			what  string
			watch func(s *script) watchFunc
		}{
			{"is refused", func(*script) watchFunc { return watchFails(errRefused) }},
			{"is answered 429", func(*script) watchFunc { return watchFails(busy) }},
			{"is answered 429 without a reason", func(*script) watchFunc { return watchFails(status(429, "")) }},
			{"brings 429", func(s *script) watchFunc {
				return func(metav1.ListOptions) (watch.Interface, error) { return s.channel(failing(busy)), nil }
			}},
			{"brings 429 without a reason", func(s *script) watchFunc {
				e := watch.Event{Type: watch.Error, Object: &metav1.Status{Status: "Failure", Code: 429}}
				return func(metav1.ListOptions) (watch.Interface, error) { return s.channel(e), nil }
			}},
		} {
			t.Story(8)
			s := &script{}
			s.lists = append(s.lists, lists("7"))
			for range 500 {
				s.watches = append(s.watches, c.watch(s))
			}
			s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8")))
			st := &store{}
			t.Did("ListAndWatchWithContext; each of 500 watches %s, and the next one brings a@8", c.what)
			listAndWatchFor(t, newScripted(s, st), 12*time.Hour)
			require.Equal(t, 1, s.count("list"), "lists")
			require.Equal(t, []string{"Replace [] @7", "Add a@8"}, st.calls(), "calls of the store")
		}

		t.Story(8)
		t.Rule("However a watch ends, the Reflector stops it. It does not wait for the back-off first.")
		s := &script{}
		s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, s.sends(failing(busy)))
		t.Did("ListAndWatchWithContext; a watch brings 429, and the context ends in the wait after it")
		t.Go(func() { listAndWatchFor(t, newScripted(s, &store{}), 500*time.Millisecond) })
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, 0, s.left(), "watches that were not stopped, during the wait")
		t.Rule("When the context ends, every request, watch and wait ends at once, and no watch starts.")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"list@0", "watch@7"}, s.requests(), "requests to the source")
	})
}

func TestTask4_Watches_without_a_version_never_give_up(t *testing.T) {
	guard.Test(t, "If the server refuses connections or has too much to do (429), the next watch starts after the "+
		"back-off, at the last version. If the list had none, this watch has none.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists(""))
		s.watches = append(s.watches, watchFails(errRefused), watchFails(busy), s.sends(failing(busy)),
			s.sends(failing(internal)), s.sends(event(watch.Added, "a", "8")))
		r := newScripted(s, st)
		r.MaxInternalErrorRetryDuration = time.Minute
		t.Did("ListAndWatchWithContext; the list has no version; the watch is refused, answered 429, ends with 429 and " +
			"with an internal error, and brings a@8")
		listAndWatchFor(t, r, 12*time.Hour)
		require.Equal(t, []string{"list@0", "watch@", "watch@", "watch@", "watch@", "watch@"}, s.requests(),
			"requests to the source")
		require.Equal(t, []string{"Replace [] @", "Add a@8"}, st.calls(), "calls of the store")
	})
}

func TestTask4_Watch_that_ends_with_another_error_makes_a_list_due(t *testing.T) {
	const rule = "Any other error makes a list due: only after 429 and an internal error has the server forgotten nothing."
	guard.Test(t, rule, func(t *guard.T) {
		for _, status := range []metav1.Status{
			unavailable.ErrStatus, unauthorized.ErrStatus, forbidden.ErrStatus, notFound.ErrStatus, invalid.ErrStatus,
			apierrors.NewTimeoutError("slow", 1).ErrStatus, {Status: "Failure", Code: 503}, {Status: "Failure"},
			errTooLarge.(*apierrors.StatusError).ErrStatus, errGone.ErrStatus,
			apierrors.NewServerTimeout(schema.GroupResource{}, "watch", 1).ErrStatus,
		} {
			t.Story(8)
			s := &script{}
			s.lists = append(s.lists, lists("7"), lists("8"))
			s.watches = append(s.watches, s.sends(watch.Event{Type: watch.Error, Object: &status}))
			r := newScripted(s, &store{})
			r.MaxInternalErrorRetryDuration = time.Minute
			t.Did("RunWithContext; the watch brings an ERROR with code %d and reason %q", status.Code, status.Reason)
			runFor(t, r, time.Minute)
			require.Equal(t, []string{"list@0", "watch@7", "list@7", "watch@8"}, s.requests(), "requests to the source")
		}
	})
}

func TestTask4_Nothing_is_left_of_each_wait(t *testing.T) {
	guard.Test(t, "Nothing is left of a wait that has ended: no goroutine, and no registration at the "+
		"context.", func(t *guard.T) {
		s := &script{}
		for range 200 {
			s.lists = append(s.lists, listFails(internal))
		}
		t.Did("RunWithContext; each of 110 lists fails")
		requireNoLeak(t, s, newScripted(s, &store{}), "list")

		s = &script{}
		s.lists = append(s.lists, lists("7"))
		for range 200 {
			s.watches = append(s.watches, watchFails(busy))
		}
		t.Did("RunWithContext; each of 110 watches is answered 429")
		requireNoLeak(t, s, newScripted(s, &store{}), "watch")
	})
}

func TestTask4_Backoff_may_be_given(t *testing.T) {
	guard.Test(t, "If options.Backoff is not nil, it decides how long each wait is.", func(t *guard.T) {
		for _, each := range []time.Duration{10 * time.Millisecond, 10 * time.Second, 10 * time.Minute} {
			t.Story(8)
			var moments []time.Time
			s := &script{}
			failingLists(s, 10, &moments)
			r := reflector.NewReflectorWithOptions(s, nil, &store{}, cache.ReflectorOptions{
				Backoff: &wait.Backoff{Duration: each, Factor: 1, Steps: 1000},
			})
			t.Did("a Backoff of %v each; RunWithContext for six of them, and every list fails", each)
			runFor(t, r, 6*each-time.Millisecond)
			require.Len(t, moments, 6, "moments of the lists")
			for i, gap := range gaps(moments) {
				require.Equal(t, each, gap, "wait %d", i+1)
			}
		}
	})
}
