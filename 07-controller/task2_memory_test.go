package controller_test

// Task 2: the memory of delivered notifications, the report of a panic, and which additions are initial.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
)

// inMemory returns how many objects the garbage collector does not free.
func inMemory[T any](all []weak.Pointer[T]) int {
	count := 0
	for range 3 { // a first collection may have begun too early
		runtime.GC()
		count = 0
		for _, p := range all {
			if p.Value() != nil {
				count++
			}
		}
	}
	return count
}

func TestTask2_Delivered_notifications_can_be_freed(t *testing.T) {
	guard.Test(t, "A delivered notification can be freed: the states of deleted objects must not stay in memory.",
		func(t *guard.T) {
			w := newWorld(t)
			door, middle, states := gate.New(t), gate.New(t), []weak.Pointer[appsv1.Deployment]{}
			keep := func(obj any) {
				if door.Wait(); len(states) == 80 {
					middle.Wait()
				}
				states = append(states, weak.Make(obj.(*appsv1.Deployment)))
			}
			w.register(cache.ResourceEventHandlerFuncs{AddFunc: keep, UpdateFunc: func(_, new any) { keep(new) }})
			w.run()
			t.Did("fifty Deployments are created, changed and deleted, while the handler does not return")
			for i := range 50 {
				d := deployment(fmt.Sprint("d", i))
				w.Create(d)
				synctest.Wait()
				d.Annotations = map[string]string{"changed": "yes"}
				w.Update(d)
				synctest.Wait()
				w.Delete(d)
				synctest.Wait()
			}
			t.Did("the handler returns 80 times")
			door.Open()
			synctest.Wait()
			require.LessOrEqual(t, inMemory(states), 10, "states of 80 that are still in memory, all delivered and deleted")
			t.Did("the handler receives the rest")
			middle.Open()
			synctest.Wait()
			require.Len(t, states, 100, "the states that the handler received")
			// What came last may be in a variable of a goroutine that waits for more.
			require.LessOrEqual(t, inMemory(states), 10, "states of 100 that are still in memory, all delivered and deleted")
			runtime.KeepAlive(w.informer)
		})
}

func TestTask2_Panic_is_reported_with_the_handlers_logger(t *testing.T) {
	guard.Apart(t, "A panic of the handler is reported to utilruntime, with the handler's "+
		"logger.", func(t *guard.T) {
		crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
		t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers })
		reported := []any{}
		utilruntime.ReallyCrash = false
		utilruntime.PanicHandlers = []func(context.Context, any){func(ctx context.Context, problem any) {
			reported = append(reported, problem)
			klog.FromContext(ctx).Info("panicked")
		}}
		logger := ktesting.NewLogger(ktesting.NopTL{}, ktesting.NewConfig(ktesting.BufferLogs(true)))
		w := newWorld(t)
		t.Did("AddEventHandlerWithOptions, with a logger; panics do not end the program (runtime.ReallyCrash is off)")
		_, err := w.informer.AddEventHandlerWithOptions(
			&handler{before: func(string) { panic("a bug in a handler") }}, cache.HandlerOptions{Logger: &logger})
		require.NoError(t, err, "the error of AddEventHandlerWithOptions")
		w.run()
		for i, do := range []func(...string){w.create, w.change, w.remove} {
			do("a")
			w.pass(time.Second)
			require.Len(t, reported, i+1, "the panics that were reported")
			require.Equal(t, "a bug in a handler", reported[i], "the panic that was reported last")
			logged := logger.GetSink().(ktesting.Underlier).GetBuffer().Data()
			require.Len(t, logged, i+1, "lines in the handler's log")
		}
	})
}

func TestTask2_Panic_ends_the_program(t *testing.T) {
	guard.Crash(t, "A panic in a handler ends the program, like any panic in Kubernetes: HandleCrash logs it and panics "+
		"again.", "a bug in a handler", func(t *guard.T) {
		w := newWorld(t, "a")
		w.register(&handler{before: func(string) { panic("a bug in a handler") }})
		t.Did("the handler panics at a")
		w.run()
		w.pass(time.Minute)
	})
}

func TestTask2_Panic_loses_one_notification(t *testing.T) {
	guard.Apart(t, "If utilruntime.ReallyCrash is off, the notification is lost, and run continues after a second: with "+
		"all the others that wait.", func(t *guard.T) {
		defer replace(&utilruntime.ReallyCrash, false)()
		defer replace(&utilruntime.PanicHandlers, nil)() // they would print the stack
		w, names := newWorld(t), numbered(300)
		h := &handler{before: func(note string) {
			if strings.Contains(note, "bad@") {
				panic("a bug in a handler")
			}
		}}
		w.register(h)
		w.run()
		t.Did("the handler panics at one object, and then 300 others are created")
		w.Create(deployment("bad"))
		for _, name := range names {
			w.Create(deployment(name))
		}
		w.pass(2 * time.Second)
		require.Len(t, h.calls(), len(names), "the handler's calls after the panic")
	})
}

func TestTask2_Failure_concerns_no_earlier_change(t *testing.T) {
	for method, want := range guard.InOrder(map[string][]string{
		"Update": {"add bad@3"}, "Delete": {"add bad@3", "update bad@3 to bad@4"},
	}) {
		for _, panics := range []bool{false, true} {
			t.Run(fmt.Sprint(method, " panics ", panics), func(t *testing.T) {
				guard.Apart(t, "Each handler receives every change, in order: of several deltas of one object, one fails, and "+
					"the store has the earlier ones.", func(t *guard.T) {
					defer replace(&utilruntime.ReallyCrash, false)()
					defer replace(&utilruntime.PanicHandlers, nil)() // they would print the stack
					store, queue := &failingIndexer{method: method, panics: panics}, slowFirst{door: gate.New(t)}
					w := newWorld(t, "a")
					w.informer = newInformer(queue.under(store.under(below)), w.source())
					h := w.handle()
					w.run()
					t.Did("the queue waits with the first list")
					w.create("bad")
					w.change("bad")
					w.remove("bad")
					t.Did("the queue goes on, with an addition, a change and a deletion in one; %s of the indexer fails", method)
					queue.door.Open()
					w.pass(time.Minute)
					require.Subset(t, h.calls(), append(want, "first a@2"), "the handler's calls")
				})
			})
		}
	}
}

