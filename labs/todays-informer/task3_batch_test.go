package todaysinformer_test

// Task 3: many changes, as one transaction of the store.

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
	todaysinformer "client-go-workshop/labs/todays-informer"
)

// batch calls ProcessDeltasInBatch with deltas that do not belong to the first list.
func batch(t *guard.T, handler cache.ResourceEventHandler, s cache.Store, deltas ...cache.Delta) error {
	for _, d := range deltas {
		t.Did("in the batch: %s", show(d))
	}
	return todaysinformer.ProcessDeltasInBatch(handler, s, deltas, false)
}

// mixed is a batch for a store with a@1 and b@2.
func mixed() []cache.Delta {
	return []cache.Delta{delta(cache.Deleted, "b@4"), delta(cache.Updated, "a@5"), delta(cache.Added, "c@6")}
}

var mixedCalls = []string{"delete b@4", "update a@1 to a@5", "add c@6"}

func TestTask3_Batch_is_one_transaction(t *testing.T) {
	guard.Test(t, "If the store is a cache.TransactionStore, the whole batch is one Transaction. A reader sees all of it "+
		"or nothing, and the store locks once.", func(t *guard.T) {
		h, s := &calls{}, transactions{storeOf(t, "a@1", "b@2")}
		require.NoError(t, batch(t, h, s, mixed()...), "the error of ProcessDeltasInBatch")
		require.Equal(t, []string{"a@5 c@6"}, s.states, "the store's content after each write")
		require.Equal(t, []string{"6"}, s.versions, "the store's version after each write")
		for _, size := range []int{1, 2_001} {
			h, s, deltas := &calls{}, transactions{storeOf(t)}, []cache.Delta{}
			s.refused = []string{"Add", "Update", "Delete", "Replace"} // the methods for single writes
			for i := range size {
				deltas = append(deltas, delta(cache.Added, fmt.Sprintf("d%d@%d", i, i)))
			}
			t.Did("a batch of %d, into a store that accepts transactions only", size)
			require.NoError(t, todaysinformer.ProcessDeltasInBatch(h, s, deltas, false), "the error of ProcessDeltasInBatch")
			require.Len(t, s.states, 1, "the transactions for a batch of %d", size)
			require.Len(t, h.notes, size, "the handler's calls for a batch of %d", size)
		}
		t.Did("a batch of 0, into stores of both kinds")
		require.NoError(t, batch(t, h, s), "the error of ProcessDeltasInBatch with an empty batch")
		require.NoError(t, batch(t, h, storeOf(t)), "the error of ProcessDeltasInBatch with an empty batch")
	})
}

func TestTask3_Handler_finds_the_whole_batch(t *testing.T) {
	guard.Test(t, "The store changes first, then the handler is called: at its first call it finds the whole batch in "+
		"the store.", func(t *guard.T) {
		h, s := &calls{}, transactions{storeOf(t, "a@1", "b@2")}
		found := []string{}
		h.during = func() { found = append(found, s.content()) }
		require.NoError(t, batch(t, h, s, mixed()...), "the error of ProcessDeltasInBatch")
		require.Equal(t, slices.Repeat([]string{"a@5 c@6"}, 3), found, "the store's content at each call of the handler")
	})
}

func TestTask3_Handler_receives_the_order_of_the_batch(t *testing.T) {
	guard.Test(t, "ProcessDeltasInBatch applies deltas of different objects to the store and reports each change to the "+
		"handler, the oldest first.", func(t *guard.T) {
		for kind, s := range guard.InOrder(map[string]cache.Store{
			"with transactions":    transactions{storeOf(t, "a@1", "b@2")},
			"without transactions": storeOf(t, "a@1", "b@2"),
		}) {
			h := &calls{}
			t.Did("a store %s has a@1 and b@2", kind)
			require.NoError(t, batch(t, h, s, mixed()...), "the error of ProcessDeltasInBatch, %s", kind)
			require.Equal(t, mixedCalls, h.notes, "the handler's calls, %s", kind)
		}
		for place := range 3 { // the store's version is that of the last change
			deltas := mixed()
			deltas = append(deltas[place:], deltas[:place]...)
			s := transactions{storeOf(t, "a@1", "b@2")}
			t.Did("a store with transactions has a@1 and b@2, at version 1")
			require.NoError(t, batch(t, &calls{}, s, deltas...), "the error of ProcessDeltasInBatch")
			require.Equal(t, deltas[2].Object.(*appsv1.Deployment).ResourceVersion, s.LastStoreSyncResourceVersion(),
				"the store's version after the batch")
			require.Len(t, s.states, 1, "the writes to the store")
		}
	})
}

