package deltafifo_test

// Task 6, the bonus: RealFIFO, which merges nothing. The tests of AtomicEvents are in task6_side_by_side_test.go. All
// of them are skipped until NewRealFIFOWithOptions is written.

import (
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

// begun calls the first function of the bonus; guard.Bonus skips a test until the function is written.
func begun() { deltafifo.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}) }

// bonus is guard.Test for a test of the bonus.
func bonus(t *testing.T, rule string, f func(t *guard.T)) {
	t.Helper()
	guard.Bonus(t, begun)
	guard.Test(t, rule, f)
}

// newRealFIFO makes a queue with known objects, or with AtomicEvents if known is nil.
func newRealFIFO(t *guard.T, known *store, opts cache.RealFIFOOptions) recordedQueue {
	t.Helper()
	silent := klog.New(nil)
	opts.Logger = &silent
	if opts.AtomicEvents = known == nil; known != nil {
		opts.KnownObjects = known
		t.Did("known objects: [%s]", known)
	}
	return recordedQueue{deltafifo.NewRealFIFOWithOptions(opts), t}
}

func TestTask6_Nothing_is_merged(t *testing.T) {
	bonus(t, "Each change is an item of its own, and nothing is merged. A change of a that came before b is "+
		"popped before b.", func(t *guard.T) {
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		require.NoError(t, q.Add(deploy("default/b@2")), "the error of Add")
		updated, deleted := deploy("default/a@3"), deploy("default/a@4")
		require.NoError(t, q.Update(updated), "the error of the 1st Update")
		require.NoError(t, q.Update(updated), "the error of the 2nd Update")
		require.NoError(t, q.Delete(deleted), "the error of the 1st Delete")
		require.NoError(t, q.Delete(deleted), "the error of the 2nd Delete")
		require.NoError(t, q.Delete(tombstone("default/a", "default/a@4")), "the error of the 3rd Delete")
		require.Equal(t, []string{
			"default/a: Added @1",
			"default/b: Added @2",
			"default/a: Updated @3", "default/a: Updated @3",
			"default/a: Deleted @4", "default/a: Deleted @4",
			"default/a: Deleted tombstone(@4)",
		}, q.drain(), "all popped items, in order")
		popped := 0
		t.Did("Update default/a 20000 times")
		for range 20_000 {
			_ = q.Queue.Update(updated)
		}
		q.Close()
		for err := error(nil); err == nil; popped++ {
			_, err = q.Pop(func(any, bool) error { return nil })
		}
		require.Equal(t, 20_000, popped-1, "items popped after 20000 Updates")
	})
}

func TestTask6_Items_carry_the_objects_themselves(t *testing.T) {
	bonus(t, "Add puts an Added with obj at the end of the queue. The item has obj itself, not a "+
		"copy.", func(t *guard.T) {
		known := storeOf("default/known@1")
		q := newRealFIFO(t, known, cache.RealFIFOOptions{})
		added, updated := deploy("blue/a@1"), deploy("green/a@2")
		list := []any{deploy("default/a@3"), added} // added is unchanged, and recorded all the same
		require.NoError(t, q.Add(added), "the error of Add")
		require.NoError(t, q.Update(updated), "the error of Update")
		require.NoError(t, q.Resync(), "the error of Resync")
		require.NoError(t, q.Delete(updated), "the error of Delete")
		known.objs["default/gone"] = deploy("default/gone@4")
		require.NoError(t, q.Replace(list, "4"), "the error of Replace")
		objects := q.pendingObjects()
		require.Len(t, objects, 8, "objects of all popped items")
		require.Same(t, added, objects[0], "the object in the Added")
		t.Rule("Update is like Add, but puts an Updated at the end of the queue. The item has obj itself, " +
			"not a copy.")
		require.Same(t, updated, objects[1], "the object in the Updated")
		t.Rule("With known objects Resync queues a Sync for each known object that has no pending items and " +
			"can be found, in any order. The item has the object itself, not a copy.")
		require.Same(t, known.objs["default/known"], objects[2], "the object in the Sync")
		t.Rule("Replace then queues a Replaced for each object of the list. The item has the object itself, " +
			"not a copy.")
		require.Same(t, list[0], objects[6], "the object in the 1st Replaced")
		require.Same(t, list[1], objects[7], "the object in the 2nd Replaced")
		t.Rule("The tombstone carries the newest object: that of the last pending item, or otherwise the known " +
			"one, or nil if it cannot be found. It is the object itself, not a copy.")
		for _, obj := range objects[4:6] {
			stone, ok := obj.(cache.DeletedFinalStateUnknown)
			require.True(t, ok, "the object of a Deleted of Replace is a cache.DeletedFinalStateUnknown")
			require.Same(t, known.objs[stone.Key], stone.Obj, "the object in the tombstone of %s", stone.Key)
		}
	})
}

