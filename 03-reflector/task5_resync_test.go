package reflector_test

// Task 5: resync.

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/guard"
)

func TestTask5_Resync_comes_each_period(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a").run()
		require.Equal(t, []string{"Replace [a@2] @2"}, w.calls(), "a list is as good as a resync")
		w.pass(59 * time.Second)
		require.Empty(t, w.calls(), "not before its time")
		w.pass(time.Second)
		require.Equal(t, []string{"Resync"}, w.calls(), "after a minute")
		w.pass(3 * time.Minute)
		require.Equal(t, []string{"Resync", "Resync", "Resync"}, w.calls(), "and each minute, also while nothing happens")
		require.Equal(t, []string{"list@0", "watch@2"}, w.asked(), "a resync asks the store, and not the server")
	})
}

func TestTask5_No_period_no_resync(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.calls()
		w.pass(24 * time.Hour)
		require.Empty(t, w.calls(), "a period of 0 is none")
	})
}

func TestTask5_ShouldResync_is_asked(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a")
		asked := 0
		w.r.ShouldResync = func() bool { asked++; return asked%2 == 0 }
		w.run()
		w.calls()
		w.did("ShouldResync says no, yes, no, yes")
		w.pass(4 * time.Minute)
		require.Equal(t, []string{"Resync", "Resync"}, w.calls(), "an informer with handlers of different periods says no most of the time")
		require.Equal(t, 4, asked, "it is asked each time, also after a no")
	})
}

func TestTask5_Resync_goes_on_through_watches(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: 10 * time.Minute}, "a").run()
		w.calls()
		w.pass(time.Hour)
		require.Len(t, w.calls(), 6, "watches end after five to ten minutes, and that must not begin the period anew: then a resync would never come")
	})
}

func TestTask5_Resync_that_fails_makes_a_list_due(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a")
		w.onCall = func(call string) error {
			if call == "Resync" {
				return errors.New("the store is confused")
			}
			return nil
		}
		w.run()
		w.did("the store refuses a resync")
		w.pass(time.Minute + 5*time.Second)
		require.Equal(t, []string{"list@0", "watch@2", "list@2", "watch@2"}, w.asked(), "a store that cannot be gone over is filled anew")
		require.Equal(t, 1, w.Watches(), "and the watch that was there is stopped")
	})
}

func TestTask5_Resync_ends_with_the_watch(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		r := reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, st, cache.ReflectorOptions{ResyncPeriod: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		t.Did("ListAndWatchWithContext with a period of a second; the context ends after two and a half")
		r.ListAndWatchWithContext(ctx)
		require.Equal(t, []string{"Replace [] @7", "Resync", "Resync"}, st.calls(), "each second")
		time.Sleep(time.Hour)
		require.Empty(t, st.calls(), "when ListAndWatchWithContext returns, its goroutine is gone: or there will be one more after each list")
	})
}
