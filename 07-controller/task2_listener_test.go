package controller_test

// Task 2: a handler, and the queue before it.

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Handler_receives_every_change_in_order(t *testing.T) {
	guard.Test(t, "Each handler receives every change, in order. A deletion has the last state of the "+
		"object.", func(t *guard.T) {
		w := newWorld(t, "a")
		h := w.handle()
		w.run()
		w.create("b")
		w.change("a")
		w.remove("b")
		require.Equal(t, []string{"first a@2", "add b@3", "update a@2 to a@4", "delete b@5"}, h.calls(),
			"the handler's calls")
	})
}

// without leaves out the notes that begin with a word.
func without(word string, notes []string) []string {
	kept := []string{}
	for _, note := range notes {
		if !strings.HasPrefix(note, word+" ") {
			kept = append(kept, note)
		}
	}
	return kept
}

func TestTask2_Store_changes_before_handlers_are_called(t *testing.T) {
	guard.Test(t, "The store changes first, then the handlers: a handler that receives a change finds it "+
		"in the store.", func(t *guard.T) {
		w := newWorld(t, "a")
		var found []string
		look := func(obj any) {
			require.IsType(t, &appsv1.Deployment{}, obj, "the handler's object")
			d := obj.(*appsv1.Deployment)
			stored, exists, _ := w.informer.GetStore().GetByKey("default/" + d.Name)
			if exists {
				found = append(found, name(stored))
			} else {
				found = append(found, "no "+d.Name)
			}
		}
		w.register(cache.ResourceEventHandlerFuncs{
			AddFunc: look, UpdateFunc: func(_, new any) { look(new) }, DeleteFunc: look,
		})
		w.run()
		w.change("a")
		w.remove("a")
		require.Equal(t, []string{"a@2", "a@3", "no a"}, found, "the object in the store at each call")
	})
}

func TestTask2_Handlers_wait_for_each_write(t *testing.T) {
	for _, c := range []struct {
		title, of string
		change    func(w *world)
		want      []string
	}{
		{"an addition", "b", func(w *world) { w.create("b") }, []string{"add b@3"}},
		{"an update", "a", func(w *world) { w.change("a") }, []string{"update a@2 to a@3"}},
		{"a deletion", "a", func(w *world) { w.remove("a") }, []string{"delete a@3"}},
		{"an addition in a list", "b", func(w *world) { w.away(func() { w.create("b") }) }, []string{"add b@3"}},
		{"an update in a list", "a", func(w *world) { w.away(func() { w.change("a") }) }, []string{"update a@2 to a@3"}},
		{"a deletion that was missed", "a", func(w *world) { w.away(func() { w.remove("a") }) },
			[]string{"tombstone of default/a, last a@2"}},
	} {
		t.Run(c.title, func(t *testing.T) {
			guard.Test(t, "The store changes first, then the handlers: a handler that receives a change "+
				"finds it in the store, so no handler receives it earlier.", func(t *guard.T) {
				w, writes := newWorldOfWrites(t, "a")
				h := w.handle()
				w.run()
				require.Equal(t, []string{"first a@2"}, h.calls(), "the handler's calls for the first list")
				t.Did("the next write of %s to the store takes long", c.of)
				door := writes.hold(t, c.of)
				c.change(w)
				early := without("again", h.calls())
				if writes.isHolding() {
					require.Empty(t, early, "the handler's calls while the store is about to change")
				}
				t.Did("the store has changed")
				door.Open()
				t.Rule("Each handler receives every change, in order. A deletion that the watch missed reaches the handlers as a " +
					"tombstone.")
				require.Equal(t, c.want, append(early, without("again", h.calls())...), "the handler's calls")
			})
		})
	}
}

