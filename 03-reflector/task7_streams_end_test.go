package reflector_test

// Bonus task 7: what is left of a stream, and the end of the context.

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask7_Cancel_during_a_stream_is_prompt(t *testing.T) {
	const prompt = "When the context ends, every request, watch and wait ends at once: a program that stops does not " +
		"wait for streams."
	bonus(t, prompt, func(t *guard.T) {
		for what, fault := range guard.InOrder(map[string]fakeapi.Fault{
			"sends the stream a byte a second":        fakeapi.SlowBody(1, time.Second),
			"answers the stream's request in an hour": fakeapi.Slow(time.Hour),
		}) {
			t.Story(8)
			t.Rule(prompt)
			w := newStreaming(t, "a")
			w.script(what, "watch", fault)
			w.run()
			w.pass(time.Minute)
			w.did("the context is cancelled")
			start := time.Now()
			w.stop()
			<-w.ended
			require.Equal(t, time.Duration(0), time.Since(start), "time until RunWithContext returned")
			require.Equal(t, []string{"watch@newest"}, w.requests(), "requests to the server")
			t.Rule("The store receives nothing of a stream that did not reach its bookmark.")
			require.Empty(t, w.store.calls(), "calls of the store")
			t.Rule("When ListAndWatchWithContext returns, nothing of it is left: no watch, no goroutine and no call " +
				"of the store.")
			require.Equal(t, 0, w.server.Watches(), "open watches after the end")
		}

		t.Rule("The end of the context is not an error, before the bookmark of a stream either.")
		s := &script{}
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "2")))
		t.Did("ListAndWatchWithContext; a stream brings an object and no bookmark; the context ends after a minute")
		err := listAndWatchFor(t, newReflector(streaming{s}, &store{}), time.Minute)
		require.NoError(t, err, "the error of ListAndWatchWithContext")
	})
}

func TestTask7_Wait_after_a_stream_ends_with_the_context(t *testing.T) {
	bonus(t, "When the context ends, every request, watch and wait ends at once. A wait before the next stream may take "+
		"a minute.", func(t *guard.T) {
		s := &script{}
		ends := s.ends(event(watch.Added, "a", "2"))
		for what, answers := range guard.InOrder(map[string][]watchFunc{
			"a stream is answered 429":            {watchFails(busy)},
			"a stream brings 429":                 {s.sends(failing(busy))},
			"a stream ends before its bookmark":   {ends},
			"two streams end before the bookmark": {ends, ends},
		}) {
			t.Story(8)
			*s = script{watches: answers}
			r := reflector.NewReflectorWithOptions(streaming{s}, &appsv1.Deployment{}, &store{}, cache.ReflectorOptions{
				Backoff: &wait.Backoff{Duration: time.Hour, Factor: 1, Steps: 1000},
			})
			t.Did("ListAndWatchWithContext, waits of an hour; %s; the context ends in the middle of the last", what)
			lasts := time.Duration(len(answers))*time.Hour - 30*time.Minute
			start := time.Now()
			err := listAndWatchFor(t, r, lasts)
			t.Rule("If a stream ends before its bookmark, or the server has too much to do (429), a new stream starts after " +
				"the back-off.")
			require.GreaterOrEqual(t, time.Since(start), lasts, "time until ListAndWatchWithContext returned")
			require.Len(t, s.requests(), len(answers), "requests to the source")
			t.Rule("When the context ends, every request, watch and wait ends at once, which is not an error. A wait before " +
				"the next stream may take a minute.")
			require.Equal(t, lasts, time.Since(start), "time until ListAndWatchWithContext returned")
			require.NoError(t, err, "the error of ListAndWatchWithContext")
		}
	})
}

func TestTask7_Watch_of_a_refused_Replace_is_stopped(t *testing.T) {
	bonus(t, "If Replace fails, streamList stops the watch and returns the error. Otherwise the watch stays open "+
		"until the server ends it.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("8"))
		s.watches = append(s.watches, s.sends(allOfIt("7")), s.sends())
		st := &store{onCall: func(call string) error {
			if call == "Replace [] @7" {
				return errors.New("not this one")
			}
			return nil
		}}
		t.Did("the store refuses the streamed list")
		stream(t, s, st)
		require.Equal(t, []string{"watch@", "list@0", "watch@8"}, s.requests(), "requests to the source")
		require.Equal(t, 0, s.left(), "watches that were not stopped")

		t.Rule("However a watch ends (even by a panic of the store), the Reflector stops it.")
		s = &script{}
		s.watches = append(s.watches, s.sends(allOfIt("7")))
		st.onCall = func(string) error { panic("the store is confused") }
		t.Did("ListAndWatchWithContext; the store panics in the Replace of a streamed list, and the caller recovers")
		require.Panics(t, func() { listAndWatchFor(t, newReflector(streaming{s}, st), time.Minute) },
			"ListAndWatchWithContext")
		require.Equal(t, 0, s.left(), "watches that were not stopped")
	})
}

