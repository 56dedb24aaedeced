package deltafifo_test

// Task 6, the bonus: RealFIFO, which merges nothing. The tests of AtomicEvents are in task6_atomic_test.go. All of them
// are skipped until NewRealFIFOWithOptions is written.

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

// begun calls the first function that the bonus asks for; guard.Bonus skips a test as long as it is missing.
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
	bonus(t, "Each change is an item of its own, in the order in which they came, and nothing is merged. A change of a "+
		"that came before b is popped before b.", func(t *guard.T) {
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		require.NoError(t, q.Add(deploy("default/b@2")), "the error of Add")
		require.NoError(t, q.Update(deploy("default/a@3")), "the error of Update")
		require.NoError(t, q.Delete(deploy("default/a@4")), "the error of the 1st Delete")
		require.NoError(t, q.Delete(tombstone("default/a", "default/a@4")), "the error of the 2nd Delete")
		require.Equal(t, []string{
			"default/a: Added @1",
			"default/b: Added @2",
			"default/a: Updated @3",
			"default/a: Deleted @4",
			"default/a: Deleted tombstone(@4)",
		}, q.drain(), "all popped items, in order")
	})
}

func TestTask6_Delete_of_a_stranger_is_told(t *testing.T) {
	bonus(t, "Delete puts a Deleted at the end of the queue, whether or not the object is known. The consumer finds out "+
		"whether it has the object.", func(t *guard.T) {
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		require.NoError(t, q.Delete(deploy("default/a@1")), "the error of Delete")
		require.Equal(t, []string{"default/a: Deleted @1"}, q.drain(), "all popped items")
	})
}

func TestTask6_Errors_are_those_of_a_DeltaFIFO(t *testing.T) {
	bonus(t, "An object without a key is a cache.KeyError.", func(t *guard.T) {
		failed := errors.New("the consumer failed")
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		for name, call := range map[string]func(any) error{"Add": q.Add, "Update": q.Update, "Delete": q.Delete} {
			require.ErrorAs(t, call("nameless"), &cache.KeyError{}, "the error of %s of an object without a key", name)
		}
		t.Rule("The error of process is returned, with the deltas; they are not put back.")
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		t.Did("Pop, with a process function that fails")
		popped, err := q.Pop(func(any, bool) error { return failed })
		require.ErrorIs(t, err, failed, "the error of Pop")
		require.Equal(t, "default/a: Added @1", showDeltas(popped), "the deltas that Pop returns with the error")
		require.Empty(t, q.drain(), "all items popped afterwards")
	})
}

func TestTask6_Change_that_cannot_be_recorded_leaves_no_trace(t *testing.T) {
	bonus(t, "A change that fails leaves no trace: the error wraps its cause, and nothing is in the queue. A Replace "+
		"that failed was not the first list.", func(t *guard.T) {
		nameless, sour := errors.New("no key today"), errors.New("the transformer failed")
		for cause, opts := range map[error]cache.RealFIFOOptions{
			nameless: {KeyFunction: func(obj any) (string, error) {
				if d, ok := obj.(*appsv1.Deployment); ok && d.Name == "a" {
					return "", nameless
				}
				return cache.MetaNamespaceKeyFunc(obj)
			}},
			sour: {Transformer: func(obj any) (any, error) {
				if d, ok := obj.(*appsv1.Deployment); ok && d.Name == "a" {
					return nil, sour
				}
				return obj, nil
			}},
		} {
			t.Story(8)
			q := newRealFIFO(t, storeOf(), opts)
			t.Did("NewRealFIFOWithOptions, with a function that fails for a: %v", cause)
			require.ErrorIs(t, q.Replace(deploys("default/a@1"), "1"), cause, "the error of Replace")
			require.False(t, q.HasSynced(), "the queue has synced after a Replace that failed")
			require.ErrorIs(t, q.Add(deploy("default/a@1")), cause, "the error of Add")
			require.Empty(t, q.drain(), "all popped items")
		}
	})
}