func TestTask6_Options_have_defaults(t *testing.T) {
	bonus(t, "The default KeyFunction is cache.MetaNamespaceKeyFunc, and the default Name is \"RealFIFO\".",
		func(t *guard.T) {
			q := newRealFIFO(t, storeOf("blue/web@1"), cache.RealFIFOOptions{})
			require.Equal(t, "RealFIFO", q.HasSyncedChecker().Name(),
				"the Name of a queue without one in its options")
			require.NoError(t, q.Replace(deploys("green/web@2"), "2"), "the error of Replace")
			require.Equal(t,
				[]string{"blue/web: Deleted tombstone(@1)", "green/web: Replaced @2"}, q.drain(),
				"all popped items")
		})
}

func TestTask6_Delete_of_an_unknown_object_is_recorded(t *testing.T) {
	bonus(t, "Delete is like Add, but puts a Deleted at the end of the queue, whether or not the object is "+
		"known. The consumer finds out whether it has the object.", func(t *guard.T) {
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		require.NoError(t, q.Delete(deploy("default/a@1")), "the error of Delete")
		require.Equal(t, []string{"default/a: Deleted @1"}, q.drain(), "all popped items")
	})
}

func TestTask6_Errors_are_those_of_a_DeltaFIFO(t *testing.T) {
	bonus(t, "If an object has no key, the error is a cache.KeyError that carries the object and wraps the key "+
		"function's error.", func(t *guard.T) {
		failed := errors.New("the consumer failed")
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		for _, q := range []recordedQueue{q, newRealFIFO(t, nil, cache.RealFIFOOptions{})} { // of each kind
			calls := map[string]func(any) error{"Add": q.Add, "Update": q.Update, "Delete": q.Delete}
			for name, call := range guard.InOrder(calls) {
				err := call("nameless")
				require.ErrorAs(t, err, &cache.KeyError{}, "the error of %s of an object without a key", name)
				require.Equal(t, any("nameless"), keyErrorOf(err).Obj, "the object in the error of %s", name)
			}
		}
		t.Rule("If an object of the list has no key, the error is a cache.KeyError that carries the object and wraps " +
			"the key function's error.")
		err := q.Replace([]any{"nameless"}, "7")
		require.ErrorAs(t, err, &cache.KeyError{}, "the error of Replace of an object without a key")
		require.Equal(t, any("nameless"), keyErrorOf(err).Obj, "the object in the error of Replace")
		t.Rule("Pop returns the error of process with the deltas, and does not put them back.")
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		t.Did("Pop, with a process function that fails")
		popped, err := q.Pop(func(any, bool) error { return failed })
		require.Equal(t, failed, err, "the error of Pop")
		require.Equal(t, "default/a: Added @1", showDeltas(popped),
			"the deltas that Pop returns with the error")
		require.Empty(t, q.drain(), "all items popped afterwards")
	})
}

