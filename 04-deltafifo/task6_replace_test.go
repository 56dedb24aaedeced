package deltafifo_test

// Task 6, the bonus: RealFIFO's first list, long lists, and errors and panics in the middle of a call.

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask6_Synced_counts_items(t *testing.T) {
	const items = "HasSynced reports whether every item that was in the queue after the first Replace has been popped " +
		"and processed. Two objects of one key and a deletion are three items."
	bonus(t, items, func(t *guard.T) {
		q := newRealFIFO(t, storeOf("default/gone@1"), cache.RealFIFOOptions{Name: "deployments"})
		checker, synced := q.HasSyncedChecker(), false
		require.Equal(t, "deployments", checker.Name(), "the Name of the HasSyncedChecker")
		t.Go(func() { <-checker.Done(); synced = true })
		require.NoError(t, q.Replace(deploys("default/web@2", "default/web@3"), "7"), "the error of Replace")
		for i := range 3 {
			synctest.Wait()
			t.Rule(items)
			require.False(t, synced, "Done is closed after %d of 3 items were popped", i)
			t.Rule("Pop removes the first item and calls process with it, as cache.Deltas of length one, and with " +
				"whether it belongs to the first list. The deletions of the list belong to it.")
			popped, initial := q.popInitial()
			require.True(t, initial, "isInInitialList of %s", popped)
			t.Rule(items)
		}
		synctest.Wait()
		require.True(t, synced, "Done is closed after 3 of 3 items were popped")
		for i := range 4 {
			known, panics, unlock := storeOf(), i%2 == 1, i > 1
			if t.Story(8); unlock {
				known = nil
			}
			q := newRealFIFO(t, known, cache.RealFIFOOptions{UnlockWhileProcessing: unlock})
			t.Did("AtomicEvents and UnlockWhileProcessing are %t", unlock)
			if unlock { // the list is one item
				require.NoError(t, q.Resync(), "the error of the 1st Resync")
				require.NoError(t, q.Resync(), "the error of the 2nd Resync")
			}
			require.NoError(t, q.Replace(deploys("ns/a@1", "ns/b@1", "ns/c@1"), "7"), "the error of Replace")
			requireFailuresCountOnce(t, q, 3, panics)
		}
	})
}

func TestTask6_Replace_does_a_fixed_amount_of_work_for_each_key(t *testing.T) {
	const work = "Replace does a fixed amount of work for each key that is listed, pending or known."
	bonus(t, work, func(t *guard.T) {
		for _, n := range []int{10, 2_001} {
			t.Story(8)
			known, keys := storeOf(), 0
			q := newRealFIFO(t, known, cache.RealFIFOOptions{KeyFunction: func(obj any) (string, error) {
				keys++
				return cache.MetaNamespaceKeyFunc(obj)
			}})
			var list []any
			for i := range n {
				gone := fmt.Sprintf("default/gone-%d", i)
				known.objs[gone] = deploy(gone + "@1")
				list = append(list, deploy(fmt.Sprintf("default/listed-%d@3", i)))
			}
			call := func(name string, items int, run func() error) {
				t.Helper()
				for i := range n {
					require.NoError(t, q.Queue.Add(deploy(fmt.Sprintf("default/pending-%d@2", i))),
						"the error of Add")
				}
				t.Did("%s, with %d known objects and %d others pending", name, n, n)
				keys, known.asked = 0, 0
				bytes := bytesPerCall(1, func(int) { _ = run() })
				t.Rule(work)
				if name == "Resync" {
					t.Rule("Resync does a fixed amount of work for each key that is pending or known.")
				}
				require.LessOrEqual(t, keys, 5*n, "calls of the key function, for %d of each", n)
				require.LessOrEqual(t, known.asked, 4*n, "keys asked of the known objects, for %d of each", n)
				require.Less(t, bytes, 4_000*n, "bytes allocated, for %d of each", n)
				t.Rule("With known objects, Replace and Resync compare as those of a DeltaFIFO do, and queue one item " +
					"for each object.")
				require.Equal(t, items, len(q.drain()), "items popped, for %d of each", n)
			}
			call("Resync", 2*n, q.Queue.Resync)
			call("Replace with as many others", 4*n, func() error { return q.Queue.Replace(list, "7") })
		}
	})
}

func TestTask6_Calls_that_compare_do_not_look_through_all_items(t *testing.T) {
	guard.Bonus(t, begun)
	// A process of its own has no other test beside it, whose work would count.
	guard.Race(t, "Resync does a fixed amount of work for each key that is pending or known. A search through a slice gets "+
		"slower with each item in it.", func(t *guard.T) {
		queue := func(known *store) cache.Queue {
			return deltafifo.NewRealFIFOWithOptions(cache.RealFIFOOptions{KnownObjects: known, KeyFunction: ownKey})
		}
		requireQuickCall(t, "Resync", queue, func(q cache.Queue, _ []any) { _ = q.Resync() })
		t.Rule("Replace does a fixed amount of work for each key that is listed, pending or known.")
		requireQuickCall(t, "Replace with as many others", queue, func(q cache.Queue, list []any) {
			_ = q.Replace(list, "7")
		})
	})
}

func TestTask6_Long_calls_are_one_step(t *testing.T) {
	pause := realPause(t)
	bonus(t, "Replace is one step: no other call takes effect in the middle of it. That is true for long lists, and for "+
		"Resync.", func(t *guard.T) {
		checkLongCalls(t, pause, func(known *store) recordedQueue {
			return newRealFIFO(t, known, cache.RealFIFOOptions{})
		})
	})
}