func TestTask3_Old_state_is_that_before_the_batch(t *testing.T) {
	guard.Test(t, "The store decides whether an object is an addition or an update. The old object of an update is the "+
		"one before the transaction.", func(t *guard.T) {
		for _, change := range []cache.DeltaType{cache.Added, cache.Updated, cache.Replaced, cache.Sync} {
			h, s := &calls{}, transactions{storeOf(t, "a@1")}
			old, _, _ := s.GetByKey("default/a")
			require.NoError(t, batch(t, h, s, delta(change, "a@2"), delta(change, "b@3")),
				"the error of ProcessDeltasInBatch with two %s", change)
			require.Equal(t, []string{"update a@1 to a@2", "add b@3"}, h.notes, "the handler's calls for two %s", change)
			require.Same(t, old, h.objects[0], "the old object of the update")
			require.Equal(t, "a@2 b@3", s.content(), "the store's objects")
		}
	})
}

func TestTask3_Versions_are_not_compared(t *testing.T) {
	guard.Test(t, "ProcessDeltasInBatch applies deltas of different objects to the store and reports each change to the "+
		"handler, the oldest first. An older or the same version is a change, too.", func(t *guard.T) {
		h, s := &calls{}, transactions{storeOf(t, "a@30", "b@31")}
		t.Did("a store has a@30 and b@31")
		require.NoError(t, batch(t, h, s, delta(cache.Updated, "a@15"), delta(cache.Sync, "b@31")),
			"the error of ProcessDeltasInBatch")
		require.Equal(t, []string{"update a@30 to a@15", "again b@31"}, h.notes, "the handler's calls")
		require.Equal(t, "a@15 b@31", s.content(), "the store's objects")
		stored, _, _ := s.GetByKey("default/b")
		for _, change := range []cache.DeltaType{cache.Added, cache.Updated, cache.Replaced, cache.Sync} {
			h.notes = nil
			require.NoError(t, batch(t, h, s, delta(cache.Updated, "a@15"), cache.Delta{Type: change, Object: stored}),
				"the error of ProcessDeltasInBatch")
			require.Equal(t, []string{"again a@15", "again b@31"}, h.notes,
				"the handler's calls after %s of the stored object itself", change)
		}

		same, older, going := deploy("b@31"), deploy("a@5"), deploy("c@6")
		same.UID, older.UID, going.DeletionTimestamp = "another", "another", &metav1.Time{}
		same.DeletionTimestamp = going.DeletionTimestamp
		t.Did("a and b have other UIDs in the next batch, and b and c have a DeletionTimestamp")
		require.NoError(t, batch(t, h, s, cache.Delta{Type: cache.Updated, Object: same},
			cache.Delta{Type: cache.Deleted, Object: older}, cache.Delta{Type: cache.Updated, Object: going}),
			"the error of ProcessDeltasInBatch")
		require.Equal(t, []string{"again b@31", "delete a@5", "add c@6"}, h.notes[2:], "the handler's calls")
		require.Equal(t, "b@31 c@6", s.content(), "the store's objects")
		kept, _, _ := s.GetByKey("default/b")
		require.Same(t, same, kept, "the stored object b, of the same version")
	})
}

func TestTask3_Only_additions_are_initial(t *testing.T) {
	guard.Test(t, "Only additions have isInInitialList.", func(t *guard.T) {
		for kind, with := range guard.InOrder(kindsOfStore) {
			for _, change := range []cache.DeltaType{cache.Added, cache.Updated, cache.Replaced, cache.Sync} {
				h := &calls{}
				t.Did("a store %s has a@1; in the batch: %s a@2, %[2]s b@3, %[2]s c@4; isInInitialList true", kind, change)
				deltas := []cache.Delta{delta(change, "a@2"), delta(change, "b@3"), delta(change, "c@4")}
				err := todaysinformer.ProcessDeltasInBatch(h, with(storeOf(t, "a@1")), deltas, true)
				require.NoError(t, err, "the error of ProcessDeltasInBatch, %s", kind)
				require.Equal(t, []string{"update a@1 to a@2", "first b@3", "first c@4"}, h.notes, "the handler's calls, %s",
					kind)
			}
		}
	})
}

