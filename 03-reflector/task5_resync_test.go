package reflector_test

// Task 5: resync.

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Resync_comes_each_period(t *testing.T) {
	guard.Test(t, "a list is as good as a resync", func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a").run()
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls())
		w.pass(59 * time.Second)
		t.Rule("not before its time")
		require.Empty(t, w.store.calls())
		w.pass(time.Second)
		t.Rule("after a minute")
		require.Equal(t, []string{"Resync"}, w.store.calls())
		w.pass(3 * time.Minute)
		t.Rule("and each minute, also while nothing happens")
		require.Equal(t, []string{"Resync", "Resync", "Resync"}, w.store.calls())
		t.Rule("a resync asks the store, and not the server")
		require.Equal(t, []string{"list@0", "watch@2"}, w.asked())
	})
}

func TestTask5_No_period_no_resync(t *testing.T) {
	guard.Test(t, "a period of 0 is none", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.store.calls()
		w.pass(24 * time.Hour)
		require.Empty(t, w.store.calls())
	})
}

func TestTask5_ShouldResync_is_asked(t *testing.T) {
	guard.Test(t, "it has said no", func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a")
		asked := 0
		w.r.ShouldResync = func() bool { asked++; return asked%2 == 0 }
		w.run()
		w.store.calls()
		w.did("ShouldResync says no, yes, no, yes")
		w.pass(time.Minute)
		require.Empty(t, w.store.calls())
		w.pass(3 * time.Minute)
		t.Rule("an informer with handlers of different periods says no most of the time")
		require.Equal(t, []string{"Resync", "Resync"}, w.store.calls())
		t.Rule("it is asked each time, also after a no")
		require.Equal(t, 4, asked)
	})
}

func TestTask5_Resync_goes_on_through_watches(t *testing.T) {
	guard.Test(t, "watches end after five to ten minutes, and that must not begin the period anew: then a resync "+
		"would never come", func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: 10 * time.Minute}, "a").run()
		w.store.calls()
		w.pass(time.Hour)
		require.Len(t, w.store.calls(), 6)
	})
}

func TestTask5_Resync_that_fails_makes_a_list_due(t *testing.T) {
	guard.Test(t, "a store that cannot be gone over is filled anew", func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a")
		w.store.onCall = func(call string) error {
			if call == "Resync" {
				return errors.New("the store is confused")
			}
			return nil
		}
		w.run()
		w.did("the store refuses a resync")
		w.pass(time.Minute + 5*time.Second)
		require.Equal(t, []string{"list@0", "watch@2", "list@2", "watch@2"}, w.asked())
		t.Rule("and the watch that was there is stopped")
		require.Equal(t, 1, w.server.Watches())
	})
}

func TestTask5_Period_begins_when_a_resync_has_ended(t *testing.T) {
	guard.Test(t, "a store that takes longer than the period would do nothing else any more", func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a")
		start := time.Now()
		var moments []time.Duration
		w.store.onCall = func(call string) error {
			if call == "Resync" {
				moments = append(moments, time.Since(start))
				time.Sleep(90 * time.Second)
			}
			return nil
		}
		w.run()
		w.did("a resync takes a minute and a half")
		w.pass(4 * time.Minute)
		require.Equal(t, []time.Duration{time.Minute, 3*time.Minute + 30*time.Second}, moments)
		w.pass(time.Minute) // until the resync that is under way has ended
	})
}

func TestTask5_Resync_that_fails_in_an_outage_holds_up_nobody(t *testing.T) {
	guard.Test(t, "an outage is no end of the watches", func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a")
		w.store.onCall = func(call string) error {
			if call == "Resync" {
				return errors.New("the store is confused")
			}
			return nil
		}
		w.run()
		w.pass(30 * time.Second)
		w.store.calls()
		w.did("the server goes away, and the store refuses a resync")
		w.server.Down()
		w.pass(10 * time.Minute)
		require.Equal(t, []string{"Resync"}, w.store.calls())
		w.did("the context is cancelled")
		w.stop()
		synctest.Wait()
		select {
		case <-w.ended:
		default:
			require.Fail(t, "RunWithContext goes on", "nobody listens for the error of a resync while a watch cannot be begun, and then nobody ever will: the goroutine must not wait for that")
		}
	})
}

func TestTask5_Resync_that_is_under_way_is_waited_for(t *testing.T) {
	guard.Test(t, "when ListAndWatchWithContext returns nothing of it is left: the caller may take the store apart", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		under := false
		st.onCall = func(call string) error {
			if call == "Resync" {
				under = true
				time.Sleep(10 * time.Second)
				under = false
			}
			return nil
		}
		r := reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, st, cache.ReflectorOptions{ResyncPeriod: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
		defer cancel()
		t.Did("ListAndWatchWithContext; a resync takes ten seconds, and the context ends in the middle of it")
		r.ListAndWatchWithContext(ctx)
		returned := under
		time.Sleep(time.Minute)
		require.False(t, returned)
	})
}

func TestTask5_Resync_ends_when_a_list_is_due(t *testing.T) {
	guard.Test(t, "a list is due: who waits for the resync to end has to end it first", func(t *guard.T) {
		s, st := &script{}, &store{}
		r := reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, st, cache.ReflectorOptions{ResyncPeriod: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for range 3 {
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
				c := s.channel()
				time.AfterFunc(2500*time.Millisecond, func() { c.result <- failing(errExpired) })
				return c, nil
			})
			t.Did("ListAndWatchWithContext with a period of a second; after two and a half the watch brings 410, and the context lives on")
			start := time.Now()
			r.ListAndWatchWithContext(ctx)
			require.Equal(t, 2500*time.Millisecond, time.Since(start))
			t.Did("three seconds pass")
			time.Sleep(3 * time.Second)
			t.Rule("when ListAndWatchWithContext returns, its goroutine is gone: or there will be one more after " +
				"each list")
			require.Equal(t, []string{"Replace [] @7", "Resync", "Resync"}, st.calls())
		}
	})
}

func TestTask5_Resync_ends_with_the_watch(t *testing.T) {
	guard.Test(t, "each second", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		r := reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, st, cache.ReflectorOptions{ResyncPeriod: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		t.Did("ListAndWatchWithContext with a period of a second; the context ends after two and a half")
		r.ListAndWatchWithContext(ctx)
		require.Equal(t, []string{"Replace [] @7", "Resync", "Resync"}, st.calls())
		time.Sleep(time.Hour)
		t.Rule("when ListAndWatchWithContext returns, its goroutine is gone: or there will be one more after " +
			"each list")
		require.Empty(t, st.calls())
	})
}