func TestTask6_Calls_that_compare_wait_for_process(t *testing.T) {
	bonus(t, "process runs under the queue's lock; with UnlockWhileProcessing it runs without the lock, unless 2000 "+
		"items or more are waiting. Delete, Replace and Resync wait for it.", func(t *guard.T) {
		checkComparingCalls(t, func(known *store) recordedQueue {
			return newRealFIFO(t, known, cache.RealFIFOOptions{})
		})
	})
}

func TestTask6_Atomic_list_with_an_object_without_a_key(t *testing.T) {
	bonus(t, "If an object of the list has no key, the error is a cache.KeyError that carries the object and wraps "+
		"the key function's error.",
		func(t *guard.T) {
			q := newRealFIFO(t, nil, cache.RealFIFOOptions{})
			err := q.Replace([]any{deploy("default/a@1"), "nameless"}, "7")
			require.ErrorAs(t, err, &cache.KeyError{}, "the error of Replace")
			require.Equal(t, any("nameless"), keyErrorOf(err).Obj, "the object in the error of Replace")
			t.Rule("A Replace that fails leaves nothing in the queue, and is not the first list.")
			require.False(t, q.HasSynced(), "the queue has synced after a Replace that failed")
			require.Empty(t, q.drain(), "all popped items")
		})
}

func TestTask6_Change_that_fails_leaves_nothing_in_the_queue(t *testing.T) {
	bonus(t, "A change that fails leaves nothing in the queue. The error wraps its cause.", func(t *guard.T) {
		nameless, sour := errors.New("no key today"), errors.New("the transformer failed")
		for i, opts := range []cache.RealFIFOOptions{
			{KeyFunction: func(obj any) (string, error) {
				if d, ok := obj.(*appsv1.Deployment); ok && d.Name == "a" {
					return "", nameless
				}
				return cache.MetaNamespaceKeyFunc(obj)
			}},
			{Transformer: func(obj any) (any, error) {
				if d, ok := obj.(*appsv1.Deployment); ok && d.Name == "a" {
					return obj, sour // an object that comes with an error must not be used
				}
				return obj, nil
			}},
		} {
			t.Story(8)
			cause := []error{nameless, sour}[i]
			q := newRealFIFO(t, storeOf(), opts)
			t.Did("NewRealFIFOWithOptions, with a function that fails for a: %v", cause)
			require.ErrorIs(t, q.Replace(deploys("default/a@1"), "1"), cause, "the error of Replace")
			t.Rule("A Replace that fails is not the first list.")
			require.False(t, q.HasSynced(), "the queue has synced after a Replace that failed")
			t.Rule("A change that fails leaves nothing in the queue.")
			require.ErrorIs(t, q.Add(deploy("default/a@1")), cause, "the error of Add")
			require.ErrorIs(t, q.Update(deploy("default/a@2")), cause, "the error of Update")
			require.ErrorIs(t, q.Delete(deploy("default/a@3")), cause, "the error of Delete")
			require.Empty(t, q.drain(), "all popped items")
		}
	})
}

func TestTask6_KeyError_carries_the_object_of_the_call(t *testing.T) {
	bonus(t, "If an object has no key, the error is a cache.KeyError that carries the object and wraps the key "+
		"function's error. A key function that makes a key of parts may return a KeyError of a part.", func(t *guard.T) {
		requireKeyErrors(t, func(keys cache.KeyFunc) map[string]func(any) error {
			q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{KeyFunction: keys})
			return map[string]func(any) error{"Add": q.Add, "Update": q.Update, "Delete": q.Delete}
		})
		requireEmptyKeyAccepted(t, newRealFIFO(t, storeOf(), cache.RealFIFOOptions{KeyFunction: emptyKey}))
	})
}

func TestTask6_Closed_queue_keeps_its_items(t *testing.T) {
	bonus(t, "Close makes every waiting and every later Pop return cache.ErrFIFOClosed as soon as the queue is empty. "+
		"Until then Pop returns the items, of every kind.", func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{EmitDeltaTypeBookmark: true})
		require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of Replace")
		require.NoError(t, q.Delete(deploy("default/a@8")), "the error of Delete")
		require.NoError(t, q.Resync(), "the error of Resync")
		t.Did("Bookmark 9")
		require.NoError(t, q.Queue.(interface{ Bookmark(string) error }).Bookmark("9"), "the error of Bookmark")
		q.Close()
		require.Equal(t, []string{
			"ReplacedAll [default/a@1] at 7", "default/a: Deleted @8", "SyncAll of the known objects", "Bookmark at 9",
		}, q.drain(), "all popped items")
		t.Rule("HasSynced reports whether every item that was in the queue after the first Replace has been popped and " +
			"processed. It does not matter whether the queue is closed.")
		require.True(t, q.HasSynced(), "the queue has synced after all items were popped")
	})
}

func TestTask6_No_Pop_sleeps_through_Close(t *testing.T) {
	bonus(t, "Close makes every waiting and every later Pop return cache.ErrFIFOClosed as soon as the queue is empty. "+
		"A Pop that has seen an open queue but does not wait yet must notice Close too (#90581).", func(t *guard.T) {
		checkCloseWhilePopping(t, func() cache.Queue { return newRealFIFO(t, nil, cache.RealFIFOOptions{}).Queue })
	})
}

func TestTask6_Panic_in_the_transformer_leaves_the_lock_free(t *testing.T) {
	guard.Bonus(t, begun)
	// In a process of its own, because to unlock twice is an error that ends the process.
	guard.Race(t, transformerPanics, func(t *guard.T) {
		for _, known := range []*store{storeOf("default/a@0"), nil} {
			checkTransformerPanics(t, func(transformer cache.TransformFunc) recordedQueue {
				return newRealFIFO(t, known, cache.RealFIFOOptions{Transformer: transformer})
			})
		}
	})
}
