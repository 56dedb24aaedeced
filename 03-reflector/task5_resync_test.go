package reflector_test

// Task 5: resync.

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

// newResyncing makes a Reflector of Deployments on a script, with a resync period.
func newResyncing(s *script, st *store, period time.Duration) *reflector.Reflector {
	return reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, st, cache.ReflectorOptions{ResyncPeriod: period})
}

func TestTask5_Resync_comes_each_period(t *testing.T) {
	guard.Apart(t, "resync calls the store's Resync once each resyncPeriod, until the context ends. It does so even if "+
		"nothing happens, and if ShouldResync is nil.", func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a").run()
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls(), "calls of the store at the start")
		w.pass(59 * time.Second)
		require.Empty(t, w.store.calls(), "calls of the store in the first 59 seconds")
		w.pass(time.Second)
		require.Equal(t, []string{"Resync"}, w.store.calls(), "calls of the store when the period has passed")
		w.pass(3 * time.Minute)
		require.Equal(t, []string{"Resync", "Resync", "Resync"}, w.store.calls(),
			"calls of the store in the next 3 periods")
		t.Rule("A resync sends no request: it is between the Reflector and the store.")
		require.Equal(t, []string{"list@0", "watch@2"}, w.requests(), "requests to the server")

		t.Rule("resync calls the store's Resync once each resyncPeriod while ListAndWatchWithContext watches. Before the " +
			"first list the store has nothing to go over.")
		s, st := &script{}, &store{}
		s.lists = append(s.lists, func(o metav1.ListOptions) (runtime.Object, error) {
			time.Sleep(10 * time.Minute)
			return lists("7")(o)
		})
		t.Did("ListAndWatchWithContext with a period of a minute; the list takes ten")
		listAndWatchFor(t, newResyncing(s, st, time.Minute), 11*time.Minute+30*time.Second)
		require.Equal(t, []string{"Replace [] @7", "Resync"}, st.calls(), "calls of the store in 11 minutes and a half")

		w.stop() // otherwise its server would be busy for hundreds of hours
		for _, version := range []string{"7", ""} {
			for _, period := range []time.Duration{10 * time.Millisecond, 100 * time.Hour} {
				t.Rule("resync calls the store's Resync once each resyncPeriod, however short or long it is, with or without " +
					"a version.")
				s, st = &script{}, &store{}
				s.lists = append(s.lists, lists(version))
				t.Did("ListAndWatchWithContext with a period of %v, for 3.5 periods; the list has version %q", period, version)
				listAndWatchFor(t, newResyncing(s, st, period), 7*period/2)
				require.Equal(t, []string{"Replace [] @" + version, "Resync", "Resync", "Resync"}, st.calls(),
					"calls of the store")
			}
		}
	})
}

func TestTask5_No_period_no_resync(t *testing.T) {
	guard.Test(t, "With a period of 0 there is no resync.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.store.calls()
		w.pass(24 * time.Hour)
		require.Empty(t, w.store.calls(), "calls of the store in a day")
	})
}

func TestTask5_Version_can_be_asked_for_during_a_resync(t *testing.T) {
	const rule = "LastSyncResourceVersion may be called from any goroutine, during a resync too: it does not wait for it."
	guard.Test(t, rule, func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends())
		r := newResyncing(s, st, 48*time.Hour)
		var seen []string
		st.onCall = func(call string) error {
			seen = append(seen, call+" at "+r.LastSyncResourceVersion())
			return nil
		}
		r.ShouldResync = func() bool {
			seen = append(seen, "ShouldResync at "+r.LastSyncResourceVersion())
			return true
		}
		t.Did("a resync period of two days; the store and ShouldResync ask for the version during each call")
		listAndWatchFor(t, r, 49*time.Hour)
		require.Equal(t, []string{"Replace [] @7 at ", "ShouldResync at 7", "Resync at 7"}, seen,
			"calls of the store and of ShouldResync in 49 hours")

		t.Rule("LastSyncResourceVersion may be called from any goroutine. An event that comes during a long resync does " +
			"not change that.")
		s, st = &script{}, &store{}
		c := s.channel()
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return c, nil })
		r = newResyncing(s, st, time.Hour)
		takeAMinute := func(version string) {
			c.send(event(watch.Modified, "a", version))
			time.Sleep(time.Minute)
		}
		st.onCall = func(call string) error {
			if call == "Resync" {
				takeAMinute("9")
			}
			return nil
		}
		r.ShouldResync = func() bool { takeAMinute("8"); return true }
		t.Did("ShouldResync and Resync take a minute each, and an event comes during each")
		t.Go(func() { listAndWatchFor(t, r, 2*time.Hour) })
		time.Sleep(time.Hour + 30*time.Second)
		require.Contains(t, []string{"7", "8"}, r.LastSyncResourceVersion(), "LastSyncResourceVersion during ShouldResync")
		time.Sleep(time.Minute)
		require.Contains(t, []string{"7", "8", "9"}, r.LastSyncResourceVersion(), "LastSyncResourceVersion during Resync")
	})
}