func TestTask2_Handlers_wait_for_the_first_write(t *testing.T) {
	guard.Test(t, "The store changes first, then the handlers: a handler that receives a change finds it in the store, "+
		"in the first list too.", func(t *guard.T) {
		w, writes := newWorldOfWrites(t, "a", "b")
		h := w.handle()
		t.Did("the first write of a to the store takes long")
		door := writes.hold(t, "a")
		w.run()
		early := h.calls()
		require.NotContains(t, early, "first a@2", "the handler's calls while the store is about to change")
		t.Did("the store has changed")
		door.Open()
		require.ElementsMatch(t, []string{"first a@2", "first b@3"}, append(early, h.calls()...), "the handler's calls")
	})
}

func TestTask2_Write_that_fails_is_no_change(t *testing.T) {
	for _, method := range []string{"Add", "Update", "Delete"} {
		t.Run(method, func(t *testing.T) {
			guard.Test(t, "The store changes first, then the handlers: a handler that receives a change finds it in the "+
				"store, so it does not receive one that the store has refused.", func(t *guard.T) {
				w := newWorld(t)
				store := &failingIndexer{method: method}
				w.informer = newInformer(store.under(below), w.source())
				h := w.handle()
				w.run()
				t.Did("%s of the indexer fails for one object", method)
				// All of them, if the informer does not take the layers that it is given, as client-go's.
				want := []string{"add bad@2", "update bad@2 to bad@3", "delete bad@4"}
				for i, step := range []func(...string){w.create, w.change, w.remove} {
					if step("bad"); store.failed > 0 {
						want = want[:i]
						break
					}
				}
				require.Equal(t, want, h.calls(), "the handler's calls")
			})
		})
	}
}

func TestTask2_Slow_handler_delays_no_other(t *testing.T) {
	changes := []string{"add b@3", "update a@2 to a@4", "delete b@5", "add c@6"}
	for _, stuck := range changes[:3] {
		t.Run(stuck, func(t *testing.T) {
			guard.Test(t, "A slow or stuck handler costs memory and nothing else (#27078).", func(t *guard.T) {
				w, door := newWorld(t, "a"), gate.New(t)
				slow := w.handle()
				slow.before = func(note string) {
					if note == stuck {
						door.Wait()
					}
				}
				quick := w.handle()
				w.run()
				t.Did("the first handler does not return from %q", stuck)
				w.create("b")
				w.change("a")
				w.remove("b")
				w.create("c")
				require.Equal(t, []string{"a@4", "c@6"}, w.stored(), "the store while a handler is stuck")
				want := append([]string{"first a@2"}, changes...)
				require.Equal(t, want, quick.calls(), "the calls of the other handler")
				t.Did("the first handler returns")
				door.Open()
				t.Rule("Each handler receives every change, in order.")
				require.Equal(t, want, slow.calls(), "the calls of the slow handler")
			})
		})
	}
}

func TestTask2_Ten_thousand_wait_for_a_slow_handler(t *testing.T) {
	guard.Test(t, "A slow or stuck handler costs memory and nothing else: the queue before it has no "+
		"bound.", func(t *guard.T) {
		w := newWorld(t)
		door := gate.New(t)
		h := w.handle()
		called := 0
		h.before = func(string) { called++; door.Wait() }
		w.run()
		w.create("a")
		require.Equal(t, 1, called, "calls of the handler before the changes")
		changes := guard.Times(9_999, 1_999)
		t.Did("%d changes while the handler does not return", changes)
		want := []string{"add a@2"}
		for i := 1; i <= changes; i++ {
			d := deployment("a")
			d.Annotations = map[string]string{"changed": fmt.Sprint(i)}
			w.Update(d)
			want = append(want, fmt.Sprintf("update a@%d to a@%d", i+1, i+2))
		}
		synctest.Wait()
		require.Equal(t, []string{fmt.Sprint("a@", changes+2)}, w.stored(), "the store while the handler is stuck")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		door.Open()
		got := h.calls()
		runtime.ReadMemStats(&after)
		require.LessOrEqual(t, (after.TotalAlloc-before.TotalAlloc)/uint64(changes), uint64(10_000), "bytes for each call")
		t.Rule("Each handler receives every change, in order. Changes may be merged before they reach its " +
			"queue.")
		require.Equal(t, fmt.Sprintf("update a@%d to a@%d", changes+1, changes+2), got[len(got)-1],
			"the last call of the handler")
		require.LessOrEqual(t, len(got), len(want), "calls of the handler")
		previous := 0
		for _, note := range got[1:] {
			var from, to int
			_, err := fmt.Sscanf(note, "update a@%d to a@%d", &from, &to)
			require.NoError(t, err, "the error of reading the call %q", note)
			require.GreaterOrEqual(t, from, previous, "the version before the update in %q", note)
			require.Greater(t, to, from, "the version after the update in %q", note)
			previous = to
		}
	})
}