func TestTask7_Every_stream_is_stopped(t *testing.T) {
	bonus(t, "However a watch ends, the Reflector stops it. A stream is a watch.", func(t *guard.T) {
		s := &script{}
		s.watches = append(s.watches, s.ends(event(watch.Added, "a", "2")), s.sends(failing(busy)),
			s.sends(allOfIt("7")))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		st := &store{onCall: func(string) error { cancel(); return nil }}
		t.Did("a stream breaks, one brings 429, and the context ends during the Replace of the third")
		r := newReflector(streaming{s}, st)
		r.ListAndWatchWithContext(ctx)
		require.Equal(t, 3, s.started, "watches that were started")
		require.Equal(t, 0, s.left(), "watches that were not stopped")
		t.Rule("LastSyncResourceVersion returns the version of the last list, event or bookmark that the store has " +
			"received. The end of the context does not undo a Replace.")
		require.Equal(t, "7", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the streamed list")

		t.Rule("However a watch ends, the Reflector stops it, even if the context ends with the last object of the list.")
		for range 20 { // a select between the bookmark and the end of the context chooses at random
			t.Story(8)
			s = &script{}
			ctx, cancel := context.WithCancel(t.Context())
			ends := transforming{&store{}, func(obj any) (any, error) { cancel(); return obj, nil }}
			s.watches = append(s.watches, s.sends(event(watch.Added, "a", "2"), allOfIt("7")))
			t.Did("the context ends while the store's transformer has the last object")
			newReflector(streaming{s}, ends).ListAndWatchWithContext(ctx)
			require.Equal(t, 0, s.left(), "watches that were not stopped")
		}

		t.Rule("However a watch ends, the Reflector stops it. A stream that brings 410 has ended.")
		s = &script{}
		s.watches = append(s.watches, s.sends(allOfIt("7"), expiredEvent()), s.sends(expiredEvent()), s.sends(allOfIt("8")))
		t.Did("a stream comes to 7 and brings 410; the stream at 7 brings 410 before its bookmark")
		stream(t, s, &store{})
		require.Equal(t, []string{"watch@", "watch@7", "watch@"}, s.requests(), "requests to the source")
		require.Equal(t, 0, s.left(), "watches that were not stopped")

		t.Rule("However a watch ends (even by a panic of the store), the Reflector stops it. The transformer is one of " +
			"the store's functions.")
		s = &script{}
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "2"), allOfIt("7")))
		confused := transforming{&store{}, func(any) (any, error) { panic("the store is confused") }}
		t.Did("ListAndWatchWithContext; the store's transformer panics, and the caller recovers")
		require.Panics(t, func() { listAndWatchFor(t, newReflector(streaming{s}, confused), time.Minute) },
			"ListAndWatchWithContext")
		require.Equal(t, 0, s.left(), "watches that were not stopped")

		t.Rule("However a watch ends, the Reflector stops it, even if the context ended before the stream was answered.")
		s = &script{}
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			time.Sleep(time.Hour)
			return s.channel(), nil
		})
		t.Did("ListAndWatchWithContext; the stream is answered after an hour, and the context ends after a minute")
		listAndWatchFor(t, newReflector(streaming{s}, &store{}), time.Minute)
		require.Equal(t, 0, s.left(), "watches that were not stopped")
	})
}

func TestTask7_Nothing_is_left_of_each_stream(t *testing.T) {
	bonus(t, "Nothing is left of a watch that has ended: no goroutine, and no registration at the context. A stream "+
		"is a watch.", func(t *guard.T) {
		s := &script{}
		for range 200 {
			s.watches = append(s.watches, s.sends(allOfIt("7"), expiredEvent()))
		}
		t.Did("RunWithContext; each of 110 streams comes to its bookmark, and then brings 410")
		requireNoLeak(t, s, newReflector(streaming{s}, &store{}), "watch")
	})
}