func TestTask3_Tombstone_in_a_batch(t *testing.T) {
	guard.Test(t, "The store changes first, then the handler is called: a deletion reaches it with the object of the "+
		"delta, which can be a tombstone.", func(t *guard.T) {
		tombstone := cache.DeletedFinalStateUnknown{Key: "default/b", Obj: deploy("b@1")}
		var s *store
		for _, kind := range []string{"without transactions", "with transactions"} {
			h := &calls{}
			s = storeOf(t, "a@1", "b@2")
			t.Did("a store %s has a@1 and b@2", kind)
			require.NoError(t, batch(t, h, kindsOfStore[kind](s), delta(cache.Updated, "a@5"),
				cache.Delta{Type: cache.Deleted, Object: tombstone},
				cache.Delta{Type: cache.Deleted, Object: cache.DeletedFinalStateUnknown{Key: "default/d"}},
				delta(cache.Deleted, "c@6")), "the error of ProcessDeltasInBatch")
			require.Equal(t, []string{
				"update a@1 to a@5", "tombstone of default/b, last b@1", "tombstone of default/d, last <nil>", "delete c@6",
			}, h.notes, "the handler's calls")
			require.Equal(t, "a@5", s.content(), "the store's objects")
		}
		t.Rule("If the store is a cache.TransactionStore, the whole batch is one Transaction: a deletion of an object that " +
			"the store does not have is in it, too, because it has a version.")
		require.Equal(t, "6", s.LastStoreSyncResourceVersion(), "the store's version after Deleted c@6")
	})
}

func TestTask3_Handler_receives_the_successful_changes_only(t *testing.T) {
	guard.Test(t, "If the transaction fails for some objects, the handler receives the successful changes only, and "+
		"ProcessDeltasInBatch returns the error.", func(t *guard.T) {
		h, s := &calls{}, transactions{storeOf(t, "a@1", "b@2")}
		s.refused = []string{"Update a@5"}
		t.Did("a store has a@1 and b@2, and refuses the update of a")
		err := batch(t, h, s, mixed()...)
		require.ErrorContains(t, err, errRefused.Error(), "the error of ProcessDeltasInBatch")
		require.Equal(t, []string{"delete b@4", "add c@6"}, h.notes, "the handler's calls")
		require.Equal(t, "a@1 c@6", s.content(), "the store's objects")

		h, s = &calls{}, transactions{storeOf(t, "a@1", "b@2")}
		s.refused = []string{"Transaction a@5"}
		t.Did("a store has a@1 and b@2, and a transaction refuses the update of a")
		require.Error(t, batch(t, h, s, mixed()...), "the error of ProcessDeltasInBatch")
		require.Equal(t, []string{"delete b@4", "add c@6"}, h.notes, "the handler's calls")
		require.Equal(t, "a@1 c@6", s.content(), "the store's objects")
	})
}

func TestTask3_Failure_changes_no_other_call(t *testing.T) {
	guard.Test(t, "If the transaction fails for some objects, the handler receives the successful changes only, and "+
		"ProcessDeltasInBatch returns the error. Their calls are those of a transaction that did not "+
		"fail.", func(t *guard.T) {
		h, s := &calls{}, transactions{storeOf(t, "a@1", "b@2")}
		s.refused = []string{"Update a@5"}
		deltas := []cache.Delta{delta(cache.Updated, "a@5"), delta(cache.Updated, "b@6"), delta(cache.Added, "c@7")}
		t.Did("a store has a@1 and b@2, and refuses the update of a")
		t.Did("in the batch: Updated a@5, Updated b@6, Added c@7; isInInitialList true")
		require.Error(t, todaysinformer.ProcessDeltasInBatch(h, s, deltas, true), "the error of ProcessDeltasInBatch")
		require.Equal(t, []string{"update b@2 to b@6", "first c@7"}, h.notes, "the handler's calls")

		h, s = &calls{}, transactions{storeOf(t, "a@1", "b@2")}
		s.refused = []string{"Update a@5", "Add d@8"}
		t.Did("a store has a@1 and b@2, and refuses a and d of the same batch with Added d@8, Added e@9 and Deleted f@10")
		deltas = append(deltas, delta(cache.Added, "d@8"), delta(cache.Added, "e@9"), delta(cache.Deleted, "f@10"))
		require.Error(t, todaysinformer.ProcessDeltasInBatch(h, s, deltas, true), "the error of ProcessDeltasInBatch")
		require.Equal(t, []string{"update b@2 to b@6", "first c@7", "first e@9", "delete f@10"}, h.notes,
			"the handler's calls after two failures")

		h, s = &calls{}, transactions{storeOf(t, "a@1", "b@2")}
		s.refused = []string{"Delete b@4", "Update a@5", "Add c@6"}
		t.Did("a store has a@1 and b@2, and refuses all of the next batch")
		err := batch(t, h, s, mixed()...)
		for _, object := range []string{" b@4", " a@5", " c@6"} {
			require.ErrorContains(t, err, object, "the error of ProcessDeltasInBatch")
		}
		require.Empty(t, h.notes, "the handler's calls after every object has failed")
		t.Rule("If the store is a cache.TransactionStore, the whole batch is one Transaction: it is not repeated.")
		require.Len(t, s.states, 1, "the transactions")
	})
}

