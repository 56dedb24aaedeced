package todaysinformer_test

// Task 2: everything that one Pop of a RealFIFO returns.

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
	todaysinformer "client-go-workshop/labs/todays-informer"
)

// delta makes a delta of one Deployment.
func delta(change cache.DeltaType, text string) cache.Delta {
	return cache.Delta{Type: change, Object: deploy(text)}
}

// process calls ProcessDeltas with deltas that do not belong to the first list.
func process(t *guard.T, handler cache.ResourceEventHandler, s cache.Store, deltas ...cache.Delta) {
	t.Helper()
	for _, d := range deltas {
		t.Did("ProcessDeltas with %s", show(d))
	}
	err := todaysinformer.ProcessDeltas(handler, s, deltas, false)
	require.NoError(t, err, "the error of ProcessDeltas")
}

func TestTask2_Store_decides_between_add_and_update(t *testing.T) {
	guard.Test(t, "For all other types the store decides whether an object is an addition or an update. After an outage "+
		"an Updated can be of an object that the store has never had.", func(t *guard.T) {
		for _, change := range []cache.DeltaType{cache.Added, cache.Updated, cache.Replaced, cache.Sync} {
			h, s := &calls{}, storeOf(t, "a@1")
			process(t, h, s, delta(change, "a@2"), delta(change, "b@3"))
			require.Equal(t, []string{"update a@1 to a@2", "add b@3"}, h.notes, "the handler's calls for two %s", change)
			require.Equal(t, "a@2 b@3", s.content(), "the store's objects after two %s", change)
		}
	})
}

func TestTask2_Versions_are_not_compared(t *testing.T) {
	guard.Test(t, "ProcessDeltas applies deltas to the store and reports each change to the handler, the oldest first. A "+
		"version that is older or the same is a change, too: of a server that was restored, or of a "+
		"resync.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@30")
		t.Did("a store has a@30")
		process(t, h, s, delta(cache.Updated, "a@15"), delta(cache.Sync, "a@15"))
		require.Equal(t, []string{"update a@30 to a@15", "again a@15"}, h.notes, "the handler's calls")
		require.Equal(t, "a@15", s.content(), "the store's objects")
		stored, _, _ := s.GetByKey("default/a")
		for _, change := range []cache.DeltaType{cache.Added, cache.Updated, cache.Replaced, cache.Sync} {
			h := &calls{}
			process(t, h, s, cache.Delta{Type: change, Object: stored})
			require.Equal(t, []string{"again a@15"}, h.notes, "the handler's calls for %s of the stored object itself", change)
		}

		t.Rule("A Deleted removes the object, and the handler receives the object of the delta. Its version and its UID " +
			"can be older than the stored ones.")
		last := deploy("a@10")
		last.UID = "another"
		process(t, h, s, cache.Delta{Type: cache.Deleted, Object: last})
		require.Equal(t, "delete a@10", h.notes[len(h.notes)-1], "the handler's last call")
		require.Empty(t, s.content(), "the store's objects after Deleted a@10")

		t.Rule("The store changes first, then the handler is called: it finds each change in the store. A transformer can " +
			"change an object that has the same version.")
		for _, change := range []cache.DeltaType{cache.Added, cache.Updated, cache.Replaced, cache.Sync} {
			s, same := storeOf(t, "a@1"), deploy("a@1")
			t.Did("a store has a@1")
			process(t, &calls{}, s, cache.Delta{Type: change, Object: same})
			kept, _, _ := s.GetByKey("default/a")
			require.Same(t, same, kept, "the stored object after %s of a@1", change)
		}

		t.Rule("For all other types the store decides whether an object is an addition or an update. It asks for the key " +
			"and not for the UID: between two events an object can be deleted and created again.")
		for _, change := range []cache.DeltaType{cache.Added, cache.Updated, cache.Replaced, cache.Sync} {
			h, s, is, going := &calls{}, storeOf(t, "a@1"), deploy("a@8"), deploy("a@9")
			is.UID = "another"
			t.Did("a store has a@1; a has another UID in the next delta, and then a DeletionTimestamp")
			going.UID, going.DeletionTimestamp = is.UID, &metav1.Time{}
			process(t, h, s, cache.Delta{Type: change, Object: is}, cache.Delta{Type: change, Object: going})
			require.Equal(t, []string{"update a@1 to a@8", "update a@8 to a@9"}, h.notes, "the handler's calls for %s", change)

			h, s = &calls{}, storeOf(t)
			t.Did("an empty store; the next delta is a, and then b, which has no version")
			process(t, h, s, cache.Delta{Type: change, Object: going}, delta(change, "b@"))
			require.Equal(t, []string{"add a@9", "add b@"}, h.notes, "the handler's calls for %s", change)
			require.Equal(t, "a@9 b@", s.content(), "the store's objects")
		}
	})
}

