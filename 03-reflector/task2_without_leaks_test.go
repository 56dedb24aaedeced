package reflector_test

// Task 2: leaks, needless work, and the end of the context.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Nothing_is_left_of_each_watch(t *testing.T) {
	guard.Test(t, "Nothing is left of a watch that has ended: no goroutine, and no registration at the context. A "+
		"Reflector starts two hundred watches a day on one context.", func(t *guard.T) {
		for _, what := range []string{"ends", "brings 410"} {
			t.Story(8)
			s := &script{}
			s.lists = append(s.lists, lists("7"))
			for i := range 200 {
				version := fmt.Sprint(8 + i)
				if what == "ends" {
					s.watches = append(s.watches, s.ends(event(watch.Modified, "a", version)))
				} else {
					s.watches = append(s.watches, s.sends(expiredEvent()))
					s.lists = append(s.lists, lists(version))
				}
			}
			t.Did("RunWithContext; each of 110 watches %s", what)
			requireNoLeak(t, s, newScripted(s, &store{}), "watch")
		}
	})
}

func TestTask2_Events_are_not_kept(t *testing.T) {
	guard.Test(t, "An event that the store has received is not kept: its object stays in memory only as long "+
		"as the store keeps it.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		c := s.channel()
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return c, nil })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := newScripted(s, &store{})
		t.Did("ListAndWatchWithContext; the watch sends a hundred events; the store keeps none of the objects")
		t.Go(func() { r.ListAndWatchWithContext(ctx) })
		var objects []weak.Pointer[appsv1.Deployment]
		for i := range 100 {
			e := event(watch.Modified, "a", fmt.Sprint(8+i))
			objects = append(objects, weak.Make(e.Object.(*appsv1.Deployment)))
			c.send(e)
		}
		synctest.Wait()
		runtime.GC()
		runtime.GC()
		kept := 0
		for _, object := range objects {
			if object.Value() != nil {
				kept++
			}
		}
		require.Less(t, kept, 5, "objects of the hundred events that are still in memory")
		runtime.KeepAlive(r)
	})
}

func TestTask2_Quiet_watch_does_no_work(t *testing.T) {
	guard.Test(t, "Between two events the Reflector does no work: a process with a hundred quiet informers must be "+
		"able to sleep.", func(t *guard.T) {
		var asked atomic.Int64
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			c := s.channel()
			c.asked = &asked
			return c, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		t.Did("ListAndWatchWithContext, and an hour in which the watch brings nothing")
		r := newScripted(s, &store{})
		t.Go(func() { r.ListAndWatchWithContext(counted{ctx, &asked}) })
		time.Sleep(time.Minute)
		synctest.Wait()
		before := asked.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.LessOrEqual(t, asked.Load()-before, int64(10),
			"calls of the context's Done and Err and of the watch's ResultChan in an hour")
	})
}

func TestTask2_Blocked_watch_ends_with_the_context(t *testing.T) {
	guard.Test(t, "When the context ends, every request, watch and wait ends at once. A server behind a dead "+
		"load balancer does not answer at all.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		lw := unanswered{s}
		r := newReflector(lw, &store{})
		t.Did("ListAndWatchWithContext; the watch is not answered, and the context ends after a minute")
		start := time.Now()
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, time.Minute, time.Since(start), "time until ListAndWatchWithContext returned")
	})
}

// unanswered is a source that does not answer a watch before its context ends or a day has passed.
type unanswered struct{ *script }

func (u unanswered) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if err := u.ask(ctx, "watch@", options); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(24 * time.Hour):
		return nil, errors.New("too late")
	}
}

