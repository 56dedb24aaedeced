package deltafifo_test

// Task 6, the bonus: RealFIFO, which merges nothing. These tests are skipped until NewRealFIFOWithOptions is written.

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
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

// begun is for guard.Bonus.
func begun() { deltafifo.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}) }

// bonus is guard.Test, once the bonus has been begun.
func bonus(t *testing.T, f func(t *guard.T)) {
	t.Helper()
	guard.Bonus(t, begun)
	guard.Test(t, "", f)
}

// newRealFIFO makes a queue with known objects, or, if there are none, with AtomicEvents.
func newRealFIFO(t *guard.T, known *store, opts cache.RealFIFOOptions) told {
	t.Helper()
	silent := klog.New(nil)
	opts.Logger = &silent
	if opts.AtomicEvents = known == nil; known != nil {
		opts.KnownObjects = known
	}
	return told{deltafifo.NewRealFIFOWithOptions(opts), t}
}

func TestTask6_Nothing_is_merged(t *testing.T) {
	bonus(t, func(t *guard.T) {
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		require.NoError(t, q.Add(deploy("default/a@1")))
		require.NoError(t, q.Add(deploy("default/b@2")))
		require.NoError(t, q.Update(deploy("default/a@3")))
		require.NoError(t, q.Delete(deploy("default/a@4")))
		require.NoError(t, q.Delete(tombstone("default/a", "default/a@4")))
		require.Equal(t, []string{"default/a: Added @1", "default/b: Added @2", "default/a: Updated @3", "default/a: Deleted @4", "default/a: Deleted tombstone(@4)"}, q.drain(),
			"each change is an item of its own, in the order in which they came: what happened to a before b, the consumer hears before b")
	})
}

func TestTask6_Delete_of_a_stranger_is_told(t *testing.T) {
	bonus(t, func(t *guard.T) {
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		require.NoError(t, q.Delete(deploy("default/a@1")))
		require.Equal(t, []string{"default/a: Deleted @1"}, q.drain(), "what the server says is passed on; whether the consumer knows the object, the consumer finds out")
	})
}

func TestTask6_Errors_are_those_of_a_DeltaFIFO(t *testing.T) {
	bonus(t, func(t *guard.T) {
		failed := errors.New("the consumer failed")
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		for name, call := range map[string]func(any) error{"Add": q.Add, "Update": q.Update, "Delete": q.Delete} {
			require.ErrorAs(t, call("nameless"), &cache.KeyError{}, "%s: an object without a key is a KeyError", name)
		}
		require.NoError(t, q.Add(deploy("default/a@1")))
		t.Did("Pop, with a process function that fails")
		popped, err := q.Pop(func(any, bool) error { return failed })
		require.ErrorIs(t, err, failed, "what process returns, Pop returns")
		require.Equal(t, "default/a: Added @1", showDeltas(popped), "also then Pop returns the deltas")
		require.Empty(t, q.drain(), "nothing is put back")
	})
}

func TestTask6_Change_that_cannot_be_recorded_leaves_no_trace(t *testing.T) {
	bonus(t, func(t *guard.T) {
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
			require.ErrorIs(t, q.Replace(deploys("default/a@1"), "1"), cause, "whoever lists must hear of it, and list again")
			require.False(t, q.HasSynced(), "a list that failed was not the first one")
			require.ErrorIs(t, q.Add(deploy("default/a@1")), cause, "the error says why nothing was recorded")
			require.Empty(t, q.drain(), "what failed is not in the queue")
		}
	})
}

func TestTask6_First_event_means_there_is_no_first_list(t *testing.T) {
	bonus(t, func(t *guard.T) {
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		require.False(t, q.HasSynced(), "nothing has come")
		require.NoError(t, q.Add(deploy("default/a@1")))
		require.True(t, q.HasSynced(), "a producer that begins with an event has no list to wait for")
		require.NoError(t, q.Replace(deploys("default/a@2"), "2"))
		require.True(t, q.HasSynced(), "what has synced stays so")
	})
}

func TestTask6_Known_object_that_cannot_be_found(t *testing.T) {
	bonus(t, func(t *guard.T) {
		known := storeOf("default/a@1", "default/broken@2", "default/c@3")
		known.broken["default/broken"] = errLookup
		known.ghosts = []string{"default/ghost"}
		q := newRealFIFO(t, known, cache.RealFIFOOptions{})
		require.NoError(t, q.Resync())
		require.ElementsMatch(t, []string{"default/a: Sync @1", "default/c: Sync @3"}, q.drain(), "there is no object to look at again; the others are looked at all the same")
		require.NoError(t, q.Replace(deploys("default/a@4", "default/c@5"), "5"))
		require.ElementsMatch(t, []string{"default/broken: Deleted tombstone(nothing)", "default/ghost: Deleted tombstone(nothing)", "default/a: Replaced @4", "default/c: Replaced @5"}, q.drain(),
			"its key is known and not in the list, so it was deleted, and the consumer must hear of it, if only the key")
	})
}

