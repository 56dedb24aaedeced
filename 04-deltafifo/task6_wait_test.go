package deltafifo_test

// Task 6, the bonus: RealFIFO's Pop, its lock and its work.

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask6_Each_item_wakes_a_Pop(t *testing.T) {
	bonus(t, "Each item wakes one Pop, whichever call queued it. The other Pops go on waiting.",
		func(t *guard.T) {
			bookmark := func(q recordedQueue) error {
				return q.Queue.(interface{ Bookmark(string) error }).Bookmark("7")
			}
			event := func(call func(q recordedQueue, obj any) error) func(q recordedQueue) error {
				return func(q recordedQueue) error { return call(q, deploy("default/a@1")) }
			}
			resync := func(q recordedQueue) error { return q.Resync() }
			for _, c := range []struct {
				name   string
				atomic bool
				items  int
				call   func(q recordedQueue) error
			}{
				{"Add", false, 1, event(recordedQueue.Add)},
				{"Update", false, 1, event(recordedQueue.Update)},
				{"Delete", false, 1, event(recordedQueue.Delete)},
				{"Replace", false, 3, func(q recordedQueue) error {
					return q.Replace(deploys("default/a@2", "default/b@3", "default/c@4"), "7")
				}},
				{"Replace with a deletion of b and c", false, 3, func(q recordedQueue) error {
					return q.Replace(deploys("default/a@2"), "7")
				}},
				{"Resync", false, 2, resync},
				{"Replace", true, 1, func(q recordedQueue) error { return q.Replace(nil, "7") }},
				{"Resync", true, 1, resync},
				{"Bookmark", true, 1, bookmark},
			} {
				t.Story(8)
				q := newRealFIFO(t, storeOf("default/b@1", "default/c@1"), cache.RealFIFOOptions{})
				if c.atomic {
					q = newRealFIFO(t, nil, cache.RealFIFOOptions{EmitDeltaTypeBookmark: true})
				}
				popped := 0
				for range 3 {
					t.Go(func() { _, _ = q.Pop(func(any, bool) error { popped++; return nil }) })
				}
				t.Did("three Pops wait; %s, with AtomicEvents %t", c.name, c.atomic)
				synctest.Wait()
				require.Equal(t, 0, popped, "items popped from the empty queue")
				require.NoError(t, c.call(q), "the error of %s", c.name)
				synctest.Wait()
				require.Equal(t, c.items, popped, "items popped after %s", c.name)
				q.Close()
				synctest.Wait()
			}
		})
}

func TestTask6_Panic_in_process_leaves_the_lock_free(t *testing.T) {
	guard.Bonus(t, begun)
	// In a process of its own, because to unlock twice is an error that ends the process.
	guard.Race(t, "If process panics, Pop releases the lock, counts the item as processed, and panics too. That is true "+
		"with UnlockWhileProcessing too.",
		func(t *guard.T) {
			for _, unlock := range []bool{false, true} {
				q := newRealFIFO(t, nil, cache.RealFIFOOptions{UnlockWhileProcessing: unlock})
				require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of Replace")
				t.Did("Pop, with a process function that panics; UnlockWhileProcessing is %t", unlock)
				require.Equal(t, any(errBug), panicOf(q), "the panic of Pop")
				free := meanwhile(t, func() { _ = q.Queue.Add(deploy("default/b@2")) })
				require.True(t, free, "Add returns after the panic in process")
				require.True(t, q.HasSynced(), "the queue has synced after its only item was popped")
				require.Equal(t, "default/b: Added @2", q.popWaiting(), "the next popped item")

				t.Rule("Pop returns the error of process with the deltas, and does not put them " +
					"back. The item counts as processed.")
				q = newRealFIFO(t, nil, cache.RealFIFOOptions{UnlockWhileProcessing: unlock})
				require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of Replace")
				early, synced, done := false, false, q.HasSyncedChecker().Done()
				_, err := q.Pop(func(any, bool) error {
					synced = unlock && q.HasSynced() // with the lock held HasSynced may wait
					select {
					case <-done:
						early = true
					default:
					}
					return errors.New("the consumer failed")
				})
				require.Error(t, err, "the error of Pop with a process function that fails")
				require.True(t, q.HasSynced(), "the queue has synced after its only item was popped")
				t.Rule("HasSynced reports whether every item that was in the queue after the first Replace has " +
					"been popped and processed.")
				require.False(t, early, "Done is closed while process is running")
				require.False(t, synced, "the queue has synced while process is running")
				t.Rule("If process panics, Pop releases the lock, counts the item as processed, and panics too.")
			}
		})
}