func TestTask2_Only_additions_are_initial(t *testing.T) {
	guard.Test(t, "Only additions have isInInitialList.", func(t *guard.T) {
		for _, change := range []cache.DeltaType{cache.Added, cache.Updated, cache.Replaced, cache.Sync} {
			h, s := &calls{}, storeOf(t, "a@1")
			t.Did("a store has a@1; ProcessDeltas with %s a@2, %[1]s b@3 and %[1]s c@4, isInInitialList true", change)
			deltas := cache.Deltas{delta(change, "a@2"), delta(change, "b@3"), delta(change, "c@4")}
			require.NoError(t, todaysinformer.ProcessDeltas(h, s, deltas, true), "the error of ProcessDeltas")
			require.Equal(t, []string{"update a@1 to a@2", "first b@3", "first c@4"}, h.notes,
				"the handler's calls for three %s", change)
		}
	})
}

func TestTask2_Oldest_delta_first(t *testing.T) {
	guard.Test(t, "ProcessDeltas applies deltas to the store and reports each change to the handler, the oldest "+
		"first.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1")
		process(t, h, s, delta(cache.Updated, "a@2"), delta(cache.Deleted, "a@3"), delta(cache.Added, "a@4"))
		require.Equal(t, []string{"update a@1 to a@2", "delete a@3", "add a@4"}, h.notes, "the handler's calls")
		require.Equal(t, "a@4", s.content(), "the store's objects")

		h = &calls{}
		t.Did("ProcessDeltas with 100 changes of a")
		var deltas cache.Deltas
		for i := range 100 {
			deltas = append(deltas, delta(cache.Updated, fmt.Sprintf("a@%d", 5+i)))
		}
		require.NoError(t, todaysinformer.ProcessDeltas(h, s, deltas, false), "the error of ProcessDeltas")
		require.Len(t, h.notes, 100, "the handler's calls")
		require.Equal(t, "a@104", s.content(), "the store's objects")
		t.Did("ProcessDeltas with no delta")
		require.NoError(t, todaysinformer.ProcessDeltas(h, s, nil, false), "the error of ProcessDeltas with no delta")
	})
}

func TestTask2_Store_changes_first(t *testing.T) {
	guard.Test(t, "The store changes first, then the handler is called: it finds each change in the "+
		"store.", func(t *guard.T) {
		for kind, with := range guard.InOrder(kindsOfStore) {
			h, s := &calls{}, storeOf(t)
			found := []string{}
			h.during = func() { found = append(found, s.content()) }
			t.Did("an empty store %s", kind)
			process(t, h, with(s), delta(cache.Added, "a@1"), delta(cache.Updated, "a@2"), delta(cache.Deleted, "a@3"))
			require.Equal(t, []string{"a@1", "a@2", ""}, found, "the store's content at each call of the handler")
			require.Equal(t, []string{"add a@1", "update a@1 to a@2", "delete a@3"}, h.notes, "the handler's calls")
		}
	})
}

func TestTask2_Failed_change_reaches_no_handler(t *testing.T) {
	guard.Test(t, "If a delta cannot be applied, ProcessDeltas returns an error, and the handler does not receive the "+
		"change.", func(t *guard.T) {
		for method, d := range guard.InOrder(map[string]cache.Delta{
			"Add": delta(cache.Added, "b@2"), "Update": delta(cache.Updated, "a@2"), "Delete": delta(cache.Deleted, "a@2"),
			"Replace": {Type: cache.ReplacedAll, Object: listed("9", "b@2")},
		}) {
			h, s := &calls{}, storeOf(t, "a@1")
			s.refused = []string{method}
			t.Did("a store has a@1 and refuses %s; ProcessDeltas with %s", method, show(d))
			err := todaysinformer.ProcessDeltas(h, s, cache.Deltas{d}, false)
			require.ErrorIs(t, err, errRefused, "the error of ProcessDeltas, after %s failed", method)
			require.Empty(t, h.notes, "the handler's calls after %s failed", method)
			t.Did("ProcessDeltas with %s and a SyncAll", show(d))
			err = todaysinformer.ProcessDeltas(h, s, cache.Deltas{d, {Type: cache.SyncAll, Object: cache.SyncAllInfo{}}}, false)
			require.ErrorIs(t, err, errRefused, "the error of ProcessDeltas, after %s failed for the first of two", method)

			h, s = &calls{}, storeOf(t, "a@1")
			s.refused = []string{method, "Transaction " + name(d.Object)}
			t.Did("a store with transactions has a@1 and refuses %s; ProcessDeltas with %s", method, show(d))
			err = todaysinformer.ProcessDeltas(h, transactions{s}, cache.Deltas{d}, false)
			require.ErrorContains(t, err, errRefused.Error(), "the error of ProcessDeltas, after %s failed", method)
			require.Empty(t, h.notes, "the handler's calls after %s failed", method)
		}
		for _, change := range []cache.DeltaType{cache.Updated, cache.Deleted} {
			h, s := &calls{}, storeOf(t)
			nonsense := cache.Delta{Type: change, Object: "no object"}
			t.Did("ProcessDeltas with %s, which has no key", show(nonsense))
			err := todaysinformer.ProcessDeltas(h, s, cache.Deltas{nonsense}, false)
			require.Error(t, err, "the error of ProcessDeltas with an %s without a key", change)
			require.Empty(t, h.notes, "the handler's calls after an %s without a key", change)
		}
	})
}

