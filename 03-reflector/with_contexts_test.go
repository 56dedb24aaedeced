package reflector_test

// The contexts of the requests, task by task. A request whose context goes on after the end of the caller's holds a
// connection that nothing reads.

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/guard"
)

// requireRequestsEnded requires that the contexts of all requests have ended.
func (s *script) requireRequestsEnded(t *guard.T) {
	t.Helper()
	goOn := []string{}
	for i, request := range s.requests() {
		if s.contexts[i].Err() == nil {
			goOn = append(goOn, fmt.Sprintf("request %d, %s", i+1, request))
		}
	}
	require.Empty(t, goOn, "requests whose context goes on after the end of the caller's")
}

func TestTask1_Each_page_has_the_context(t *testing.T) {
	guard.Test(t, "When the context ends, every request, watch and wait ends at once: the request for each page too.",
		func(t *guard.T) {
			s := &script{}
			s.lists = append(s.lists, page("more", "a"), page("even more", "b"), listFails(errExpired), lists("7", "a"))
			t.Did("ListAndWatchWithContext; a list comes in pages, the token of the third has expired, and the list comes " +
				"in one piece")
			listAndWatchFor(t, newScripted(s, &store{}), time.Minute)
			s.requireRequestsEnded(t)
			asked := s.requests()
			require.Equal(t, []string{"list@0", "list@", "list@", "list@0"}, asked[:min(4, len(asked))], "the first 4 requests")
		})
}

func TestTask2_Each_watch_has_the_context(t *testing.T) {
	guard.Test(t, "When the context ends, every request, watch and wait ends at once: each watch, not only the first.",
		func(t *guard.T) {
			s := &script{}
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, s.ends(event(watch.Added, "a", "8")), s.ends(event(watch.Added, "b", "9")), s.sends())
			t.Did("ListAndWatchWithContext; two watches bring an event each and end, and the third goes on until the " +
				"context ends")
			listAndWatchFor(t, newScripted(s, &store{}), time.Minute)
			s.requireRequestsEnded(t)
			require.Equal(t, []string{"list@0", "watch@7", "watch@8", "watch@9"},
				s.requests(), "requests to the source")
		})
}

func TestTask3_Each_relist_has_the_context(t *testing.T) {
	guard.Test(t, "When the context ends, every request, watch and wait ends at once: relists too.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, page("more", "a"), page("", "b"), page("more", "a"), page("", "b"),
			listFails(errTooLarge), lists("8"), lists("9"))
		for range 3 {
			s.watches = append(s.watches, s.sends(failing(errExpired)))
		}
		t.Did("RunWithContext; the list at 0 and a relist come in two pages, the next relist is refused, one more comes")
		runFor(t, newScripted(s, &store{}), 10*time.Minute)
		s.requireRequestsEnded(t)
		require.Equal(t, []string{"list@0", "list@", "watch@7", "list@7", "list@", "watch@7", "list@7", "list@", "watch@8",
			"list@8", "watch@9"},
			s.requests(), "requests to the source")
	})
}

func TestTask4_Each_new_try_has_the_context(t *testing.T) {
	guard.Test(t, "When the context ends, every request, watch and wait ends at once: what comes after a wait too.",
		func(t *guard.T) {
			s := &script{}
			s.lists = append(s.lists, listFails(internal), listFails(errRefused), lists("7"), lists("8"))
			s.watches = append(s.watches, watchFails(errRefused), watchFails(busy), s.sends(failing(busy)),
				s.sends(failing(internal)), watchFails(errors.New("the network is away")))
			r := newScripted(s, &store{})
			r.MaxInternalErrorRetryDuration = time.Minute
			t.Did("RunWithContext; the list fails twice; then the watch is refused, answered 429, ends with 429 and with an " +
				"internal error, and fails")
			runFor(t, r, 30*time.Minute)
			s.requireRequestsEnded(t)
			require.Equal(t, []string{"list@0", "list@0", "list@0", "watch@7", "watch@7", "watch@7", "watch@7", "watch@7",
				"list@7", "watch@8"},
				s.requests(), "requests to the source")
		})
}

func TestTask7_Each_stream_has_the_context(t *testing.T) {
	bonus(t, "When the context ends, every request, watch and wait ends at once: each stream, and the list after it.",
		func(t *guard.T) {
			s := &script{}
			s.watches = append(s.watches, s.ends(event(watch.Added, "a", "2")), watchFails(busy), watchFails(internal),
				s.sends(failing(errExpired)), watchFails(errTooLarge), s.sends(allOfIt("9")))
			s.lists = append(s.lists, lists("7"))
			t.Did("RunWithContext; a stream breaks, one is answered 429, one fails, and a list at 7 comes; its watch brings " +
				"410; the version of the next stream is refused")
			runFor(t, newReflector(streaming{s}, &store{}), 30*time.Minute)
			s.requireRequestsEnded(t)
			require.Equal(t, []string{"watch@", "watch@", "watch@", "list@0", "watch@7", "watch@7", "watch@"},
				s.requests(), "requests to the source")
		})
}

// A Reflector may run again after its context has ended.

func TestTask3_Version_is_kept_until_the_next_run(t *testing.T) {
	const (
		last    = "A relist asks for the last version, so the store never goes back in time: the first list of another run too."
		refused = "After a refused version, lists ask for no version until one has succeeded: in another run too."
	)
	guard.Test(t, last, func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), lists("8"))
		r := newScripted(s, &store{})
		t.Did("RunWithContext for a minute, and again for a minute")
		runFor(t, r, time.Minute)
		runFor(t, r, time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@7", "watch@8"}, s.requests(), "requests to the source")

		late := func(metav1.ListOptions) (runtime.Object, error) {
			time.Sleep(24 * time.Hour)
			return nil, errors.New("the network is away")
		}
		s = &script{}
		s.lists = append(s.lists, lists("7"), late, lists("8"))
		s.watches = append(s.watches, s.sends(failing(errExpired)))
		r = newReflector(cancellable{s}, &store{})
		t.Did("RunWithContext, whose context ends during the relist; a day later RunWithContext again")
		runFor(t, r, time.Minute)
		time.Sleep(24 * time.Hour) // until the list returns its answer
		runFor(t, r, time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@7", "watch@8"}, s.requests(), "requests to the source")

		t.Rule(refused)
		s = &script{}
		s.lists = append(s.lists, lists("7"), listFails(errTooLarge), late, lists("8"))
		s.watches = append(s.watches, s.sends(failing(errExpired)))
		r = newReflector(cancellable{s}, &store{})
		t.Did("the same, but the version of the relist is refused, and the context ends during the list without one")
		runFor(t, r, time.Minute)
		time.Sleep(24 * time.Hour)
		runFor(t, r, time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "list@", "watch@8"}, s.requests(),
			"requests to the source")
	})
}