func TestTask6_First_event_means_there_is_no_first_list(t *testing.T) {
	bonus(t, "If Add, Update or Delete is called before any Replace, HasSynced is true from then on. There is no "+
		"first list to wait for.", func(t *guard.T) {
		for _, known := range []*store{storeOf(), nil} { // each kind
			t.Story(8)
			q := newRealFIFO(t, known, cache.RealFIFOOptions{})
			require.False(t, q.HasSynced(), "the queue has synced before anything came")
			initial := true
			t.Did("a Pop waits; AtomicEvents is %t", known == nil)
			t.Go(func() { _, _ = q.Pop(func(_ any, first bool) error { initial = first; return nil }) })
			synctest.Wait()
			require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
			require.True(t, q.HasSynced(), "the queue has synced after the first event")
			synctest.Wait()
			require.False(t, initial, "isInInitialList of the first event")
			require.True(t, q.HasSynced(), "the queue has still synced after the first event was popped")
			require.NoError(t, q.Replace(deploys("default/a@2"), "2"), "the error of Replace")
			require.True(t, q.HasSynced(), "the queue has still synced after the list that follows the event")
			t.Rule("If Add, Update or Delete is called before any Replace, no item belongs to the first list.")
			_, initial = q.popInitial()
			require.False(t, initial, "isInInitialList of the list that follows the event")

			t.Story(8)
			q = newRealFIFO(t, known, cache.RealFIFOOptions{})
			if known != nil {
				t.Did("the store takes default/b")
				known.objs["default/b"] = deploy("default/b@1")
			}
			require.NoError(t, q.Resync(), "the error of Resync")
			require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
			t.Rule("If Add, Update or Delete is called before any Replace, HasSynced is true from then on. It does not " +
				"matter whether the item of a Resync waits.")
			require.True(t, q.HasSynced(), "the queue has synced after the first event")
			t.Rule("If Add, Update or Delete is called before any Replace, HasSynced is true from then on.")
		}
	})
}

func TestTask6_Items_before_the_first_list_count(t *testing.T) {
	const items = "HasSynced reports whether every item that was in the queue after the first Replace has been popped " +
		"and processed. A SyncAll and a Bookmark before the list count too."
	bonus(t, items, func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{EmitDeltaTypeBookmark: true})
		require.NoError(t, q.Resync(), "the error of Resync")
		t.Did("Bookmark 6")
		require.NoError(t, q.Queue.(interface{ Bookmark(string) error }).Bookmark("6"), "the error of Bookmark")
		require.NoError(t, q.Replace(deploys("default/a@1"), "7"), "the error of Replace")
		for i := range 3 {
			t.Rule(items)
			require.False(t, q.HasSynced(), "the queue has synced after %d of 3 items were popped", i)
			t.Rule("Pop removes the first item and calls process with it, as cache.Deltas of length one, and with " +
				"whether it belongs to the first list. All items up to the list do.")
			popped, initial := q.popInitial()
			require.True(t, initial, "isInInitialList of %s", popped)
		}
		t.Rule(items)
		require.True(t, q.HasSynced(), "the queue has synced after 3 of 3 items were popped")
		require.NoError(t, q.Replace(deploys("default/b@2"), "8"), "the error of the 2nd Replace")
		require.True(t, q.HasSynced(), "the queue has still synced after the 2nd list")
	})
}