func TestTask2_Finished_if_it_ended_before_it_began(t *testing.T) {
	guard.Test(t, "ShutdownChan returns a channel that is closed when the handler will not be called again: here the "+
		"context has ended before RunWithContext.", func(t *guard.T) {
		w := newWorld(t, "a")
		finished := w.register(&handler{}).(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		t.Did("RunWithContext, with a context that has ended")
		w.informer.RunWithContext(ctx)
		require.True(t, isClosed(finished), "ShutdownChan is closed")
	})
}

func TestTask2_Changes_while_others_wait(t *testing.T) {
	guard.Test(t, "Each handler receives every change, in order: changes that arrive during a call do not "+
		"replace earlier ones.", func(t *guard.T) {
		w := newWorld(t)
		turn := make(chan struct{})
		h := w.handle()
		h.before = func(string) { <-turn }
		w.run()
		w.create("a")
		t.Did("b, c and d come while the handler works on a")
		w.create("b")
		w.create("c")
		w.create("d")
		select {
		case turn <- struct{}{}:
		default:
			require.Fail(t, "the handler was not called with a")
		}
		synctest.Wait()
		t.Did("e, f and g come while it works on b")
		w.create("e")
		w.create("f")
		w.create("g")
		close(turn)
		require.Equal(t, []string{"add a@2", "add b@3", "add c@4", "add d@5", "add e@6", "add f@7", "add g@8"}, h.calls(),
			"the handler's calls")
	})
}

func TestTask2_Only_the_first_list_is_initial(t *testing.T) {
	guard.Test(t, "Only additions of the first list have isInInitialList.", func(t *guard.T) {
		w := newWorld(t, "a")
		h := w.handle()
		w.run()
		require.Equal(t, []string{"first a@2"}, h.calls(), "the handler's calls for the first list")
		w.away(func() { w.create("b") })
		require.Equal(t, []string{"add b@3"}, without("again", h.calls()),
			"the handler's calls after the outage, without resyncs")
		t.Did("another informer, whose queue reports late that the first list is through")
		w = newWorld(t, "a")
		w.informer = newInformer(lateSynced{door: gate.New(t)}.under(below), w.source())
		h = w.handle()
		w.run()
		w.create("b")
		require.Equal(t, []string{"first a@2", "add b@3"}, h.calls(), "the handler's calls")
	})
}

// fedWorld is a world with a Deployment a, whose queue calls feed now. It passes two states of a to the consumer.
func fedWorld(t *guard.T, h cache.ResourceEventHandler, feed func(update func(round int))) (w *world, fed bool) {
	w, queue := newWorld(t, "a"), &fedQueue{}
	w.informer = newInformer(queue.under(below), w.source())
	w.register(h)
	w.run()
	states := []*appsv1.Deployment{generationOf("1", 1), generationOf("2", 2)}
	queue.feed = func(process func(...cache.Delta)) {
		feed(func(round int) { process(cache.Delta{Type: cache.Updated, Object: states[round%2]}) })
	}
	w.change("a")
	return w, queue.fed
}

// The moment between a look at the notifications and the wait has no hook. So each change comes at a random moment
// after the handler has been called, and some of them in that one. Between two, the feeder turns for a short time only:
// where one processor is free, the handler gets it then.
func TestTask2_Notification_that_comes_before_the_wait(t *testing.T) {
	guard.Test(t, "run calls the handler with each notification: one that comes just before run waits for more is not "+
		"left until the next one comes.", func(t *guard.T) {
		rounds := 150_000
		if guard.Brief || guard.RaceDetector {
			rounds = 3_000
		}
		var called, delay atomic.Int64
		again, door := make(chan struct{}, 1), gate.New(t)
		h := cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
			called.Add(1)
			select {
			case again <- struct{}{}:
			default:
			}
			for range delay.Load() {
				delay.Load()
			}
		}}
		t.Did("%d changes: each when the handler returns from the one before, and run is about to wait", rounds)
		_, fed := fedWorld(t, h, func(update func(int)) {
			for round := range rounds {
				for turns := 0; called.Load() <= int64(round); turns++ {
					if turns < 10_000 {
						continue
					}
					select {
					case <-again:
					case <-door:
						return
					}
				}
				update(round)
				delay.Store(rand.Int64N(4_000))
			}
		})
		synctest.Wait()
		if fed {
			require.Equal(t, rounds+1, int(called.Load()), "calls of the handler")
		}
	})
}

func TestTask2_Many_wait_for_a_slow_handler(t *testing.T) {
	guard.Test(t, "A slow or stuck handler costs memory and nothing else: a call takes no longer when many "+
		"notifications wait.", func(t *guard.T) {
		waiting, door, calls := guard.Times(200_000, 50_000), gate.New(t), 0
		h := cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { calls++; door.Wait() }}
		t.Did("%d changes while the handler does not return", waiting)
		_, fed := fedWorld(t, h, func(update func(int)) {
			for round := range waiting {
				update(round)
			}
		})
		door.Open()
		synctest.Wait()
		if fed {
			require.Equal(t, waiting+1, calls, "calls of the handler")
		}
	})
}