func TestTask2_Deleted_and_created_again_in_one_go(t *testing.T) {
	guard.Test(t, "handleDeltas applies the deltas of one object, the oldest first: each delta changes the store "+
		"and reaches the handlers.", func(t *guard.T) {
		w, door := newWorld(t, "a", "b"), gate.New(t)
		w.informer = newInformer(gate.HoldQueue(below, 2, door), w.source())
		h := w.handle()
		t.Did("the queue waits with the second object of the first list")
		w.run()
		name, _, _ := strings.Cut(w.stored()[0], "@") // the first list may come in any order
		h.calls()
		w.remove(name)
		w.create(name)
		w.change(name)
		w.change(name)
		t.Did("the queue goes on, with a deletion, an addition and two changes of %s in one", name)
		door.Open()
		require.Subset(t, h.calls(), []string{"add " + name + "@5", fmt.Sprintf("update %[1]s@5 to %[1]s@6", name),
			fmt.Sprintf("update %[1]s@6 to %[1]s@7", name)}, "the handler's calls")
		require.Contains(t, w.stored(), name+"@7", "the store after the four deltas")
	})
}

func TestTask2_Store_decides_between_add_and_update(t *testing.T) {
	guard.Test(t, "The store decides whether an object is an addition or an update: the type of the delta does "+
		"not say it.", func(t *guard.T) {
		w := newWorld(t, "a")
		h := w.handle()
		w.run()
		h.calls()
		w.away(func() {
			w.change("a")
			w.create("b")
		})
		require.Equal(t, []string{"add b@4", "update a@2 to a@3"}, sorted(h.calls()), "the handler's calls after the outage")

		w, source := newWorld(t), &scripted{}
		source.answer("10", 1)
		w.informer = newInformer(below, source)
		h = w.handle()
		w.run()
		h.calls()
		t.Did("the store has a@10; a watch reports a@11 as ADDED, and b@12, which the store does not have, as MODIFIED")
		source.events.Add(generationOf("11", 2))
		b := deployment("b")
		b.ResourceVersion = "12"
		source.events.Modify(b)
		require.Equal(t, []string{"update a@10 to a@11", "add b@12"}, h.calls(), "the handler's calls for the two events")
	})
}

func TestTask2_Deletion_that_was_missed_is_a_tombstone(t *testing.T) {
	guard.Test(t, "A deletion that the watch missed reaches the handlers as a tombstone, with the last known "+
		"state.", func(t *guard.T) {
		w := newWorld(t, "a")
		h := w.handle()
		w.run()
		h.calls()
		w.away(func() {
			w.change("a")
			w.remove("a")
		})
		require.Equal(t, []string{"tombstone of default/a, last a@2"}, h.calls(), "the handler's calls after the outage")
	})
}

func TestTask2_Deleted_and_created_again_can_be_one_update(t *testing.T) {
	guard.Test(t, "An object that was deleted and created again during an outage can be one update, from the old "+
		"object to the new one.", func(t *guard.T) {
		w := newWorld(t, "a")
		uids := []string{}
		w.register(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(old, new any) {
				uids = append(uids, string(old.(*appsv1.Deployment).UID), string(new.(*appsv1.Deployment).UID))
			},
		})
		w.run()
		w.away(func() {
			w.remove("a")
			w.create("a")
		})
		require.Len(t, uids, 2, "the UIDs of the old and the new object")
		require.NotEqual(t, uids[0], uids[1], "the UID of the new object")
	})
}