func TestTask3_Object_without_a_key_stops_no_other(t *testing.T) {
	guard.Test(t, "If the transaction fails for some objects, the handler receives the successful changes only, and "+
		"ProcessDeltasInBatch returns the error. An object without a key is one of them.", func(t *guard.T) {
		h, s := &calls{}, transactions{storeOf(t, "a@1")}
		nonsense := cache.Delta{Type: cache.Updated, Object: "no object"}
		err := batch(t, h, s, delta(cache.Updated, "a@5"), nonsense, delta(cache.Added, "c@6"))
		require.Error(t, err, "the error of ProcessDeltasInBatch")
		require.Equal(t, []string{"update a@1 to a@5", "add c@6"}, h.notes, "the handler's calls")
		require.Equal(t, "a@5 c@6", s.content(), "the store's objects")
	})
}

func TestTask3_Store_without_transactions(t *testing.T) {
	guard.Test(t, "A store without transactions receives one change after another, as in ProcessDeltas.",
		func(t *guard.T) {
			h, s := &calls{}, storeOf(t, "a@1", "b@2")
			found := []string{}
			h.during = func() { found = append(found, s.content()) }
			require.NoError(t, batch(t, h, s, mixed()...), "the error of ProcessDeltasInBatch")
			require.Equal(t, mixedCalls, h.notes, "the handler's calls")
			require.Equal(t, []string{"a@1", "a@5", "a@5 c@6"}, s.states, "the store's content after each write")
			require.Equal(t, s.states, found, "the store's content at each call of the handler")
			t.Did("a batch ends with a deletion of an object that the store does not have")
			require.NoError(t, batch(t, h, s, delta(cache.Updated, "a@7"), delta(cache.Deleted, "d@8")),
				"the error of ProcessDeltasInBatch")
			require.Equal(t, "8", s.LastStoreSyncResourceVersion(), "the store's version after Deleted d@8")

			h, s = &calls{}, storeOf(t)
			var deltas []cache.Delta
			for i := range 1_001 {
				deltas = append(deltas, delta(cache.Added, fmt.Sprintf("d%d@%d", i, i)))
			}
			t.Did("a batch of 1001")
			quiet := struct{ cache.Indexer }{s.Indexer} // does not note its content at each write
			err := todaysinformer.ProcessDeltasInBatch(h, quiet, deltas, false)
			require.NoError(t, err, "the error of ProcessDeltasInBatch")
			require.Len(t, h.notes, 1_001, "the handler's calls for a batch of 1001")
		})
}

func TestTask3_Error_of_one_object_stops_no_other(t *testing.T) {
	guard.Test(t, "An error of one object does not keep the others from the store.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1", "b@2")
		s.refused = []string{"Delete b@4", "Add c@6"}
		t.Did("a store without transactions has a@1 and b@2, and refuses the deletion of b and the addition of c")
		err := batch(t, h, s, mixed()...)
		t.Did("then a store that refuses a, b and c of a batch of four additions, the first list")
		others := &calls{}
		refusing := storeOf(t)
		refusing.refused = []string{"Add a@1", "Add b@2", "Add c@3"}
		var four []cache.Delta
		for _, text := range []string{"a@1", "b@2", "c@3", "d@4"} {
			four = append(four, delta(cache.Added, text))
		}
		three := todaysinformer.ProcessDeltasInBatch(others, refusing, four, true)
		require.Equal(t, []string{"first d@4"}, others.notes, "the handler's calls after three errors")
		require.Equal(t, []string{"update a@1 to a@5"}, h.notes, "the handler's calls")
		require.Equal(t, "a@5 b@2", s.content(), "the store's objects")
		others, plain := &calls{}, storeOf(t)
		nonsense := cache.Delta{Type: cache.Updated, Object: "no object"}
		require.Error(t, batch(t, others, plain, delta(cache.Added, "a@1"), nonsense, delta(cache.Added, "c@3")),
			"the error of ProcessDeltasInBatch")
		require.Equal(t, []string{"add a@1", "add c@3"}, others.notes, "the handler's calls, with an object without a key")
		t.Rule("ProcessDeltasInBatch returns the errors of all objects.")
		require.ErrorContains(t, err, " b@4", "the error of ProcessDeltasInBatch")
		require.ErrorContains(t, err, " c@6", "the error of ProcessDeltasInBatch")
		for _, object := range []string{" a@1", " b@2", " c@3"} {
			require.ErrorContains(t, three, object, "the error of ProcessDeltasInBatch, after three errors")
		}
	})
}

