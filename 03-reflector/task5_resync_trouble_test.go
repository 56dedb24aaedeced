package reflector_test

// Task 5: resyncs that fail.

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Resync_that_fails_makes_a_list_due(t *testing.T) {
	guard.Test(t, "An error of Resync ends the resyncs and makes a list due. The watch that was open is "+
		"stopped.", func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a")
		w.store.onCall = refuseResync
		w.run()
		w.did("the store refuses a resync")
		w.pass(time.Minute + 5*time.Second)
		require.Equal(t, []string{"list@0", "watch@2", "list@2", "watch@2"}, w.requests(), "requests to the server")
		require.Equal(t, 1, w.server.Watches(), "open watches")
	})
}

// refuseResync is for store.onCall.
func refuseResync(call string) error {
	if call == "Resync" {
		return errors.New("the store is confused")
	}
	return nil
}

func TestTask5_Resync_that_fails_in_an_outage(t *testing.T) {
	guard.Test(t, "An error of Resync ends the resyncs and makes a list due. While the server refuses connections no "+
		"list comes, and no resync either.", func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a")
		w.store.onCall = refuseResync
		w.run()
		w.pass(30 * time.Second)
		w.store.calls()
		w.did("the server goes away, and the store refuses a resync")
		w.server.Down()
		w.pass(10 * time.Minute)
		require.Equal(t, []string{"Resync"}, w.store.calls(), "calls of the store in the outage")
		w.did("the server is back for two minutes, and goes away again")
		w.server.Up()
		w.pass(2 * time.Minute)
		w.server.Down()
		require.Contains(t, w.store.calls(), "Replace [a@2] @2", "calls of the store after the outage")
		w.pass(10 * time.Minute)
		t.Rule("When the context ends, every request, watch and wait ends at once. While no watch is open, " +
			"nothing receives the error of a resync: its goroutine must not wait for a receiver.")
		w.did("the context is cancelled")
		w.stop()
		require.True(t, w.hasEnded(), "RunWithContext has returned")

		s := &script{}
		s.lists = append(s.lists, lists("7"))
		for range 100 {
			s.watches = append(s.watches, watchFails(errRefused))
		}
		t.Did("ListAndWatchWithContext with a period of a minute; each watch is refused, and the store refuses the resync")
		start := time.Now()
		listAndWatchFor(t, newResyncing(s, &store{onCall: refuseResync}, time.Minute), 10*time.Minute)
		require.LessOrEqual(t, time.Since(start), 10*time.Minute, "time until ListAndWatchWithContext returned")
	})
}

func TestTask5_Resync_that_fails_later(t *testing.T) {
	guard.Test(t, "An error of Resync ends the resyncs and makes a list due, whatever the watches before have done.",
		func(t *guard.T) {
			for _, before := range []struct {
				what  string
				watch func(s *script) watchFunc
			}{
				{"ends", func(s *script) watchFunc { return s.ends(event(watch.Modified, "a", "8")) }},
				{"is refused", func(*script) watchFunc { return watchFails(errRefused) }},
				{"is answered 429", func(*script) watchFunc { return watchFails(busy) }},
				{"brings 429", func(s *script) watchFunc { return s.sends(failing(busy)) }},
				{"brings an internal error", func(s *script) watchFunc { return s.sends(failing(internal)) }},
			} {
				t.Story(8)
				s := &script{}
				s.lists = append(s.lists, lists("7"))
				s.watches = append(s.watches, before.watch(s))
				r := newResyncing(s, &store{onCall: refuseResync}, time.Hour)
				r.MaxInternalErrorRetryDuration = time.Minute
				t.Did("ListAndWatchWithContext with a period of an hour; the first watch %s", before.what)
				t.Did("the store refuses the resync")
				start := time.Now()
				require.NoError(t, listAndWatchFor(t, r, 24*time.Hour), "the error of ListAndWatchWithContext")
				require.Equal(t, time.Hour, time.Since(start), "time until ListAndWatchWithContext returned")
				require.Equal(t, 0, s.left(), "watches that were not stopped")
			}
		})
}

func TestTask5_Resync_that_fails_in_a_wait(t *testing.T) {
	guard.Test(t, "An error of Resync ends the resyncs and makes a list due. It is not lost if the Reflector waits for the "+
		"back-off at that time.", func(t *guard.T) {
		s := &script{}
		for what, trouble := range guard.InOrder(map[string]watchFunc{
			"is answered 429": watchFails(busy),
			"is refused":      watchFails(errRefused),
			"brings 429":      func(metav1.ListOptions) (watch.Interface, error) { return s.channel(failing(busy)), nil },
		}) {
			t.Story(8)
			*s = script{}
			s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, trouble, trouble)
			r := reflector.NewReflectorWithOptions(s, nil, &store{onCall: refuseResync}, cache.ReflectorOptions{
				ResyncPeriod: 90 * time.Second, Backoff: &wait.Backoff{Duration: time.Minute, Factor: 1, Steps: 1000},
			})
			t.Did("ListAndWatchWithContext with a period of 90s; each of two watches %s, and each wait takes a minute; the "+
				"store refuses the resync", what)
			start := time.Now()
			listAndWatchFor(t, r, time.Hour)
			require.LessOrEqual(t, time.Since(start), 2*time.Minute, "time until ListAndWatchWithContext returned")
		}
	})
}