func TestTask2_Stop_waits_for_a_handler_and_drops_the_rest(t *testing.T) {
	guard.Test(t, "When RunWithContext returns, nothing is left running, and no handler is called "+
		"again.", func(t *guard.T) {
		w := newWorld(t)
		h := w.handle()
		h.before = func(string) { time.Sleep(time.Minute) }
		w.run()
		w.create("a")
		w.create("b", "c") // while the handler is in its call for a: so they wait together
		w.pass(time.Minute)
		before := time.Now()
		t.Did("the handler needs a minute for each call, and is in its call for b")
		w.end()
		t.Rule("When RunWithContext returns, nothing is left running, and no handler is called again: it waits for the " +
			"running call, and drops the remaining notifications.")
		require.Equal(t, time.Minute, time.Since(before), "time that RunWithContext waits for the handler")
		t.Rule("A stopped listener drops the remaining notifications.")
		require.Equal(t, []string{"add a@2", "add b@3"}, h.calls(), "the handler's calls before the end")
		time.Sleep(time.Hour)
		t.Rule("When RunWithContext returns, nothing is left running, and no handler is called again.")
		require.Empty(t, h.calls(), "the handler's calls after the end")
	})
}

func TestTask2_Finished_when_the_last_call_is(t *testing.T) {
	guard.Test(t, "When run returns, finished is closed: ShutdownChan reports that the handler will not be "+
		"called again.", func(t *guard.T) {
		w := newWorld(t, "a")
		registration := w.register(&handler{before: func(string) { time.Sleep(time.Minute) }})
		w.run()
		listener, ok := registration.(interface{ ShutdownChan() <-chan struct{} })
		require.True(t, ok, "the registration has a ShutdownChan")
		t.Did("the handler is in its call for a; the context ends")
		w.stop()
		synctest.Wait()
		require.False(t, isClosed(listener.ShutdownChan()), "ShutdownChan is closed while the handler is in a call")
		w.pass(time.Minute)
		require.True(t, isClosed(listener.ShutdownChan()), "ShutdownChan is closed after the last call")
	})
}

func TestTask2_Panic_is_not_the_end_of_delivery(t *testing.T) {
	guard.Apart(t, "If utilruntime.ReallyCrash is off, the notification is lost, and run continues after a "+
		"second: a handler that always panics must not spin.", func(t *guard.T) {
		crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
		utilruntime.ReallyCrash, utilruntime.PanicHandlers = false, nil
		t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers })
		w := newWorld(t)
		h := &handler{}
		finished := w.register(h).(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
		h.before = func(note string) {
			if note == "add a@2" || strings.Contains(note, "bad@") {
				panic("a bug in a handler")
			}
		}
		w.run()
		t.Did("panics do not end the program (runtime.ReallyCrash is off), and the handler panics at a")
		w.create("a", "b")
		require.Empty(t, h.calls(), "the handler's calls right after the panic")
		w.pass(time.Second)
		t.Rule("If utilruntime.ReallyCrash is off, the notification is lost, and run continues after a " +
			"second (#58394).")
		require.Equal(t, []string{"add b@3"}, h.calls(), "the handler's calls one second after the panic")
		w.create("c")
		require.Equal(t, []string{"add c@4"}, h.calls(), "the handler's calls after c was created")
		for range 4 {
			for _, do := range []func(...string){w.create, w.change, w.remove} {
				do("bad")
				w.change("b")
				require.Empty(t, h.calls(), "the handler's calls right after another panic")
				w.pass(time.Second)
				require.Len(t, h.calls(), 1, "the handler's calls one second after another panic")
			}
		}
		t.Rule("ShutdownChan returns a channel that is closed when the handler will not be called again: not by a panic.")
		require.False(t, isClosed(finished), "ShutdownChan is closed after panics")
	})
}