func TestTask6_Replace_that_fails_leaves_nothing_in_the_queue(t *testing.T) {
	bonus(t, "A Replace that fails leaves nothing in the queue, and is not the first list.", func(t *guard.T) {
		q := newRealFIFO(t, storeOf("default/gone@1"), cache.RealFIFOOptions{Transformer: refuseSour})
		require.Error(t, q.Replace(deploys("default/a@1", "default/sour@1"), "1"), "the error of Replace")
		require.Empty(t, q.drain(), "all popped items")
		for _, known := range []*store{storeOf("default/gone@1"), nil} { // each kind
			for _, bad := range []any{"nameless", deploy("default/sour@1")} {
				t.Story(8)
				q := newRealFIFO(t, known, cache.RealFIFOOptions{Transformer: refuseSour})
				require.NoError(t, q.Update(deploy("default/b@0")), "the error of Update")
				require.Error(t, q.Replace([]any{deploy("default/a@1"), bad}, "1"), "the error of Replace after an Update")
				require.Equal(t, []string{"default/b: Updated @0"}, q.drain(), "all popped items")
			}
		}
	})
}

func TestTask6_Known_object_that_cannot_be_found(t *testing.T) {
	bonus(t, "With known objects Resync queues a Sync for each known object that has no pending items and can be "+
		"found, in any order.", func(t *guard.T) {
		known := storeOf("default/a@1", "default/broken@2", "default/c@3")
		known.broken["default/broken"] = errLookup
		known.ghosts = []string{"default/ghost"}
		q := newRealFIFO(t, known, cache.RealFIFOOptions{})
		require.NoError(t, q.Resync(), "the error of Resync")
		require.ElementsMatch(t, []string{"default/a: Sync @1", "default/c: Sync @3"}, q.drain(),
			"all items popped after Resync")
		t.Rule("The tombstone carries the newest object: that of the last pending item, or otherwise the " +
			"known one, or nil if it cannot be found.")
		require.NoError(t, q.Replace(deploys("default/a@4", "default/c@5"), "5"), "the error of Replace")
		require.ElementsMatch(t, []string{
			"default/broken: Deleted tombstone(nothing)",
			"default/ghost: Deleted tombstone(nothing)",
			"default/a: Replaced @4",
			"default/c: Replaced @5",
		}, q.drain(), "all items popped after Replace")
	})
}

func TestTask6_Every_method_takes_the_lock(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Race(t, "Every method may be called from any goroutine. Each takes the lock before it touches a "+
		"field.", func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{EmitDeltaTypeBookmark: true}).Queue
		t.Did("every method, from nine goroutines")
		guard.Storm(
			func(i int) { _ = q.Add(deploy("default/a@1")) },
			func(i int) { _ = q.Update(deploy("default/b@2")) },
			func(i int) { _ = q.Delete(deploy("default/d@2")) },
			func(i int) { _ = q.Replace(deploys("default/a@3", "default/d@3"), "3") },
			func(i int) { _ = q.Resync() },
			func(i int) { _ = q.(interface{ Bookmark(string) error }).Bookmark("7") },
			func(i int) { q.HasSynced() },
			func(i int) { q.(interface{ IsClosed() bool }).IsClosed() },
			func(i int) {
				_ = q.Add(deploy("default/c@3")) // so that no Pop waits forever
				_, _ = q.Pop(func(any, bool) error { return nil })
			},
		)
		for range 20 { // with UnlockWhileProcessing Pop counts under the lock
			q := newRealFIFO(t, nil, cache.RealFIFOOptions{UnlockWhileProcessing: true}).Queue
			require.NoError(t, q.Resync(), "the error of Resync")
			var listing sync.WaitGroup
			_, _ = q.Pop(func(any, bool) error {
				listing.Go(func() { _ = q.Replace(nil, "7") })
				runtime.Gosched()
				return nil
			})
			listing.Wait()
		}
		for range 20 { // the first list is noted once, so the race detector needs a new queue each time
			q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{}).Queue
			var listing sync.WaitGroup
			listing.Go(func() { _ = q.Replace(nil, "7") })
			q.HasSynced()
			listing.Wait()
		}
		var closing sync.WaitGroup
		closing.Go(q.Close)
		q.(interface{ IsClosed() bool }).IsClosed()
		closing.Wait()
	})
}