func TestTask5_ShouldResync_is_asked(t *testing.T) {
	guard.Test(t, "ShouldResync is called before each resync, which is skipped if it returns false. In an "+
		"informer with handlers of different periods it returns false most of the time.", func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: time.Minute}, "a")
		asked := 0
		w.r.ShouldResync = func() bool { asked++; return asked%2 == 0 }
		w.run()
		w.store.calls()
		w.did("ShouldResync answers false, true, false, true")
		w.pass(time.Minute)
		require.Empty(t, w.store.calls(), "calls of the store after the 1st answer")
		w.pass(3 * time.Minute)
		require.Equal(t, []string{"Resync", "Resync"}, w.store.calls(), "calls of the store after the next 3 answers")
		require.Equal(t, 4, asked, "calls of ShouldResync in 4 periods")
	})
}

func TestTask5_Resync_goes_on_through_watches(t *testing.T) {
	guard.Test(t, "resync calls the store's Resync once each resyncPeriod, until the context ends. The period goes on "+
		"when a watch ends: watches last five to ten minutes, so a longer period would never pass.", func(t *guard.T) {
		w := newWorldWith(t, cache.ReflectorOptions{ResyncPeriod: 10 * time.Minute}, "a").run()
		w.store.calls()
		w.pass(time.Hour)
		require.Len(t, w.store.calls(), 6, "calls of the store in an hour, with a period of 10 minutes")

		t.Rule("resync calls the store's Resync once each resyncPeriod, until the context ends. The period goes on when an " +
			"event comes: in a busy cluster a longer period would never pass.")
		w.did("an hour passes, with an event each minute")
		resyncs := 0
		for i := range 60 {
			time.Sleep(time.Minute)
			w.server.Create(deployment("a" + strconv.Itoa(i)))
		}
		calls := w.store.calls()
		for _, call := range calls {
			if call == "Resync" {
				resyncs++
			}
		}
		require.Len(t, calls, 66, "calls of the store in an hour with sixty events")
		require.Equal(t, 6, resyncs, "calls of Resync in an hour with sixty events")

		t.Rule("resync calls the store's Resync once each resyncPeriod, even if an event came just before.")
		time.Sleep(10*time.Minute - time.Millisecond)
		w.store.calls()
		w.update("a")
		w.pass(time.Millisecond)
		require.Contains(t, w.store.calls(), "Resync", "calls of the store in the millisecond in which a period ends")
	})
}

func TestTask5_Period_starts_when_a_resync_has_ended(t *testing.T) {
	guard.Test(t, "The next period starts when a resync has ended. Otherwise a store that takes longer than the "+
		"period does nothing else.", func(t *guard.T) {
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
		require.Equal(t, []string{"1m0s", "3m30s"}, durations(moments), "times at which Resync was called")
		w.pass(time.Minute) // until the resync that is under way has ended
	})
}

// durations shows durations in words.
func durations(all []time.Duration) (texts []string) {
	for _, d := range all {
		texts = append(texts, d.String())
	}
	return texts
}

func TestTask5_Running_resync_is_waited_for(t *testing.T) {
	guard.Test(t, "When ListAndWatchWithContext returns, nothing of it is left: no watch, no goroutine and no "+
		"call of the store. It waits for a running resync, because the caller may close the store.", func(t *guard.T) {
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
		r := newResyncing(s, st, time.Minute)
		t.Did("ListAndWatchWithContext; a resync takes ten seconds, and the context ends in the middle of it")
		listAndWatchFor(t, r, 65*time.Second)
		returned := under
		time.Sleep(time.Minute)
		require.False(t, returned, "a resync was still running when ListAndWatchWithContext returned")
	})
}