func TestTask6_First_event_means_there_is_no_first_list(t *testing.T) {
	bonus(t, "If an event comes before any list, there is no first list to wait for: HasSynced is true, and stays true "+
		"when a list comes.", func(t *guard.T) {
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		require.False(t, q.HasSynced(), "the queue has synced before anything came")
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		require.True(t, q.HasSynced(), "the queue has synced after the first event")
		require.NoError(t, q.Replace(deploys("default/a@2"), "2"), "the error of Replace")
		require.True(t, q.HasSynced(), "the queue has still synced after the list that follows the event")
	})
}

func TestTask6_Known_object_that_cannot_be_found(t *testing.T) {
	bonus(t, "Resync puts in a Sync for each known object that can be found.", func(t *guard.T) {
		known := storeOf("default/a@1", "default/broken@2", "default/c@3")
		known.broken["default/broken"] = errLookup
		known.ghosts = []string{"default/ghost"}
		q := newRealFIFO(t, known, cache.RealFIFOOptions{})
		require.NoError(t, q.Resync(), "the error of Resync")
		require.ElementsMatch(t, []string{"default/a: Sync @1", "default/c: Sync @3"}, q.drain(),
			"all items popped after Resync")
		t.Rule("Replace puts in a deletion for each known key that is not in the list. If the object cannot be found the " +
			"tombstone carries nil.")
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
	guard.Race(t, "Every method may be called from any goroutine: each takes the lock before it touches a "+
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
		var closing sync.WaitGroup
		closing.Go(q.Close)
		q.(interface{ IsClosed() bool }).IsClosed()
		closing.Wait()
	})
}

func TestTask6_Replace_compares_with_queue_and_known_objects(t *testing.T) {
	bonus(t, "Replace first puts in a tombstone, with the newest object, for each key that is pending or known and not "+
		"listed; then the list. A key whose last pending item is a Deleted gets no second one.", func(t *guard.T) {
		q := newRealFIFO(t, storeOf("default/known@1", "default/listed@2", "default/pending@3"), cache.RealFIFOOptions{})
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
		require.ElementsMatch(t, slices.Concat(pending, deletions, []string{"default/listed: Replaced @8"}), got,
			"all popped items")
		require.Equal(t, pending, got[:4], "popped items 1 to 4, pending before Replace")
		require.ElementsMatch(t, deletions, got[4:7], "popped items 5 to 7, the deletions of Replace")
		require.Equal(t, "default/listed: Replaced @8", got[7], "popped item 8, the list of Replace")
	})
}

func TestTask6_Resync_leaves_out_what_is_pending(t *testing.T) {
	bonus(t, "Nothing goes back in time: Resync leaves out a known object that has pending items (#32125). The others "+
		"do not go through the transformer, because they have already.", func(t *guard.T) {
		q := newRealFIFO(t, storeOf("default/a@1", "default/b@2"), cache.RealFIFOOptions{Transformer: transformed})
		require.NoError(t, q.Update(deploy("default/a@3")), "the error of Update")
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Equal(t, "default/a: Updated @3'", q.pop(), "item of the 1st Pop")
		require.Equal(t, "default/b: Sync @2", q.pop(), "item of the 2nd Pop")
		require.Empty(t, q.drain(), "all items popped afterwards")
	})
}

func TestTask6_Synced_counts_items(t *testing.T) {
	bonus(t, "HasSynced counts items, and Done is closed when all of them were popped: two objects of one key and a "+
		"deletion are three.", func(t *guard.T) {
		q := newRealFIFO(t, storeOf("default/gone@1"), cache.RealFIFOOptions{Name: "deployments"})
		checker, synced := q.HasSyncedChecker(), false
		require.Equal(t, "deployments", checker.Name(), "the Name of the HasSyncedChecker")
		t.Go(func() { <-checker.Done(); synced = true })
		require.NoError(t, q.Replace(deploys("default/web@2", "default/web@3"), "7"), "the error of Replace")
		for i := range 3 {
			synctest.Wait()
			require.False(t, synced, "Done is closed after %d of 3 items were popped", i)
			q.pop()
		}
		synctest.Wait()
		require.True(t, synced, "Done is closed after 3 of 3 items were popped")
	})
}

func TestTask6_Popped_item_can_be_collected(t *testing.T) {
	bonus(t, "Of an item that has been popped the queue keeps nothing. The array behind a slice keeps the items in "+
		"front of it, so clear the slot.", func(t *guard.T) {
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		popped := func() weak.Pointer[appsv1.Deployment] { // a frame of its own, so that the stack does not keep it
			web := deploy("default/web@1")
			require.NoError(t, q.Add(web), "the error of Add")
			return weak.Make(web)
		}()
		require.NoError(t, q.Add(deploy("default/db@2")), "the error of Add")
		q.pop()
		t.Did("collect garbage")
		runtime.GC()
		runtime.GC()
		require.True(t, popped.Value() == nil, "the popped object is collected")
		t.Rule("Each change is an item of its own, in the order in which they came.")
		require.Equal(t, []string{"default/db: Added @2"}, q.drain(), "all items popped afterwards")
	})
}

func TestTask6_Close_drains_and_wakes(t *testing.T) {
	bonus(t, "Close lets every Pop return cache.ErrFIFOClosed as soon as the queue is empty. IsClosed reports whether "+
		"Close has been called.", func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		var errs [2]error
		closed := q.Queue.(interface{ IsClosed() bool }).IsClosed
		require.False(t, closed(), "the queue is closed before Close")
		q.Close()
		require.True(t, closed(), "the queue is closed after Close, with an item in it")
		require.Equal(t, "default/a: Added @1", q.pop(), "item of the 1st Pop after Close")
		_, err := q.Pop(func(any, bool) error { return nil })
		require.ErrorIs(t, err, cache.ErrFIFOClosed, "the error of Pop when the closed queue is empty")

		q = newRealFIFO(t, nil, cache.RealFIFOOptions{})
		for i := range errs {
			t.Go(func() { _, errs[i] = q.Pop(func(any, bool) error { return nil }) })
		}
		t.Did("two Pops wait")
		synctest.Wait()
		q.Close()
		synctest.Wait()
		for i, err := range errs {
			require.ErrorIs(t, err, cache.ErrFIFOClosed, "the error of waiting Pop %d of 2", i+1)
		}
	})
}