func TestTask2_Watch_that_the_context_ends_is_no_error(t *testing.T) {
	guard.Test(t, "The end of the context is not an error, nor is it while a watch is being opened.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		t.Did("ListAndWatchWithContext; the watch is not answered, and the context ends after a minute")
		err := listAndWatchFor(t, newReflector(unanswered{s}, &store{}), time.Minute)
		require.NoError(t, err, "the error of ListAndWatchWithContext")

		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			time.Sleep(time.Hour)
			return nil, errors.New("use of closed network connection")
		})
		t.Did("ListAndWatchWithContext; the watch fails after an hour, and the context ends after a minute")
		err = listAndWatchFor(t, newScripted(s, &store{}), time.Minute)
		require.NoError(t, err, "the error of ListAndWatchWithContext after a watch that failed late")
	})
}

func TestTask2_Busy_watch_ends_with_the_context(t *testing.T) {
	guard.Test(t, "When the context ends, every request, watch and wait ends at once, even if the next event is always "+
		"ready.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		c := s.channel(event(watch.Added, "a", "8"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return c, nil })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events := 0
		st.onCall = func(call string) error {
			if call == "Replace [] @7" {
				return nil
			}
			if events++; events < 1000 {
				c.send(event(watch.Modified, "a", fmt.Sprint(8+events)))
			}
			cancel()
			return nil
		}
		t.Did("ListAndWatchWithContext; during each of a thousand events the next one comes; the context ends during the " +
			"first")
		newScripted(s, st).ListAndWatchWithContext(ctx)
		require.Less(t, events, 100, "events that the store received")
	})
}

func TestTask2_Every_watch_is_stopped(t *testing.T) {
	guard.Test(t, "However a watch ends, the Reflector stops it. An open watch that nothing reads keeps a "+
		"connection and two goroutines (#131266).", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), lists("8"), lists("9"), lists("10"))
		s.watches = append(s.watches, s.ends(event(watch.Added, "a", "8")), s.ends(), s.sends(expiredEvent()), s.sends())
		t.Did("RunWithContext; a watch ends after an event, one ends at once, one brings an ERROR, and one goes on until " +
			"the context ends")
		runFor(t, newScripted(s, &store{}), time.Hour)
		require.Equal(t, 4, s.started, "watches that were started")
		require.Equal(t, 0, s.left(), "watches that were not stopped")

		t.Rule("However a watch ends, the Reflector stops it, even if the context ended before the watch was answered.")
		s = &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			time.Sleep(time.Hour)
			return s.channel(), nil
		})
		t.Did("ListAndWatchWithContext; the watch is answered after an hour, and the context ends after a minute")
		listAndWatchFor(t, newScripted(s, &store{}), time.Minute)
		require.Equal(t, 0, s.left(), "watches that were not stopped")

		t.Rule("When ListAndWatchWithContext returns, nothing of it is left: no watch, no goroutine and no call of the " +
			"store. It waits for a Stop that takes long.")
		s = &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			return slowToStop{s.ending(event(watch.Added, "a", "8"), expiredEvent()), func() {}}, nil
		})
		t.Did("ListAndWatchWithContext; the watch brings 410, and its Stop takes ten seconds")
		listAndWatchFor(t, newScripted(s, &store{}), time.Minute)
		left := s.left()
		time.Sleep(time.Minute) // until every Stop has returned
		require.Equal(t, 0, left, "watches that were not stopped")

		t.Rule("LastSyncResourceVersion may be called from any goroutine, while the Reflector stops a watch too.")
		s.lists = append(s.lists, lists("7"))
		r := newScripted(s, &store{})
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			return slowToStop{s.ending(expiredEvent()), func() { r.LastSyncResourceVersion() }}, nil
		})
		t.Did("the same; Stop asks for LastSyncResourceVersion")
		require.NoError(t, listAndWatchFor(t, r, time.Minute), "the error of ListAndWatchWithContext")

		t.Rule("However a watch ends, the Reflector stops it, even if the store panics: a program may recover, and go on.")
		s = &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8")))
		st := &store{onCall: func(call string) error {
			if call == "Add a@8" {
				panic("the store is confused")
			}
			return nil
		}}
		t.Did("ListAndWatchWithContext; the store panics in Add, and the caller recovers")
		require.Panics(t, func() { listAndWatchFor(t, newScripted(s, st), time.Minute) }, "ListAndWatchWithContext")
		require.Equal(t, 0, s.left(), "watches that were not stopped")

		t.Rule("LastSyncResourceVersion returns the version of the last list, event or bookmark that the store has " +
			"received, after a panic of the store too: nothing is left locked.")
		for _, call := range []string{"Replace [] @7", "Add a@8", "Update a@9", "Delete a@10"} {
			t.Story(8)
			s = &script{}
			s.lists = append(s.lists, lists("7"), lists("11"))
			s.watches = append(s.watches, s.ends(event(watch.Added, "a", "8"), event(watch.Modified, "a", "9"),
				event(watch.Deleted, "a", "10")))
			st.onCall = func(now string) error {
				if now == call {
					panic("the store is confused")
				}
				return nil
			}
			r := newScripted(s, st)
			t.Did("ListAndWatchWithContext; the store panics in %s, and the caller recovers", call)
			require.Panics(t, func() { listAndWatchFor(t, r, time.Minute) }, "ListAndWatchWithContext")
			t.Did("ListAndWatchWithContext again: a list at 11")
			s.watches = nil
			listAndWatchFor(t, r, time.Minute)
			require.Equal(t, "11", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the list at 11")
		}
	})
}