func TestTask5_Resync_that_fails_beside_a_busy_watch(t *testing.T) {
	guard.Test(t, "An error of Resync ends the resyncs and makes a list due, even if the next event is always ready.",
		func(t *guard.T) {
			s, st := &script{}, &store{}
			c := s.channel(event(watch.Added, "a", "8"))
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return c, nil })
			st.onCall = func(call string) error {
				if call == "Add a@8" {
					c.send(event(watch.Added, "a", "8"))
					time.Sleep(time.Minute)
				}
				return refuseResync(call)
			}
			t.Did("ListAndWatchWithContext with a period of an hour; each of the watch's events takes the store a minute, and " +
				"the next one comes meanwhile; the store refuses the resync")
			start := time.Now()
			listAndWatchFor(t, newResyncing(s, st, time.Hour), 24*time.Hour)
			require.Less(t, time.Since(start), 5*time.Hour, "time until ListAndWatchWithContext returned")
		})
}

func TestTask5_Error_of_Resync_is_not_returned(t *testing.T) {
	guard.Test(t, "The end of a watch that has started is not an error. An error of Resync ends the "+
		"watch.", func(t *guard.T) {
		s, st := &script{}, &store{onCall: refuseResync}
		s.lists = append(s.lists, lists("7"))
		t.Did("ListAndWatchWithContext with a period of a minute; the store refuses the resync")
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := newResyncing(s, st, time.Minute).ListAndWatchWithContext(ctx)
		require.NoError(t, err, "the error of ListAndWatchWithContext")
		require.Equal(t, time.Minute, time.Since(start), "time until ListAndWatchWithContext returned")

		t.Rule("An error of Resync ends the resyncs and makes a list due, even if it is an error with which watches end.")
		for _, broken := range []error{
			io.EOF, context.Canceled, context.DeadlineExceeded, errExpired, &cache.VeryShortWatchError{},
		} {
			t.Story(8)
			s.lists, st.onCall = append(s.lists, lists("7")), func(call string) error {
				if call == "Resync" {
					return broken
				}
				return nil
			}
			t.Did("the store's Resync returns: %v", broken)
			start := time.Now()
			err := listAndWatchFor(t, newResyncing(s, st, time.Minute), time.Hour)
			require.NoError(t, err, "the error of ListAndWatchWithContext")
			require.Equal(t, time.Minute, time.Since(start), "time until ListAndWatchWithContext returned")
		}
	})
}

func TestTask5_Error_of_Resync_is_not_the_servers(t *testing.T) {
	guard.Test(t, "An error of Resync ends the resyncs and makes a list due, even if it is an error after which a watch "+
		"is tried again. The server did not send it.", func(t *guard.T) {
		for _, broken := range []error{busy, internal, errRefused} {
			t.Story(8)
			s := &script{}
			s.lists = append(s.lists, lists("7"))
			r := newResyncing(s, &store{onCall: func(call string) error {
				if call == "Resync" {
					return broken
				}
				return nil
			}}, time.Minute)
			r.MaxInternalErrorRetryDuration = time.Hour
			t.Did("ListAndWatchWithContext with a period of a minute; the store's Resync returns: %v", broken)
			start := time.Now()
			require.NoError(t, listAndWatchFor(t, r, time.Hour), "the error of ListAndWatchWithContext")
			require.Equal(t, time.Minute, time.Since(start), "time until ListAndWatchWithContext returned")
		}
	})
}

func TestTask5_Error_of_an_earlier_resync(t *testing.T) {
	guard.Test(t, "An error of Resync ends the resyncs and makes a list due. If a list is due already, the error is over "+
		"with its watch: the next call knows nothing of it.", func(t *guard.T) {
		s, st := &script{}, &store{onCall: func(call string) error {
			if call == "Resync" {
				time.Sleep(10 * time.Second)
			}
			return refuseResync(call)
		}}
		s.lists = append(s.lists, lists("7"), lists("8"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			c := s.channel()
			time.AfterFunc(65*time.Second, func() { c.send(failing(errExpired)) })
			return c, nil
		})
		r := newResyncing(s, st, time.Minute)
		t.Did("ListAndWatchWithContext; after a minute the store refuses a resync, for which it needs ten seconds")
		t.Did("the watch brings 410 in the middle of it")
		listAndWatchFor(t, r, time.Hour)
		t.Did("ListAndWatchWithContext again, for half a minute")
		start := time.Now()
		listAndWatchFor(t, r, 30*time.Second)
		require.Equal(t, 30*time.Second, time.Since(start), "time until ListAndWatchWithContext returned")
	})
}