func TestTask3_Batch_has_changes_of_single_objects_only(t *testing.T) {
	guard.Test(t, "Otherwise ProcessDeltasInBatch returns an error, and nothing has changed. A ReplacedAll, a SyncAll or "+
		"a Bookmark is about the whole store, so its place among the others matters.", func(t *guard.T) {
		for _, d := range []cache.Delta{
			{Type: cache.ReplacedAll, Object: listed("9", "b@2")},
			{Type: cache.SyncAll, Object: cache.SyncAllInfo{}},
			{Type: cache.Bookmark, Object: cache.BookmarkInfo{ResourceVersion: "30"}},
			delta("Novel", "b@2"),
			delta("", "b@2"),
		} {
			for place := range 4 {
				h, s := &calls{}, transactions{storeOf(t, "a@1")}
				deltas := []cache.Delta{delta(cache.Updated, "a@5"), delta(cache.Sync, "c@6"), delta(cache.Replaced, "e@7")}
				err := batch(t, h, s, slices.Insert(deltas, place, d)...)
				require.Error(t, err, "the error of ProcessDeltasInBatch with a %s", d.Type)
				require.Empty(t, h.notes, "the handler's calls after a batch with a %s", d.Type)
				require.Equal(t, "a@1", s.content(), "the store's objects after a batch with a %s", d.Type)
				require.Equal(t, "1", s.LastStoreSyncResourceVersion(), "the store's version after a batch with a %s", d.Type)
			}
		}
	})
}

func TestTask3_Plain_store_refuses_the_same_batches(t *testing.T) {
	guard.Test(t, "Otherwise ProcessDeltasInBatch returns an error, and nothing has changed. A store without "+
		"transactions is no exception.", func(t *guard.T) {
		for _, d := range []cache.Delta{
			{Type: cache.ReplacedAll, Object: listed("9", "b@2")},
			{Type: cache.SyncAll, Object: cache.SyncAllInfo{}},
			{Type: cache.Bookmark, Object: cache.BookmarkInfo{ResourceVersion: "30"}},
		} {
			h, s := &calls{}, storeOf(t, "a@1")
			t.Did("a store without transactions has a@1, at version 1")
			err := batch(t, h, s, delta(cache.Updated, "a@5"), d, delta(cache.Added, "c@6"))
			require.Error(t, err, "the error of ProcessDeltasInBatch with a %s", d.Type)
			require.Empty(t, h.notes, "the handler's calls after a batch with a %s", d.Type)
			require.Equal(t, "a@1", s.content(), "the store's objects after a batch with a %s", d.Type)
			require.Equal(t, "1", s.LastStoreSyncResourceVersion(), "the store's version after a batch with a %s", d.Type)
		}
	})
}

func TestTask3_Two_batches_at_once(t *testing.T) {
	guard.Test(t, "ProcessDeltasInBatch applies deltas of different objects to the store and reports each change to the "+
		"handler, the oldest first. Two informers may do so at once.", func(t *guard.T) {
		for _, transactional := range []bool{true, false} {
			h, s := &calls{}, cache.Store(storeOf(t, "a@1", "b@2"))
			if transactional {
				s = transactions{s.(*store)}
			}
			h.during = func() {
				other := []cache.Delta{delta(cache.Updated, "x@8"), delta(cache.Updated, "y@8"), delta(cache.Updated, "z@8")}
				_ = todaysinformer.ProcessDeltasInBatch(&calls{}, transactions{storeOf(t, "x@1", "y@1", "z@1")}, other, true)
			}
			require.NoError(t, batch(t, h, s, mixed()...), "the error of ProcessDeltasInBatch")
			require.Equal(t, mixedCalls, h.notes, "the calls of a handler during which another informer has a batch")
		}
	})
}