func TestTask6_Item_in_process_is_not_of_the_list_that_comes(t *testing.T) {
	bonus(t, "An item that was popped before the first Replace does not count, even if process still has it. Otherwise "+
		"a controller starts before its cache has the first list.", func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{UnlockWhileProcessing: true})
		require.NoError(t, q.Resync(), "the error of Resync")
		t.Did("Pop; process calls Replace")
		_, err := q.Pop(func(any, bool) error { return q.Replace(deploys("default/a@1"), "7") })
		require.NoError(t, err, "the error of Replace while process is running")
		require.False(t, q.HasSynced(), "the queue has synced before the ReplacedAll was popped")
		q.pop()
		require.True(t, q.HasSynced(), "the queue has synced after the ReplacedAll was popped")
	})
}

func TestTask6_Transformer_sees_objects_and_not_tombstones(t *testing.T) {
	bonus(t, "The object goes through the transformer first, if there is one, unless it is a tombstone.",
		func(t *guard.T) {
			// transformed panics if it gets anything but a Deployment.
			q := newRealFIFO(t, storeOf("default/known@1"), cache.RealFIFOOptions{Transformer: transformed})
			require.NoError(t, q.Delete(tombstone("default/gone", "default/gone@1")), "the error of Delete")
			require.NoError(t, q.Delete(tombstone("default/empty", "")), "the error of Delete")
			require.NoError(t, q.Update(deploy("default/a@2")), "the error of Update")
			require.NoError(t, q.Delete(deploy("default/a@3")), "the error of Delete")
			list := deploys("default/b@4")
			require.NoError(t, q.Replace(list, "4"), "the error of Replace")
			require.Equal(t, []string{
				"default/gone: Deleted tombstone(@1)", "default/empty: Deleted tombstone(nothing)",
				"default/a: Updated @2'", "default/a: Deleted @3'",
				"default/known: Deleted tombstone(@1)", "default/b: Replaced @4'",
			}, q.drain(), "all popped items")
			t.Rule("The objects go through the transformer, and the list itself is not changed.")
			require.Equal(t, "@4", show(list[0]), "the object in the caller's list")
			for _, known := range []*store{storeOf(), nil} { // each kind
				requireResultsQueued(t, newRealFIFO(t, known, cache.RealFIFOOptions{Transformer: otherResult}))
			}
		})
}

// requireResultsQueued requires that the items of q, whose transformer is otherResult, carry its result.
func requireResultsQueued(t *guard.T, q recordedQueue) {
	t.Helper()
	t.Story(8)
	t.Rule("The object goes through the transformer first, if there is one, unless it is a tombstone. The item carries " +
		"the result, of whatever type.")
	t.Did("the transformer's result for web is of another type")
	require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
	require.NoError(t, q.Update(deploy("default/web@2")), "the error of Update")
	require.NoError(t, q.Delete(deploy("default/web@3")), "the error of Delete")
	objects := q.pendingObjects()
	require.Len(t, objects, 3, "objects of all popped items")
	t.Rule("The objects go through the transformer, and the list itself is not changed. The item carries the result.")
	require.NoError(t, q.Replace(deploys("default/web@4"), "4"), "the error of Replace")
	for _, obj := range q.pendingObjects() {
		if list, ok := obj.(cache.ReplacedAllInfo); ok {
			objects = append(objects, list.Objects...)
		} else {
			objects = append(objects, obj)
		}
	}
	require.Len(t, objects, 4, "objects of all popped items")
	result, _ := otherResult(deploy("default/web@4"))
	for i, call := range []string{"Add", "Update", "Delete", "Replace"} {
		require.Equal(t, show(result), show(objects[i]), "the object of %s", call)
	}
}

func TestTask6_Popped_list_can_be_collected(t *testing.T) {
	bonus(t, "The queue keeps nothing of a popped item. It does not keep a popped list either.", func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{})
		listed := func() weak.Pointer[appsv1.Deployment] { // in a frame of its own: no reference
			list := deploys("default/a@1")
			require.NoError(t, q.Replace(list, "7"), "the error of Replace")
			return weak.Make(list[0].(*appsv1.Deployment))
		}()
		require.NoError(t, q.Add(deploy("default/c@3")), "the error of Add")
		q.pop()
		requireCollected(t, listed)
		require.Equal(t, "default/c: Added @3", q.pop(), "the item that waited")
	})
}