func TestTask6_Replace_compares_with_queue_and_known_objects(t *testing.T) {
	bonus(t, "With known objects Replace first queues a Deleted with a tombstone for each key that is pending or "+
		"known but not in the list, in any order.", func(t *guard.T) {
		known := storeOf("default/known@1", "default/listed@2", "default/pending@3")
		q := newRealFIFO(t, known, cache.RealFIFOOptions{})
		require.NoError(t, q.Update(deploy("default/pending@4")), "the error of Update")
		require.NoError(t, q.Update(deploy("default/pending@5")), "the error of Update")
		require.NoError(t, q.Delete(deploy("default/gone@6")), "the error of Delete")
		require.NoError(t, q.Add(deploy("default/once@7")), "the error of Add")
		require.NoError(t, q.Replace(deploys("default/listed@8"), "8"), "the error of Replace")
		got := q.drain()
		pending := []string{
			"default/pending: Updated @4",
			"default/pending: Updated @5",
			"default/gone: Deleted @6",
			"default/once: Added @7",
		}
		deletions := []string{
			"default/pending: Deleted tombstone(@5)",
			"default/once: Deleted tombstone(@7)",
			"default/known: Deleted tombstone(@1)",
		}
		if slices.Contains(got, "default/gone: Deleted tombstone(@6)") {
			t.Rule("A key whose last pending item is a Deleted gets no second one.")
		}
		want := slices.Concat(pending, deletions, []string{"default/listed: Replaced @8"})
		require.ElementsMatch(t, want, got, "all popped items")
		require.Equal(t, pending, got[:4], "popped items 1 to 4, pending before Replace")
		require.ElementsMatch(t, deletions, got[4:7], "popped items 5 to 7, the deletions of Replace")
		t.Rule("Replace then queues a Replaced for each object of the list.")
		require.Equal(t, "default/listed: Replaced @8", got[7], "popped item 8, the list of Replace")
		t.Did("the store takes default/listed")
		known.objs = map[string]any{"default/listed": deploy("default/listed@8")}
		require.NoError(t, q.Replace([]any{known.objs["default/listed"]}, "9"), "the error of Replace, with a known object")
		require.Equal(t, []string{"default/listed: Replaced @8"}, q.drain(), "all items popped after the next Replace")
	})
}

func TestTask6_Resync_leaves_out_pending_objects(t *testing.T) {
	bonus(t, "The objects of a Resync do not go through the transformer again. A known object with pending items "+
		"is left out (#32125).", func(t *guard.T) {
		known := storeOf("default/a@1", "default/b@2")
		q := newRealFIFO(t, known, cache.RealFIFOOptions{Transformer: transformed})
		require.NoError(t, q.Update(deploy("default/a@3")), "the error of Update")
		require.NoError(t, q.Resync(), "the error of Resync")
		require.NoError(t, q.Resync(), "the error of the next Resync, while a Sync is pending")
		require.Equal(t, "default/a: Updated @3'", q.pop(), "item of the 1st Pop")
		require.Equal(t, "default/b: Sync @2", q.pop(), "item of the 2nd Pop")
		require.Empty(t, q.drain(), "all items popped afterwards")
		checkResyncInFirstList(t, func(known *store) recordedQueue {
			return newRealFIFO(t, known, cache.RealFIFOOptions{})
		})
		t.Story(8)
		q = newRealFIFO(t, known, cache.RealFIFOOptions{})
		require.NoError(t, q.Resync(), "the error of Resync, of a new queue")
		t.Rule("A Resync is not an event: HasSynced does not become true.")
		require.False(t, q.HasSynced(), "the queue has synced before any event or list")
	})
}