func TestTask6_Pop_waits_until_there_is_something(t *testing.T) {
	bonus(t, "Pop blocks until there is an item. Add wakes a Pop that waits.", func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{})
		popped := ""
		t.Go(func() { popped = q.pop() })
		synctest.Wait()
		require.Empty(t, popped, "item popped from the empty queue")
		require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
		synctest.Wait()
		require.Equal(t, "default/web: Added @1", popped, "item of the Pop that waited")
	})
}

func TestTask6_Under_client_gos_own_controller(t *testing.T) {
	bonus(t, "A consumer cannot tell your queue from client-go's: under the same controller both deliver the same "+
		"items.", func(t *guard.T) {
		silent := klog.New(nil)
		src := source{cachetesting.NewFakeControllerSource()}
		t.Cleanup(src.Shutdown)
		src.Add(deploy("default/a"))
		yours, clientGos := &consumer{store: storeOf()}, &consumer{store: storeOf()}
		t.Did("run client-go's controller on your queue, and another one on client-go's")
		opts := cache.RealFIFOOptions{Logger: &silent, KnownObjects: yours}
		yours.run(t, src, deltafifo.NewRealFIFOWithOptions(opts))
		opts.KnownObjects = clientGos
		clientGos.run(t, src, cache.NewRealFIFOWithOptions(opts))
		require.Equal(t, clientGos.news(), yours.news(), "items from your queue after the first list")
		t.Did("change a twice, make b, break the watch and delete b, and let two hours pass")
		src.Modify(deploy("default/a"))
		src.Modify(deploy("default/a"))
		src.Add(deploy("default/b"))
		src.DeleteDropWatch(deploy("default/b"))
		src.ResetWatch()
		time.Sleep(2 * time.Hour)
		require.Equal(t, clientGos.news(), yours.news(), "items from your queue after the events and the broken watch")
		require.Equal(t, []string{"default/a"}, yours.keys(), "keys in your consumer's store at the end")
	})
}
