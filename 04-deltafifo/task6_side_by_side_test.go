package deltafifo_test

// Task 6, the bonus: RealFIFO with AtomicEvents, the options that go with it, and all queues side by side.

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask6_Atomic_Replace_is_one_item(t *testing.T) {
	const (
		oneItem = "With AtomicEvents Replace queues one ReplacedAll with a cache.ReplacedAllInfo: the " +
			"objects and the version."
		counting = "HasSynced reports whether every item that was in the queue after the first Replace has " +
			"been popped and processed."
		marking = "Pop removes the first item and calls process with it, as cache.Deltas of length one, and " +
			"with whether it belongs to the first list."
	)
	bonus(t, oneItem, func(t *guard.T) {
		list := deploys("default/b@1", "default/a@2", "default/b@3")
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{Transformer: transformed})
		require.NoError(t, q.Replace(list, "7"), "the error of Replace")
		t.Rule(counting)
		require.False(t, q.HasSynced(), "the queue has synced before its item was popped")
		t.Rule(oneItem)
		require.NoError(t, q.Add(deploy("default/c@8")), "the error of Add")
		popped, initial := q.popInitial()
		require.Equal(t, "ReplacedAll [default/b@1' default/a@2' default/b@3'] at 7", popped, "item of the 1st Pop")
		t.Rule(marking)
		require.Equal(t, true, initial, "isInInitialList of the ReplacedAll")
		t.Rule(counting)
		require.True(t, q.HasSynced(), "the queue has synced after the ReplacedAll was popped")
		t.Rule("The objects go through the transformer, and the list itself is not changed.")
		require.Equal(t, "@1", show(list[0]), "the 1st object in the caller's list")
		t.Rule("An item that came after the list stays behind it.")
		popped, initial = q.popInitial()
		require.Equal(t, "default/c: Added @8'", popped, "item of the 2nd Pop")
		t.Rule(marking)
		require.Equal(t, false, initial, "isInInitialList of %s", popped)
	})
}

func TestTask6_Empty_list_is_an_item_too(t *testing.T) {
	bonus(t, "With AtomicEvents the list is one item, even if it is empty. The consumer may still have objects "+
		"that no longer exist.", func(t *guard.T) {
		q := newRealFIFO(t, nil, cache.RealFIFOOptions{})
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace")
		require.False(t, q.HasSynced(), "the queue has synced before its item was popped")
		popped, initial := q.popInitial()
		require.Equal(t, "ReplacedAll [] at 7", popped, "the popped item")
		require.Equal(t, true, initial, "isInInitialList of the ReplacedAll")
		require.True(t, q.HasSynced(), "the queue has synced after its item was popped")
		t.Rule("With AtomicEvents Replace queues one ReplacedAll with a cache.ReplacedAllInfo: the objects and " +
			"the version. Later lists are items too, and nothing is merged.")
		require.NoError(t, q.Replace(nil, "8"), "the error of the 2nd Replace")
		require.NoError(t, q.Replace(nil, "9"), "the error of the 3rd Replace")
		require.Equal(t, []string{"ReplacedAll [] at 8", "ReplacedAll [] at 9"}, q.drain(), "all popped items")

		t.Rule("With known objects an empty list queues nothing, so it is synced at once.")
		q = newRealFIFO(t, storeOf(), cache.RealFIFOOptions{})
		require.NoError(t, q.Replace(nil, "7"), "the error of Replace with known objects")
		require.True(t, q.HasSynced(), "the queue has synced after an empty list")
	})
}