func TestTask6_Popped_item_can_be_collected(t *testing.T) {
	bonus(t, "The queue keeps nothing of a popped item. Its object can be collected while other items "+
		"wait.", func(t *guard.T) {
		for _, known := range []*store{storeOf(), nil} { // each kind
			t.Story(8)
			q := newRealFIFO(t, known, cache.RealFIFOOptions{})
			add := func(text string) weak.Pointer[appsv1.Deployment] { // a frame of its own: no reference
				d := deploy(text)
				require.NoError(t, q.Add(d), "the error of Add")
				return weak.Make(d)
			}
			first, last := add("default/web@1"), add("default/db@2")
			q.pop()
			requireCollected(t, first)
			require.Equal(t, "default/db: Added @2", q.pop(), "the item that waited")
			requireCollected(t, last)
			before, web := heapInUse(), deploy("default/web@3")
			require.NoError(t, q.Add(web), "the error of Add")
			t.Did("Update and Pop 40000 times; AtomicEvents is %t", known == nil)
			for range 40_000 {
				_ = q.Queue.Update(web)
				_, _ = q.Pop(func(any, bool) error { return nil })
			}
			require.Less(t, (heapInUse()-before)/40_000, 20, "bytes in use for each popped item, while one waits")
			runtime.KeepAlive(q)
			q = newRealFIFO(t, known, cache.RealFIFOOptions{KeyFunction: ownKey})
			before = heapInUse()
			require.NoError(t, q.Add("default/waiting"), "the error of Add")
			t.Did("Add and Pop 100000 keys; AtomicEvents is %t", known == nil)
			for i := range 100_000 {
				_ = q.Queue.Add(strconv.Itoa(i))
				_, _ = q.Pop(func(any, bool) error { return nil })
			}
			require.Less(t, (heapInUse()-before)/100_000, 20, "bytes in use for each popped key, while one waits")
			runtime.KeepAlive(q)
		}
	})
}

func TestTask6_Close_drains_and_wakes(t *testing.T) {
	bonus(t, "Close makes every waiting and every later Pop return cache.ErrFIFOClosed as soon as the queue is "+
		"empty.", func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{EmitDeltaTypeBookmark: true})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		closed := q.Queue.(interface{ IsClosed() bool }).IsClosed
		t.Rule("IsClosed reports whether Close has been called.")
		require.False(t, closed(), "the queue is closed before Close")
		q.Close()
		require.True(t, closed(), "the queue is closed after Close, with an item in it")
		t.Rule("Closing again does nothing.")
		q.Close()
		require.True(t, closed(), "the queue is closed after the 2nd Close")
		t.Rule("Add puts an Added with obj at the end of the queue. Close does not change that.")
		require.NoError(t, q.Add(deploy("default/b@2")), "the error of Add after Close")
		require.NoError(t, q.Resync(), "the error of Resync after Close")
		require.NoError(t, q.Queue.(interface{ Bookmark(string) error }).Bookmark(""),
			"the error of Bookmark after Close")
		for i, want := range []string{
			"default/a: Added @1", "default/b: Added @2", "SyncAll of the known objects", "Bookmark at ",
		} {
			require.Equal(t, want, q.pop(), "item of Pop %d after Close", i+1)
		}
		t.Rule("If the queue is empty and closed, Pop returns cache.ErrFIFOClosed.")
		_, err := q.Pop(func(any, bool) error { return nil })
		require.Equal(t, cache.ErrFIFOClosed, err, "the error of Pop when the closed queue is empty")

		t.Rule("Add puts an Added with obj at the end of the queue. It is popped even if a Pop has found the " +
			"queue closed before.")
		require.NoError(t, q.Add(deploy("default/c@3")), "the error of Add after the last Pop")
		require.Equal(t, "default/c: Added @3", q.pop(), "the item that came after the last Pop")

		t.Rule("HasSynced reports whether every item that was in the queue after the first Replace has been " +
			"popped and processed. Close is no list.")
		q = newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		q.Close()
		require.False(t, q.HasSynced(), "the queue has synced after Close")
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace after Close")
		require.True(t, q.HasSynced(), "the queue has synced after an empty list")

		t.Rule("Close makes every waiting and every later Pop return cache.ErrFIFOClosed as soon as the " +
			"queue is empty.")
		requireCloseWakes(t, func() recordedQueue { return newRealFIFO(t, nil, cache.RealFIFOOptions{}) })
		closeTwiceAtOnce(t, func() cache.Queue { return newRealFIFO(t, nil, cache.RealFIFOOptions{}).Queue })
	})
}