func TestTask6_Every_method_takes_the_lock(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Race(t, "every method may be called from any goroutine: each takes the lock before it touches a field", func(t *guard.T) {
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
				_ = q.Add(deploy("default/c@3")) // so that nobody waits for ever
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
	bonus(t, func(t *guard.T) {
		q := newRealFIFO(t, storeOf("default/known@1", "default/listed@2", "default/pending@3"), cache.RealFIFOOptions{})
		require.NoError(t, q.Update(deploy("default/pending@4")))
		require.NoError(t, q.Update(deploy("default/pending@5")))
		require.NoError(t, q.Delete(deploy("default/gone@6")))
		require.NoError(t, q.Add(deploy("default/once@7")))
		require.NoError(t, q.Replace(deploys("default/listed@8"), "8"))
		rule := "behind what is pending: first a tombstone for each key that is pending or known and not listed, with its newest object, and none for a key whose last item is a deletion already; then the list"
		got := q.drain()
		require.Len(t, got, 8, rule)
		require.Equal(t, []string{"default/pending: Updated @4", "default/pending: Updated @5", "default/gone: Deleted @6", "default/once: Added @7"}, got[:4], "what is pending stays as it is")
		require.ElementsMatch(t, []string{"default/pending: Deleted tombstone(@5)", "default/once: Deleted tombstone(@7)", "default/known: Deleted tombstone(@1)"}, got[4:7], rule)
		require.Equal(t, "default/listed: Replaced @8", got[7], rule)
	})
}

func TestTask6_Resync_leaves_out_what_is_pending(t *testing.T) {
	bonus(t, func(t *guard.T) {
		q := newRealFIFO(t, storeOf("default/a@1", "default/b@2"), cache.RealFIFOOptions{Transformer: transformed})
		require.NoError(t, q.Update(deploy("default/a@3")))
		require.NoError(t, q.Resync())
		require.Equal(t, "default/a: Updated @3'", q.pop(), "what comes in is transformed")
		require.Equal(t, "default/b: Sync @2", q.pop(), "a Sync of a would take the cache back in time (#32125); b has been transformed when it came")
		require.Empty(t, q.drain(), "that is all")
	})
}

func TestTask6_Atomic_Replace_is_one_item(t *testing.T) {
	bonus(t, func(t *guard.T) {
		list := deploys("default/b@1", "default/a@2")
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{Transformer: transformed})
		require.NoError(t, q.Replace(list, "7"))
		require.False(t, q.HasSynced(), "it has not been popped yet")
		require.NoError(t, q.Add(deploy("default/c@8")))
		popped, initial := q.popInitial()
		require.Equal(t, "ReplacedAll [default/b@1' default/a@2'] at 7", popped, "the whole list, transformed, and the version it had; the consumer compares it with what it has at the time when it gets there")
		require.True(t, initial, "this is the first list")
		require.True(t, q.HasSynced(), "the first list is one item, and it has been popped")
		require.Equal(t, "@1", show(list[0]), "the list belongs to the caller, who finds it as it was")
		popped, initial = q.popInitial()
		require.Equal(t, "default/c: Added @8'", popped, "what comes behind the list stays behind it")
		require.False(t, initial, "c came after the list")
	})
}

func TestTask6_Empty_list_is_an_item_too(t *testing.T) {
	bonus(t, func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{})
		require.NoError(t, q.Replace(nil, "7"))
		require.False(t, q.HasSynced(), "the consumer may have something that is not there any more, and has not been told")
		popped, initial := q.popInitial()
		require.Equal(t, "ReplacedAll [] at 7", popped, "that there is nothing is news, too")
		require.True(t, initial, "this is the first list")
		require.True(t, q.HasSynced(), "it has been popped")

		q = newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		require.NoError(t, q.Replace(nil, "7"))
		require.True(t, q.HasSynced(), "with known objects there is nothing to tell, and nobody will ever pop")
	})
}

func TestTask6_Atomic_Resync_and_Bookmark_are_items(t *testing.T) {
	bonus(t, func(t *guard.T) {
		for _, bookmarks := range []bool{true, false} {
			q := newRealFIFO(t, nil, cache.RealFIFOOptions{EmitDeltaTypeBookmark: bookmarks, Transformer: transformed})
			t.Did("Bookmark 7, with EmitDeltaTypeBookmark %v", bookmarks)
			require.NoError(t, q.Queue.(interface{ Bookmark(string) error }).Bookmark("7"))
			require.NoError(t, q.Resync())
			want := []string{"Bookmark at 7", "SyncAll of what you know"}
			if !bookmarks {
				want = want[1:]
			}
			require.False(t, q.HasSynced(), "neither is an event, and no list has come")
			require.Equal(t, want, q.drain(), "a Resync is one item, and so is a Bookmark for those who asked for it: the consumer's store learns how far it has got although nothing has changed")
		}
	})
}