func TestTask6_Calls_that_meet_run_one_after_the_other(t *testing.T) {
	pause := realPause(t)
	bonus(t, "Replace is one step: no other call takes effect in the middle of it. The same is true for every "+
		"other call.",
		func(t *guard.T) {
			checkMeetings(t, pause, func(known *store) recordedQueue {
				return newRealFIFO(t, known, cache.RealFIFOOptions{})
			})
			checkMeetings(t, pause, func(*store) recordedQueue {
				t.Did("a queue with AtomicEvents")
				return newRealFIFO(t, nil, cache.RealFIFOOptions{})
			})
		})
}

func TestTask6_No_Pop_sleeps_beside_an_item(t *testing.T) {
	pause := realPause(t)
	bonus(t, "Each item wakes one Pop. A Pop that has seen an empty queue, but does not wait yet, must notice it too.",
		func(t *guard.T) {
			checkSleepers(t, pause, func(known *store) recordedQueue {
				return newRealFIFO(t, known, cache.RealFIFOOptions{})
			})
		})
}

func TestTask6_Add_and_Pop_do_the_same_work_in_a_long_queue(t *testing.T) {
	bonus(t, "Add, Update, Delete and Pop do the same amount of work, however many keys are pending or known. A "+
		"RealFIFO grows longer than a DeltaFIFO, because it merges nothing.", func(t *guard.T) {
		for _, pending := range []int{10, 1_000} {
			known, keys := storeOf("default/a@1"), 0
			q := newRealFIFO(t, known, cache.RealFIFOOptions{KeyFunction: func(obj any) (string, error) {
				keys++
				return cache.MetaNamespaceKeyFunc(obj)
			}})
			for i := range pending {
				require.NoError(t, q.Queue.Add(deploy(fmt.Sprintf("default/web-%d@1", i))),
					"the error of Add")
			}
			obj := deploy("default/a@2")
			t.Did("with %d items in the queue: Add, Update and Delete, and Pop three times, 100 "+
				"times", pending)
			keys = 0
			bytes := bytesPerCall(100, func(int) {
				_, _, _ = q.Queue.Add(obj), q.Queue.Update(obj), q.Queue.Delete(obj)
				for range 3 {
					_, _ = q.Pop(func(any, bool) error { return nil })
				}
			})
			require.LessOrEqual(t, keys, 1_200,
				"calls of the key function, with %d items in the queue", pending)
			require.LessOrEqual(t, known.asked, 600,
				"keys asked of the known objects, with %d items in the queue", pending)
			require.Less(t, bytes, 12_000, "bytes allocated each time, with %d items in the queue", pending)
		}
	})
}

func TestTask6_Every_key_comes_from_the_key_function(t *testing.T) {
	bonus(t, "With known objects Replace first queues a Deleted with a tombstone for each key that is pending or "+
		"known but not in the list, in any order. The key function makes the keys, and a tombstone carries its own.",
		func(t *guard.T) {
			known := storeOf()
			known.objs["web"], known.objs["gone"] = deploy("blue/web@1"), deploy("blue/gone@2")
			q := newRealFIFO(t, known, cache.RealFIFOOptions{KeyFunction: func(obj any) (string, error) {
				return obj.(*appsv1.Deployment).Name, nil // whatever the namespace
			}})
			require.NoError(t, q.Update(deploy("blue/web@3")), "the error of Update")
			require.NoError(t, q.Delete(tombstone("gone", "blue/renamed@4")), "the error of Delete")
			require.NoError(t, q.Replace(deploys("green/web@5"), "7"), "the error of Replace")
			require.Equal(t, []string{
				"blue/web: Updated @3", "gone: Deleted tombstone(@4)", "green/web: Replaced @5",
			}, q.drain(), "all popped items")
		})
}

func TestTask6_Pop_does_not_move_the_queue(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Race(t, "Add, Update, Delete and Pop do the same amount of work, however many keys are pending or known. A "+
		"Pop that moves the items behind its own gets slower with each of them.", func(t *guard.T) {
		requireQuickPops(t, func() cache.Queue {
			return newRealFIFO(t, nil, cache.RealFIFOOptions{
				KeyFunction: func(obj any) (string, error) { return obj.(string), nil },
			}).Queue
		})
	})
}
