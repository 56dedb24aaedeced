package controller_test

// Task 2: a handler, and the queue before it.

import (
	"fmt"
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

func TestTask2_Handler_hears_of_every_change_in_order(t *testing.T) {
	guard.Test(t, "each change once, in the order in which it happened; a deletion brings the last state", func(t *guard.T) {
		w := newWorld(t, "a")
		h := w.handle()
		w.run()
		w.create("b")
		w.change("a")
		w.remove("b")
		require.Equal(t, []string{"first a@2", "add b@3", "update a@2 to a@4", "delete b@5"}, h.told())
	})
}

func TestTask2_Only_the_first_list_is_initial(t *testing.T) {
	guard.Test(t, "isInInitialList tells what was there from what is new", func(t *guard.T) {
		w := newWorld(t, "a")
		h := w.handle()
		w.run()
		require.Equal(t, []string{"first a@2"}, h.told())
		w.away(func() { w.create("b") })
		t.Rule("b is new, although a list brought it")
		require.Equal(t, []string{"add b@3"}, without("again", h.told()))
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

func TestTask2_Store_changes_before_handlers_hear(t *testing.T) {
	guard.Test(t, "a handler puts a key into a queue, and a worker looks the key up: it must not find the state "+
		"before", func(t *guard.T) {
		w := newWorld(t, "a")
		var found []string
		look := func(obj any) {
			d, ok := obj.(*appsv1.Deployment)
			t.Rule("got %T", obj)
			require.Equal(t, true, ok)
			stored, exists, _ := w.informer.GetStore().GetByKey("default/" + d.Name)
			if exists {
				found = append(found, name(stored))
			} else {
				found = append(found, "no "+d.Name)
			}
		}
		w.register(cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, new any) { look(new) }, DeleteFunc: look})
		w.run()
		w.change("a")
		w.remove("a")
		t.Rule("a handler puts a key into a queue, and a worker looks the key up: it must not find the state " +
			"before")
		require.Equal(t, []string{"a@2", "a@3", "no a"}, found)
	})
}

func TestTask2_Slow_handler_holds_up_nobody(t *testing.T) {
	guard.Test(t, "the store goes on (#27078)", func(t *guard.T) {
		w := newWorld(t, "a")
		door := gate.New(t)
		slow := w.handle()
		slow.before = func(note string) {
			if note != "first a@2" {
				door.Wait()
			}
		}
		quick := w.handle()
		w.run()
		t.Did("the first handler does not return from \"add b@3\"")
		w.create("b")
		w.change("a")
		w.create("c")
		require.Equal(t, []string{"a@4", "b@3", "c@5"}, w.stored())
		t.Rule("and so do the other handlers")
		require.Equal(t, []string{"first a@2", "add b@3", "update a@2 to a@4", "add c@5"}, quick.told())
		t.Did("the first handler returns")
		door.Open()
		t.Rule("it has missed nothing")
		require.Equal(t, []string{"first a@2", "add b@3", "update a@2 to a@4", "add c@5"}, slow.told())
	})
}

func TestTask2_Ten_thousand_wait_for_a_slow_handler(t *testing.T) {
	guard.Test(t, "the handler is told of the first", func(t *guard.T) {
		w := newWorld(t)
		door := gate.New(t)
		h := w.handle()
		called := 0
		h.before = func(string) { called++; door.Wait() }
		w.run()
		w.create("a")
		require.Equal(t, 1, called)
		changes := 9_999
		if guard.Brief {
			changes = 1_999
		}
		t.Did("%d changes while the handler does not return", changes)
		want := []string{"add a@2"}
		for i := 1; i <= changes; i++ {
			d := deployment("a")
			d.Annotations = map[string]string{"changed": fmt.Sprint(i)}
			w.Update(d)
			want = append(want, fmt.Sprintf("update a@%d to a@%d", i+1, i+2))
		}
		synctest.Wait()
		t.Rule("the queue before a handler has no bound: a bound would be somebody else's wait")
		require.Equal(t, []string{fmt.Sprint("a@", changes+2)}, w.stored())
		door.Open()
		got := h.told()
		t.Rule("the last one comes last")
		require.Equal(t, fmt.Sprintf("update a@%d to a@%d", changes+1, changes+2), got[len(got)-1])
		t.Rule("each at most once")
		require.LessOrEqual(t, len(got), len(want))
		previous := 0
		for _, note := range got[1:] {
			var from, to int
			_, err := fmt.Sscanf(note, "update a@%d to a@%d", &from, &to)
			t.Rule("%s", note)
			require.NoError(t, err)
			t.Rule("%s: in order; changes may be merged before the handlers' queue, but never go back", note)
			require.GreaterOrEqual(t, from, previous)
			t.Rule("%s", note)
			require.Greater(t, to, from)
			previous = to
		}
	})
}

func TestTask2_Add_or_update_is_for_the_store_to_say(t *testing.T) {
	guard.Test(t, "a list does not say what is new: what the store has is an update, and what it has not is an "+
		"addition", func(t *guard.T) {
		w := newWorld(t, "a")
		h := w.handle()
		w.run()
		h.told()
		w.away(func() {
			w.change("a")
			w.create("b")
		})
		require.Equal(t, []string{"add b@4", "update a@2 to a@3"}, sorted(h.told()))
	})
}

func TestTask2_Deletion_that_was_missed_is_a_tombstone(t *testing.T) {
	guard.Test(t, "the last state was never seen: the handler gets the last known one, wrapped, so that it knows", func(t *guard.T) {
		w := newWorld(t, "a")
		h := w.handle()
		w.run()
		h.told()
		w.away(func() {
			w.change("a")
			w.remove("a")
		})
		require.Equal(t, []string{"tombstone of default/a, last a@2"}, h.told())
	})
}

func TestTask2_Deleted_and_created_anew_may_be_one_update(t *testing.T) {
	guard.Test(t, "for a list it is the same key: one update, from one object to another", func(t *guard.T) {
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
		require.Len(t, uids, 2)
		t.Rule("who cares compares UIDs, as the controller of task 6 does")
		require.NotEqual(t, uids[0], uids[1])
	})
}

func TestTask2_Handler_may_call_the_informer(t *testing.T) {
	guard.Test(t, "no lock is held while a handler runs", func(t *guard.T) {
		w := newWorld(t, "a")
		told := []string{}
		w.register(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			w.informer.HasSynced()
			w.informer.IsStopped()
			w.informer.LastSyncResourceVersion()
			told = append(told, name(obj))
		}})
		w.run()
		w.create("b")
		require.Equal(t, []string{"a@2", "b@3"}, told)
	})
}