// slowToStop is a watch whose Stop takes ten seconds, and then calls stopping.
type slowToStop struct {
	watch.Interface
	stopping func()
}

func (w slowToStop) Stop() {
	time.Sleep(10 * time.Second)
	w.stopping()
	w.Interface.Stop()
}

func TestTask2_Cancel_ends_it_at_once(t *testing.T) {
	guard.Test(t, "When the context ends, every request, watch and wait ends at once: a program that stops has "+
		"thirty seconds for everything.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.pass(time.Minute)
		w.did("the context is cancelled")
		w.stop()
		require.True(t, w.hasEnded(), "RunWithContext has returned")
		require.Equal(t, 0, w.server.Watches(), "open watches after the end")
		w.create("b")
		w.store.calls()
		require.Equal(t, []string{"list@0", "watch@2"}, w.requests(), "requests to the server")

		t.Rule("When the context ends, every request, watch and wait ends at once, even if the watch " +
			"ignores the context.")
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		deaf := s.channel()
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return deaf, nil })
		r := newScripted(s, &store{})
		ctx, cancel := context.WithCancel(t.Context())
		var returned atomic.Bool
		t.Did("ListAndWatchWithContext with a watch that ignores the context, which is cancelled")
		t.Go(func() {
			r.ListAndWatchWithContext(ctx)
			returned.Store(true)
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		prompt := returned.Load()
		deaf.end()
		require.True(t, prompt, "ListAndWatchWithContext has returned")

		t.Rule("When the context ends, every request, watch and wait ends at once, and no watch starts: the source may " +
			"ignore the context.")
		for call, want := range guard.InOrder(map[string][]string{
			"Replace [] @7": {"list@0"},
			"Add a@8":       {"list@0", "watch@7"},
		}) {
			for range 20 { // a select between the end of the watch and that of the context chooses at random
				t.Story(8)
				s := &script{}
				s.lists = append(s.lists, lists("7"))
				s.watches = append(s.watches, s.ends(event(watch.Added, "a", "8")), s.sends())
				ctx, cancel := context.WithCancel(t.Context())
				st := &store{onCall: func(now string) error {
					if now == call {
						cancel()
					}
					return nil
				}}
				t.Did("ListAndWatchWithContext; a watch brings a@8, and ends; the context ends during %s", call)
				newScripted(s, st).ListAndWatchWithContext(ctx)
				require.Equal(t, want, s.requests(), "requests to the source")
			}
		}
	})
}