func TestTask5_Resync_ends_when_a_list_is_due(t *testing.T) {
	guard.Test(t, "When ListAndWatchWithContext returns, nothing of it is left: no watch, no goroutine and no "+
		"call of the store. Otherwise each list adds one more resync per period.", func(t *guard.T) {
		s, st := &script{}, &store{}
		r := newResyncing(s, st, time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for range 3 {
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
				c := s.channel()
				time.AfterFunc(2500*time.Millisecond, func() { c.send(failing(errExpired)) })
				return c, nil
			})
			t.Did("ListAndWatchWithContext with a period of a second; after 2.5s the watch brings 410; the context goes on")
			start := time.Now()
			r.ListAndWatchWithContext(ctx)
			require.Equal(t, 2500*time.Millisecond, time.Since(start), "time until ListAndWatchWithContext returned")
			t.Did("three seconds pass")
			time.Sleep(3 * time.Second)
			require.Equal(t, []string{"Replace [] @7", "Resync", "Resync"}, st.calls(), "calls of the store")
		}

		s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, watchFails(unavailable))
		t.Did("ListAndWatchWithContext; the watch is answered 503; an hour passes")
		require.Error(t, r.ListAndWatchWithContext(ctx), "the error of ListAndWatchWithContext")
		time.Sleep(50 * time.Minute)
		require.Equal(t, []string{"Replace [] @7"}, st.calls(), "calls of the store")
	})
}

func TestTask5_Resync_ends_with_the_watch(t *testing.T) {
	guard.Test(t, "When ListAndWatchWithContext returns, nothing of it is left: no watch, no goroutine and no call of "+
		"the store. No resync comes after it.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		r := newResyncing(s, st, time.Second)
		t.Did("ListAndWatchWithContext with a period of a second; the context ends after two and a half")
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		r.ListAndWatchWithContext(ctx)
		require.Equal(t, []string{"Replace [] @7", "Resync", "Resync"}, st.calls(), "calls of the store in 2.5s")
		t.Did("an hour passes")
		time.Sleep(time.Hour)
		require.Empty(t, st.calls(), "calls of the store after the end")

		t.Rule("When ListAndWatchWithContext returns, nothing of it is left: no watch, no goroutine and no call of the " +
			"store, even if the store has panicked: a program may recover, and go on.")
		s = &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8")))
		st.onCall = func(call string) error {
			if call == "Add a@8" {
				panic("the store is confused")
			}
			return nil
		}
		t.Did("ListAndWatchWithContext; the store panics in Add, the caller recovers, and an hour passes")
		require.Panics(t, func() { newResyncing(s, st, time.Second).ListAndWatchWithContext(t.Context()) },
			"ListAndWatchWithContext")
		time.Sleep(time.Hour)
		require.Equal(t, []string{"Replace [] @7", "Add a@8"}, st.calls(), "calls of the store")
	})
}

func TestTask5_Nothing_is_left_of_each_resync(t *testing.T) {
	guard.Test(t, "When ListAndWatchWithContext returns, nothing of it is left: no watch, no goroutine and no call of "+
		"the store. A Reflector may list a hundred times while its context lives.", func(t *guard.T) {
		s := &script{}
		for range 200 {
			s.lists = append(s.lists, lists("7"))
		}
		t.Did("RunWithContext with a period of a second; the store refuses each resync, and 110 lists follow")
		requireNoLeak(t, s, newResyncing(s, &store{onCall: refuseResync}, time.Second), "list")
	})
}

func TestTask5_Resync_does_not_poll(t *testing.T) {
	guard.Test(t, "Between two events the Reflector does no work. A resync is an event that comes once each "+
		"period.", func(t *guard.T) {
		var asked atomic.Int64
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, &store{},
			cache.ReflectorOptions{ResyncPeriod: 10 * time.Minute, Clock: countedClock{asked: &asked}})
		t.Did("ListAndWatchWithContext with a period of 10 minutes, and an hour in which the watch brings nothing")
		t.Go(func() { r.ListAndWatchWithContext(counted{ctx, &asked}) })
		time.Sleep(time.Minute)
		synctest.Wait()
		before := asked.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.LessOrEqual(t, asked.Load()-before, int64(40),
			"calls of the clock and of the context's Done and Err in an hour")
	})
}

// countedClock is the real clock, and counts how often it is asked.
type countedClock struct {
	clock.RealClock
	asked *atomic.Int64
}

func (c countedClock) Now() time.Time { c.asked.Add(1); return c.RealClock.Now() }

func (c countedClock) Sleep(d time.Duration) { c.asked.Add(1); c.RealClock.Sleep(d) }

func (c countedClock) After(d time.Duration) <-chan time.Time {
	c.asked.Add(1)
	return c.RealClock.After(d)
}

func (c countedClock) NewTimer(d time.Duration) clock.Timer {
	c.asked.Add(1)
	return c.RealClock.NewTimer(d)
}