func TestTask2_Stop_waits_for_a_handler_and_drops_the_rest(t *testing.T) {
	guard.Test(t, "the call that the handler is in is waited for: what it uses may be gone afterwards", func(t *guard.T) {
		w := newWorld(t)
		h := w.handle()
		h.before = func(string) { time.Sleep(time.Minute) }
		w.run()
		w.create("a", "b", "c")
		before := time.Now()
		w.end()
		require.Equal(t, time.Minute, time.Since(before))
		t.Rule("and what it has not been told by then, it is not")
		require.Equal(t, []string{"add a@2"}, h.told())
		time.Sleep(time.Hour)
		t.Rule("nobody is called after the end")
		require.Empty(t, h.told())
	})
}

func TestTask2_Finished_when_the_last_call_is(t *testing.T) {
	guard.Test(t, "a registration has a ShutdownChan, which is given", func(t *guard.T) {
		w := newWorld(t, "a")
		registration := w.register(&handler{before: func(string) { time.Sleep(time.Minute) }})
		w.run()
		listener, ok := registration.(interface{ ShutdownChan() <-chan struct{} })
		require.Equal(t, true, ok)
		t.Did("the handler is told of a; the context ends")
		w.stop()
		synctest.Wait()
		t.Rule("finished says that the handler will not be called any more, and it is in a call")
		require.Equal(t, false, isClosed(listener.ShutdownChan()))
		w.pass(time.Minute)
		t.Rule("it will not be called any more: whoever removes it waits for finished to be closed")
		require.Equal(t, true, isClosed(listener.ShutdownChan()))
	})
}

func TestTask2_Panic_is_not_the_end_of_delivery(t *testing.T) {
	guard.Test(t, "a second of rest: who panics at everything must not spin", func(t *guard.T) {
		crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
		utilruntime.ReallyCrash, utilruntime.PanicHandlers = false, nil
		t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers })
		w := newWorld(t)
		h := w.handle()
		h.before = func(note string) {
			if note == "add a@2" {
				panic("a bug in a handler")
			}
		}
		w.run()
		t.Did("panics do not end the program (runtime.ReallyCrash is off), and the handler panics at a")
		w.create("a", "b")
		require.Empty(t, h.told())
		w.pass(time.Second)
		t.Rule("what it panicked at is left out, and the next is delivered (#58394)")
		require.Equal(t, []string{"add b@3"}, h.told())
		w.create("c")
		t.Rule("and all that follows")
		require.Equal(t, []string{"add c@4"}, h.told())
	})
}

func TestTask2_Handlers_share_one_watch(t *testing.T) {
	guard.Test(t, "that is what it is shared for", func(t *guard.T) {
		w := newWorld(t, "a")
		all := []*handler{}
		for range 80 {
			all = append(all, w.handle())
		}
		w.run()
		w.change("a")
		for i, h := range all {
			t.Rule("handler %d of 80", i+1)
			require.Equal(t, []string{"first a@2", "update a@2 to a@3"}, h.told())
		}
		t.Rule("that is what it is shared for")
		require.Equal(t, 1, w.Watches())
	})
}