func TestTask6_Atomic_Resync_and_Bookmark_are_items(t *testing.T) {
	bonus(t, "With AtomicEvents Resync queues one SyncAll with a cache.SyncAllInfo.", func(t *guard.T) {
		for _, bookmarks := range []bool{true, false} {
			opts := cache.RealFIFOOptions{EmitDeltaTypeBookmark: bookmarks, Transformer: transformed}
			q := newRealFIFO(t, nil, opts)
			for _, version := range []string{"7", "8"} {
				t.Did("Bookmark %s, with EmitDeltaTypeBookmark %v", version, bookmarks)
				require.NoError(t, q.Queue.(interface{ Bookmark(string) error }).Bookmark(version),
					"the error of Bookmark")
			}
			require.NoError(t, q.Resync(), "the error of Resync")
			require.NoError(t, q.Resync(), "the error of the 2nd Resync")
			syncs := slices.Repeat([]string{"SyncAll of the known objects"}, 2)
			want := append([]string{"Bookmark at 7", "Bookmark at 8"}, syncs...)
			if !bookmarks {
				want = syncs
			}
			t.Rule("A Bookmark is not an event: HasSynced does not become true. A Resync is not an event " +
				"either.")
			require.False(t, q.HasSynced(), "the queue has synced before any event or list")
			t.Rule("With AtomicEvents Resync queues one SyncAll with a cache.SyncAllInfo.")
			popped := q.drain()
			require.Subset(t, popped, syncs, "all popped items")
			t.Rule("Each change is an item of its own, and nothing is merged. Neither are two calls of Resync.")
			require.Equal(t, syncs, popped[max(0, len(popped)-2):], "the last two popped items")
			t.Rule("Bookmark puts a Bookmark with a cache.BookmarkInfo at the end of the queue, if the " +
				"options ask for EmitDeltaTypeBookmark; otherwise it does nothing.")
			require.Equal(t, want, popped, "all popped items, with EmitDeltaTypeBookmark %v", bookmarks)
		}
	})
}

func TestTask6_Options_that_contradict_each_other_panic(t *testing.T) {
	bonus(t, "NewRealFIFOWithOptions panics if the options contradict each other: KnownObjects are required "+
		"without AtomicEvents and forbidden with them; UnlockWhileProcessing and EmitDeltaTypeBookmark "+
		"require AtomicEvents.", func(t *guard.T) {
		for _, c := range []struct {
			name string
			opts cache.RealFIFOOptions
		}{
			{
				"no options", // without AtomicEvents the queue compares
				cache.RealFIFOOptions{},
			},
			{
				"AtomicEvents and KnownObjects",
				cache.RealFIFOOptions{AtomicEvents: true, KnownObjects: storeOf()},
			},
			{
				"KnownObjects and UnlockWhileProcessing", // Replace reads known objects under the lock
				cache.RealFIFOOptions{KnownObjects: storeOf(), UnlockWhileProcessing: true},
			},
			{
				"KnownObjects and EmitDeltaTypeBookmark", // tombstones have old versions
				cache.RealFIFOOptions{KnownObjects: storeOf(), EmitDeltaTypeBookmark: true},
			},
		} {
			t.Did("NewRealFIFOWithOptions with %s", c.name)
			require.Panics(t, func() { deltafifo.NewRealFIFOWithOptions(c.opts) },
				"NewRealFIFOWithOptions with %s", c.name)
		}
	})
}

func TestTask6_Unlocked_process_lets_events_in(t *testing.T) {
	bonus(t, "process runs under the queue's lock; with UnlockWhileProcessing it runs without the lock, unless "+
		"2000 items or more are waiting. Otherwise a slow consumer blocks the Reflector.", func(t *guard.T) {
		for _, c := range []struct {
			waiting int
			list    bool // the item of Pop is the first list
			closed  bool // the queue is closed, and a list of 2000 objects waits too
		}{{0, false, false}, {1_999, false, false}, {0, true, false}, {1_999, true, false}, {1, false, true}} {
			q, waiting := newRealFIFO(t, nil, cache.RealFIFOOptions{UnlockWhileProcessing: true}), c.waiting
			adds := waiting
			if c.list {
				require.NoError(t, q.Replace(nil, "1"), "the error of Replace")
			} else {
				adds += 2
			}
			for range adds {
				require.NoError(t, q.Queue.Add(deploy("default/a@1")), "the error of Add")
			}
			if !c.list {
				q.pop() // for the second row, process keeps the lock
			}
			if c.closed {
				q.Close()
				list := slices.Repeat([]any{deploy("default/a@1")}, 2_000)
				require.NoError(t, q.Queue.Replace(list, "2"), "the error of Replace")
				waiting++
			}
			t.Did("Pop, with %d items left; while process runs, Add on another goroutine", waiting)
			early := false
			_, err := q.Pop(func(any, bool) error {
				early = meanwhile(t, func() { _ = q.Queue.Add(deploy("default/b@2")) })
				return nil
			})
			require.NoError(t, err, "the error of Pop")
			require.True(t, early, "Add returns while process is running, with %d items left", waiting)
			popped := q.drain()
			require.Equal(t, waiting+1, len(popped), "items popped afterwards")
			require.Equal(t, "default/b: Added @2", popped[len(popped)-1],
				"the last item popped afterwards")
		}
	})
}