func TestTask6_Options_that_contradict_each_other_panic(t *testing.T) {
	bonus(t, func(t *guard.T) {
		for why, opts := range map[string]cache.RealFIFOOptions{
			"without AtomicEvents it compares, so it needs KnownObjects":                       {},
			"with AtomicEvents the consumer compares, so KnownObjects would never be asked":    {AtomicEvents: true, KnownObjects: storeOf()},
			"Replace asks the known objects under the lock, so process must not run without":   {KnownObjects: storeOf(), UnlockWhileProcessing: true},
			"tombstones of known objects have old versions, so bookmarks would be out of turn": {KnownObjects: storeOf(), EmitDeltaTypeBookmark: true},
		} {
			require.Panics(t, func() { deltafifo.NewRealFIFOWithOptions(opts) }, why)
		}
	})
}

func TestTask6_Synced_counts_items(t *testing.T) {
	bonus(t, func(t *guard.T) {
		q := newRealFIFO(t, storeOf("default/gone@1"), cache.RealFIFOOptions{Name: "deployments"})
		checker, synced := q.HasSyncedChecker(), false
		require.Equal(t, "deployments", checker.Name(), "the name in the options")
		t.Go(func() { <-checker.Done(); synced = true })
		require.NoError(t, q.Replace(deploys("default/web@2", "default/web@3"), "7"))
		for range 3 {
			synctest.Wait()
			require.False(t, synced, "two objects of one key and a deletion are three items, and not all have been popped")
			q.pop()
		}
		synctest.Wait()
		require.True(t, synced, "all three have been popped")
	})
}

func TestTask6_Unlocked_process_lets_events_in(t *testing.T) {
	bonus(t, func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{UnlockWhileProcessing: true})
		require.NoError(t, q.Add(deploy("default/a@1")))
		t.Did("Pop; process itself calls Add")
		early := false
		_, err := q.Pop(func(any, bool) error {
			early = meanwhile(t, func() { _ = q.Queue.Add(deploy("default/b@2")) })
			return nil
		})
		require.NoError(t, err)
		require.True(t, early, "a consumer that takes its time must not hold up the Reflector")
		require.Equal(t, []string{"default/b: Added @2"}, q.drain(), "what came in meanwhile is next")
	})
}

func TestTask6_Locked_process_keeps_events_out(t *testing.T) {
	bonus(t, func(t *guard.T) {
		many := 2_000
		for name, q := range map[string]told{
			"without UnlockWhileProcessing":                  newRealFIFO(t, nil, cache.RealFIFOOptions{}),
			"with UnlockWhileProcessing and 2000 items left": newRealFIFO(t, nil, cache.RealFIFOOptions{UnlockWhileProcessing: true}),
		} {
			for range many + 1 {
				require.NoError(t, q.Queue.Add(deploy("default/a@1")))
			}
			t.Did("Pop, %s, while another goroutine calls Add", name)
			early := false
			_, err := q.Pop(func(any, bool) error {
				early = meanwhile(t, func() { _ = q.Queue.Add(deploy("default/b@2")) })
				return nil
			})
			require.NoError(t, err)
			require.False(t, early, "with known objects process must run under the lock; and a queue that grows faster than it is emptied must slow its producer down before it eats all memory")
			synctest.Wait()
		}
	})
}

func TestTask6_Popped_item_can_be_collected(t *testing.T) {
	bonus(t, func(t *guard.T) {
		q := newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		popped := func() weak.Pointer[appsv1.Deployment] { // a frame of its own, so that the stack does not keep it
			web := deploy("default/web@1")
			require.NoError(t, q.Add(web))
			return weak.Make(web)
		}()
		require.NoError(t, q.Add(deploy("default/db@2")))
		q.pop()
		t.Did("collect garbage")
		runtime.GC()
		runtime.GC()
		require.Nil(t, popped.Value(), "the array behind a slice keeps what stood in front of it: clear the slot, or a popped object stays in memory as long as the queue is busy")
		require.Equal(t, []string{"default/db: Added @2"}, q.drain(), "the next one is still there")
	})
}