func TestTask2_Deletion(t *testing.T) {
	guard.Test(t, "A Deleted removes the object, and the handler receives the object of the delta. The server sends the "+
		"last state with the deletion, and the store's may be older.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1", "b@2")
		last := deploy("a@7")
		tombstone := cache.DeletedFinalStateUnknown{Key: "default/b", Obj: deploy("b@2")}
		process(t, h, s, cache.Delta{Type: cache.Deleted, Object: last},
			cache.Delta{Type: cache.Deleted, Object: tombstone})
		require.Equal(t, []string{"delete a@7", "tombstone of default/b, last b@2"}, h.notes, "the handler's calls")
		require.Same(t, last, h.objects[0], "the object of the deletion of a")
		require.Equal(t, "", s.content(), "the store's objects")
		t.Rule("A Deleted removes the object, and the handler receives the object of the delta. So does the store: it " +
			"does not take its version from a tombstone, whose object may be old.")
		require.Equal(t, "7", s.LastStoreSyncResourceVersion(), "the store's version after Deleted a@7 and the tombstone")
	})
}

func TestTask2_Deletion_needs_a_key_only(t *testing.T) {
	guard.Test(t, "A Deleted removes the object, and the handler receives the object of the delta. A tombstone can be "+
		"empty, and the store can be without the object.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1")
		t.Did("a store has a@1, at version 1")
		process(t, h, s, delta(cache.Deleted, "b@6"))
		require.Equal(t, "6", s.LastStoreSyncResourceVersion(), "the store's version after Deleted b@6, which is not stored")
		h.notes = nil
		process(t, h, s, delta(cache.Deleted, "b@7"),
			cache.Delta{Type: cache.Deleted, Object: cache.DeletedFinalStateUnknown{Key: "default/a"}},
			cache.Delta{Type: cache.Deleted, Object: cache.DeletedFinalStateUnknown{Key: "default/c", Obj: deploy("c@1")}})
		require.Equal(t, []string{
			"delete b@7", "tombstone of default/a, last <nil>", "tombstone of default/c, last c@1",
		}, h.notes, "the handler's calls")
		require.Equal(t, "", s.content(), "the store's objects")
	})
}

func TestTask2_ReplacedAll_is_a_list(t *testing.T) {
	guard.Test(t, "A ReplacedAll is a list, as in ReplaceAll.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1", "b@2")
		list := cache.Delta{Type: cache.ReplacedAll, Object: listed("9", "b@8", "c@9")}
		t.Did("a store has a@1 and b@2; ProcessDeltas with %s, isInInitialList true", show(list))
		err := todaysinformer.ProcessDeltas(h, s, cache.Deltas{list}, true)
		require.NoError(t, err, "the error of ProcessDeltas")
		require.Equal(t, []string{"tombstone of default/a, last a@1", "update b@2 to b@8", "first c@9"}, h.notes,
			"the handler's calls")
		require.Equal(t, "b@8 c@9", s.content(), "the store's objects")
		require.Equal(t, "9", s.LastStoreSyncResourceVersion(), "the store's version")
		t.Rule("ProcessDeltas applies deltas to the store and reports each change to the handler, the oldest first: a list " +
			"or a bookmark is not the last one.")
		process(t, h, s, list, cache.Delta{Type: cache.Bookmark, Object: cache.BookmarkInfo{ResourceVersion: "10"}},
			delta(cache.Added, "d@11"))
		require.Equal(t, "add d@11", h.notes[len(h.notes)-1], "the handler's last call")

		t.Rule("A ReplacedAll is a list, as in ReplaceAll. After an outage its additions are not initial.")
		process(t, h, s, cache.Delta{Type: cache.ReplacedAll, Object: listed("20", "e@20")})
		require.Equal(t, "add e@20", h.notes[len(h.notes)-1], "the handler's last call")
	})
}