func TestTask6_Locked_process_keeps_events_out(t *testing.T) {
	bonus(t, "process runs under the queue's lock; with UnlockWhileProcessing it runs without the lock, unless "+
		"2000 items or more are waiting. Then the lock slows down the producer before the queue fills the "+
		"memory.", func(t *guard.T) {
		unlocked := cache.RealFIFOOptions{UnlockWhileProcessing: true}
		for _, c := range []struct {
			name    string
			q       recordedQueue
			waiting int
			synced  bool // false: the items come from Resync, before the first list
		}{
			{"without UnlockWhileProcessing", newRealFIFO(t, nil, cache.RealFIFOOptions{}), 0, true},
			{"with KnownObjects", newRealFIFO(t, storeOf(), cache.RealFIFOOptions{}), 0, true},
			{"with UnlockWhileProcessing and 2000 items left", newRealFIFO(t, nil, unlocked), 2_000, true},
			{"with 2000 items left before the first list", newRealFIFO(t, nil, unlocked), 2_000, false},
		} {
			fill(t, c.q, c.waiting+1, c.synced)
			t.Did("Pop, %s, while another goroutine calls Add", c.name)
			early := false
			_, err := c.q.Pop(func(any, bool) error {
				early = meanwhile(t, func() { _ = c.q.Queue.Add(deploy("default/b@2")) })
				return nil
			})
			require.NoError(t, err, "the error of Pop")
			require.False(t, early, "Add returned while process was running, %s", c.name)
			synctest.Wait()
		}
	})
}

// The same events go into three queues: go test ./04-deltafifo -run Side_by_side -v prints the deltas that come out.
func TestTask6_Side_by_side(t *testing.T) {
	bonus(t, "A DeltaFIFO pops all deltas of a key together. A RealFIFO pops each change alone, in order. With "+
		"AtomicEvents the consumer compares, not the queue.", func(t *guard.T) {
		known := func() *store { return storeOf("ns/a@1", "ns/b@1") }
		columns := []string{"DeltaFIFO", "RealFIFO with KnownObjects", "RealFIFO with AtomicEvents"}
		delivered := map[string][]string{}
		for name, q := range guard.InOrder(map[string]recordedQueue{
			columns[0]: newQueue(t, options{KnownObjects: known()}),
			columns[1]: newRealFIFO(t, known(), cache.RealFIFOOptions{}),
			columns[2]: newRealFIFO(t, nil, cache.RealFIFOOptions{EmitDeltaTypeBookmark: true}),
		}) {
			t.Story(20)
			t.Did("a %s, whose consumer has ns/a@1 and ns/b@1", name)
			require.NoError(t, q.Update(deploy("ns/a@2")), "the error of Update of the %s", name)
			require.NoError(t, q.Update(deploy("ns/a@3")), "the error of Update of the %s", name)
			require.NoError(t, q.Delete(deploy("ns/b@4")), "the error of Delete of the %s", name)
			require.NoError(t, q.Add(deploy("ns/b@5")), "the error of Add of the %s", name)
			require.NoError(t, q.Resync(), "the error of Resync of the %s", name)
			require.NoError(t, q.Replace(deploys("ns/a@6"), "6"), "the error of Replace of the %s", name)
			for _, popped := range q.drain() {
				delivered[name] = append(delivered[name], strings.TrimPrefix(popped, "ns/"))
			}
		}
		want := map[string][]string{
			columns[0]: {
				"a: Updated @2, Updated @3, Replaced @6",
				"b: Deleted @4, Added @5, Deleted tombstone(@5)",
			},
			columns[1]: {
				"a: Updated @2", "a: Updated @3", "b: Deleted @4", "b: Added @5",
				"b: Deleted tombstone(@5)", "a: Replaced @6",
			},
			columns[2]: {
				"a: Updated @2", "a: Updated @3", "b: Deleted @4", "b: Added @5",
				"SyncAll of the known objects", "ReplacedAll [ns/a@6] at 6",
			},
		}
		for _, name := range columns {
			for i, popped := range delivered[name] {
				t.Logf("%-26s  Pop %d  %s", name, i+1, popped)
			}
			require.Equal(t, want[name], delivered[name], "all deltas popped from the %s", name)
		}
	})
}

// fill puts n items into the queue, with Add or, if the queue must not be synced, with Resync.
func fill(t *guard.T, q recordedQueue, n int, synced bool) {
	t.Helper()
	for range n {
		err := error(nil)
		if synced {
			err = q.Queue.Add(deploy("default/a@1"))
		} else {
			err = q.Queue.Resync()
		}
		require.NoError(t, err, "the error of the call that puts an item into the queue")
	}
}