func TestTask6_Close_drains_and_wakes(t *testing.T) {
	bonus(t, func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{})
		require.NoError(t, q.Add(deploy("default/a@1")))
		var errs [2]error
		closed := q.Queue.(interface{ IsClosed() bool }).IsClosed
		require.False(t, closed(), "nobody has closed it")
		q.Close()
		require.True(t, closed(), "it has been closed; what is in it can still be popped")
		require.Equal(t, "default/a: Added @1", q.pop(), "what is in the queue when it is closed can still be popped")
		_, err := q.Pop(func(any, bool) error { return nil })
		require.ErrorIs(t, err, cache.ErrFIFOClosed, "closed, and empty")

		q = newRealFIFO(t, nil, cache.RealFIFOOptions{})
		for i := range errs {
			t.Go(func() { _, errs[i] = q.Pop(func(any, bool) error { return nil }) })
		}
		t.Did("two Pops wait")
		synctest.Wait()
		q.Close()
		synctest.Wait()
		for _, err := range errs {
			require.ErrorIs(t, err, cache.ErrFIFOClosed, "everyone who waits has to hear of it")
		}
	})
}

func TestTask6_Pop_waits_until_there_is_something(t *testing.T) {
	bonus(t, func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{})
		popped := ""
		t.Go(func() { popped = q.pop() })
		synctest.Wait()
		require.Empty(t, popped, "there is nothing to pop")
		require.NoError(t, q.Add(deploy("default/web@1")))
		synctest.Wait()
		require.Equal(t, "default/web: Added @1", popped, "Add wakes the Pop that waits")
	})
}

// The same storm of events goes into three queues: go test ./04-deltafifo -run Side_by_side -v prints what comes out.
func TestTask6_Side_by_side(t *testing.T) {
	bonus(t, func(t *guard.T) {
		known := func() *store { return storeOf("ns/a@1", "ns/b@1") }
		columns := []string{"DeltaFIFO", "RealFIFO with KnownObjects", "RealFIFO with AtomicEvents"}
		delivered := map[string][]string{}
		for name, q := range map[string]told{
			columns[0]: newQueue(t, options{KnownObjects: known()}),
			columns[1]: newRealFIFO(t, known(), cache.RealFIFOOptions{}),
			columns[2]: newRealFIFO(t, nil, cache.RealFIFOOptions{EmitDeltaTypeBookmark: true}),
		} {
			t.Story(20)
			t.Did("a %s, whose consumer has ns/a@1 and ns/b@1", name)
			require.NoError(t, q.Update(deploy("ns/a@2")))
			require.NoError(t, q.Update(deploy("ns/a@3")))
			require.NoError(t, q.Delete(deploy("ns/b@4")))
			require.NoError(t, q.Add(deploy("ns/b@5")))
			require.NoError(t, q.Resync())
			require.NoError(t, q.Replace(deploys("ns/a@6"), "6"))
			for _, popped := range q.drain() {
				delivered[name] = append(delivered[name], strings.TrimPrefix(popped, "ns/"))
			}
		}
		want := map[string][]string{
			columns[0]: {"a: Updated @2, Updated @3, Replaced @6", "b: Deleted @4, Added @5, Deleted tombstone(@5)"},
			columns[1]: {"a: Updated @2", "a: Updated @3", "b: Deleted @4", "b: Added @5", "b: Deleted tombstone(@5)", "a: Replaced @6"},
			columns[2]: {"a: Updated @2", "a: Updated @3", "b: Deleted @4", "b: Added @5", "SyncAll of what you know", "ReplacedAll [ns/a@6] at 6"},
		}
		for _, name := range columns {
			for i, popped := range delivered[name] {
				t.Logf("%-26s  Pop %d  %s", name, i+1, popped)
			}
			require.Equal(t, want[name], delivered[name], fmt.Sprintf("what a %s delivers", name))
		}
	})
}

func TestTask6_Under_client_gos_own_controller(t *testing.T) {
	bonus(t, func(t *guard.T) {
		silent := klog.New(nil)
		src := source{cachetesting.NewFakeControllerSource()}
		t.Cleanup(src.Shutdown)
		src.Add(deploy("default/a"))
		yours, clientGos := &consumer{store: storeOf()}, &consumer{store: storeOf()}
		t.Did("run client-go's controller on the queue, and another one on client-go's")
		yours.run(t, src, deltafifo.NewRealFIFOWithOptions(cache.RealFIFOOptions{Logger: &silent, KnownObjects: yours}))
		clientGos.run(t, src, cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{Logger: &silent, KnownObjects: clientGos}))
		require.Equal(t, clientGos.news(), yours.news(), "the first list")
		t.Did("change a twice, make b, break the watch and delete b, and let an hour pass")
		src.Modify(deploy("default/a"))
		src.Modify(deploy("default/a"))
		src.Add(deploy("default/b"))
		src.DeleteDropWatch(deploy("default/b"))
		src.ResetWatch()
		time.Sleep(2 * time.Hour)
		require.Equal(t, clientGos.news(), yours.news(), "a consumer cannot tell your queue from client-go's")
		require.Equal(t, []string{"default/a"}, yours.keys(), "b is gone")
	})
}