func TestTask2_SyncAll_repeats_every_object(t *testing.T) {
	guard.Test(t, "A SyncAll is an update of each stored object to itself, and does not write to the store. The queue "+
		"does not know the store, so the consumer finds the objects.", func(t *guard.T) {
		for _, initial := range []bool{false, true} {
			h, s := &calls{}, storeOf(t, "a@1", "b@2")
			t.Did("a store has a@1 and b@2; ProcessDeltas with a SyncAll, isInInitialList %v", initial)
			deltas := cache.Deltas{{Type: cache.SyncAll, Object: cache.SyncAllInfo{}}}
			require.NoError(t, todaysinformer.ProcessDeltas(h, s, deltas, initial), "the error of ProcessDeltas")
			slices.Sort(h.notes)
			require.Equal(t, []string{"again a@1", "again b@2"}, h.notes, "the handler's calls")
			for i := 0; i < len(h.objects); i += 2 {
				require.Same(t, h.objects[i], h.objects[i+1], "the new object of update %d", i/2+1)
			}
			require.Empty(t, s.states, "the store's content after each write")
			require.Equal(t, "1", s.LastStoreSyncResourceVersion(), "the store's version")
		}
		var many []string
		for i := range 1_001 {
			many = append(many, fmt.Sprintf("d%d@1", i))
		}
		for _, texts := range [][]string{nil, {"a@1"}, many} {
			h, s := &calls{}, storeOf(t, texts...)
			t.Did("a store with transactions has %d objects", len(texts))
			process(t, h, transactions{s}, cache.Delta{Type: cache.SyncAll, Object: cache.SyncAllInfo{}})
			require.Len(t, h.notes, len(texts), "the handler's calls")
			require.Empty(t, s.states, "the store's content after each write")
		}
	})
}

func TestTask2_Bookmark_is_only_a_version(t *testing.T) {
	guard.Test(t, "A Bookmark sets the version of the store, and the handler receives nothing.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1")
		s.Indexer.Bookmark("9")
		bookmark := cache.Delta{Type: cache.Bookmark, Object: cache.BookmarkInfo{ResourceVersion: "10"}}
		t.Did("a store has a@1, at version 9")
		process(t, h, s, bookmark)
		require.Equal(t, "10", s.LastStoreSyncResourceVersion(), "the store's version")
		require.Empty(t, h.notes, "the handler's calls")
		require.Equal(t, "a@1", s.content(), "the store's objects")
		require.Empty(t, s.states, "the store's content after each write")
		process(t, h, s, delta(cache.Updated, "a@5"), bookmark)
		require.Equal(t, "10", s.LastStoreSyncResourceVersion(), "the store's version after a bookmark behind a change")
		h, s = &calls{}, storeOf(t)
		t.Did("an empty store; a bookmark with version 11, isInInitialList true")
		bookmark.Object = cache.BookmarkInfo{ResourceVersion: "11"}
		require.NoError(t, todaysinformer.ProcessDeltas(h, s, cache.Deltas{bookmark}, true), "the error of ProcessDeltas")
		require.Equal(t, "11", s.LastStoreSyncResourceVersion(), "the store's version")
		t.Rule("A Bookmark sets the version of the store, and the handler receives nothing. A server that was restored from " +
			"a backup has reached a lower version.")
		bookmark.Object = cache.BookmarkInfo{ResourceVersion: "8"}
		process(t, h, s, bookmark)
		require.Equal(t, "8", s.LastStoreSyncResourceVersion(), "the store's version after a lower one")
	})
}

func TestTask2_Wrong_object_is_an_error(t *testing.T) {
	guard.Test(t, "If the object of a ReplacedAll, SyncAll or Bookmark has the wrong type, ProcessDeltas returns an "+
		"error.", func(t *guard.T) {
		for _, change := range []cache.DeltaType{cache.ReplacedAll, cache.SyncAll, cache.Bookmark} {
			h, s := &calls{}, storeOf(t, "a@1")
			t.Did("a store has a@1; ProcessDeltas with %s of a Deployment, and of nil", change)
			err := todaysinformer.ProcessDeltas(h, s, cache.Deltas{delta(change, "b@2")}, false)
			require.Error(t, err, "the error of ProcessDeltas with a %s", change)
			err = todaysinformer.ProcessDeltas(h, s, cache.Deltas{{Type: change}}, false)
			require.Error(t, err, "the error of ProcessDeltas with a %s of nil", change)
			t.Rule("If a delta cannot be applied, ProcessDeltas returns an error, and the handler does not receive the " +
				"change.")
			require.Empty(t, h.notes, "the handler's calls after a %s", change)
			t.Rule("If the object of a ReplacedAll, SyncAll or Bookmark has the wrong type, ProcessDeltas returns an " +
				"error.")
		}
	})
}
