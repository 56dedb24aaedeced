package todaysinformer_test

// Task 1: a whole list, in one step.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
	todaysinformer "client-go-workshop/labs/todays-informer"
)

// replace calls ReplaceAll with a list of these Deployments at version 9, which is not the first list.
func replace(t *guard.T, handler cache.ResourceEventHandler, s cache.Store, texts ...string) {
	t.Helper()
	t.Did("ReplaceAll with the list [%s] at version 9", strings.Join(texts, " "))
	err := todaysinformer.ReplaceAll(handler, s, listed("9", texts...), false)
	require.NoError(t, err, "the error of ReplaceAll")
}

func TestTask1_List_becomes_the_store(t *testing.T) {
	guard.Test(t, "ReplaceAll makes a list the whole content of the store, and reports each difference to the "+
		"handler.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1", "b@2")
		t.Did("a store has a@1 and b@2")
		replace(t, h, s, "b@8", "c@9")
		require.Equal(t, "b@8 c@9", s.content(), "the store's objects")
		require.Equal(t, []string{"tombstone of default/a, last a@1", "update b@2 to b@8", "add c@9"}, h.notes,
			"the handler's calls")
	})
}

func TestTask1_No_reader_sees_half_a_list(t *testing.T) {
	guard.Test(t, "For readers of the store ReplaceAll is one step: they see the old content or the new one, and "+
		"never half a list.", func(t *guard.T) {
		for _, c := range []struct{ stored, list string }{
			{"a@1 b@2", "b@8 c@9"}, {"a@1 b@2", ""}, {"a@1", "a@8 b@9"}, {"", "a@8 b@9"}, {"a@1 b@2", "b@2"},
			{"a@1 b@2", "a@7 b@8"}, {"a@1", "a@8"},
		} {
			for kind, with := range guard.InOrder(kindsOfStore) {
				s := storeOf(t, strings.Fields(c.stored)...)
				t.Did("a store %s has [%s] at version 1", kind, c.stored)
				replace(t, &calls{}, with(s), strings.Fields(c.list)...)
				require.Equal(t, []string{c.list}, s.states, "the store's content after each write")
				require.Equal(t, []string{"9"}, s.versions, "the store's version after each write")
				require.Equal(t, []string{"1: " + c.stored}, s.before, "the store's version and content before each write")
			}
		}
	})
}

func TestTask1_Store_has_the_version_of_the_list(t *testing.T) {
	guard.Test(t, "The store's version becomes that of the list. An object's version can be much older: a consumer "+
		"that compares the two would wait forever.", func(t *guard.T) {
		s, objects := storeOf(t, "a@1"), deploys("a@1", "b@2")
		for i, list := range [][]any{objects, objects, nil, nil, objects, objects} { // a list that is the same, too
			version := []string{"9", "10", "11", "12", "13", ""}[i]
			t.Did("ReplaceAll with a list of %d objects at version %q", len(list), version)
			info := cache.ReplacedAllInfo{Objects: list, ResourceVersion: version}
			require.NoError(t, todaysinformer.ReplaceAll(&calls{}, s, info, false), "the error of ReplaceAll")
			require.Equal(t, version, s.LastStoreSyncResourceVersion(), "the store's version after the list at %q", version)
		}
	})
}

func TestTask1_Store_changes_before_the_handler_is_called(t *testing.T) {
	guard.Test(t, "The store changes first, then the handler is called: it finds the whole list in the "+
		"store.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1", "b@2")
		found, versions := []string{}, []string{}
		h.during = func() {
			found, versions = append(found, s.content()), append(versions, s.LastStoreSyncResourceVersion())
		}
		t.Did("a store has a@1 and b@2")
		replace(t, h, s, "b@8", "c@9")
		require.Equal(t, slices.Repeat([]string{"b@8 c@9"}, 3), found, "the store's content at each call of the handler")
		require.Equal(t, []string{"9", "9", "9"}, versions, "the store's version at each call of the handler")
	})
}

func TestTask1_Missing_object_is_a_deletion(t *testing.T) {
	guard.Test(t, "A stored object that the list does not have is a deletion.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1", "kube-system/a@2", "/a@3")
		t.Did("a store has default/a, kube-system/a, and a without a namespace")
		replace(t, h, s, "a@1", "/a@3")
		require.Equal(t, []string{"tombstone of kube-system/a, last kube-system/a@2", "again a@1", "again /a@3"}, h.notes,
			"the handler's calls")
		require.Equal(t, "/a@3 a@1", s.content(), "the store's objects")

		h, s = &calls{}, storeOf(t, "a@1", "/b@3")
		t.Did("a store has default/a, and b without a namespace")
		replace(t, h, s)
		slices.Sort(h.notes)
		require.Equal(t, []string{"tombstone of b, last /b@3", "tombstone of default/a, last a@1"}, h.notes,
			"the handler's calls after an empty list")

		h, s = &calls{}, storeOf(t, "a@1")
		t.Did("a store has a@1")
		replace(t, h, s, "b@2", "c@3")
		require.Equal(t, []string{"tombstone of default/a, last a@1", "add b@2", "add c@3"}, h.notes,
			"the handler's calls after a list that is longer than the old one")
	})
}

func TestTask1_Tombstone_has_the_stored_object(t *testing.T) {
	guard.Test(t, "The handler receives a tombstone with the key and the stored object. A controller that frees an "+
		"address needs the last known state, to know which one.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1")
		last := s.List()[0]
		replace(t, h, s)
		require.Equal(t, []string{"tombstone of default/a, last a@1"}, h.notes, "the handler's calls")
		require.Same(t, last, h.objects[0].(cache.DeletedFinalStateUnknown).Obj, "the object in the tombstone")
	})
}

func TestTask1_Known_object_is_an_update(t *testing.T) {
	guard.Test(t, "An object whose key the store has is an update, from the stored object to the listed one, even if "+
		"nothing changed.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1", "b@2")
		stored, _, _ := s.GetByKey("default/a")
		list := listed("9", "a@8", "b@2")
		list.Objects[0].(*appsv1.Deployment).DeletionTimestamp = &metav1.Time{} // it has finalizers
		t.Did("a store has a@1 and b@2; ReplaceAll with the list [a@8 b@2]; a has a DeletionTimestamp")
		require.NoError(t, todaysinformer.ReplaceAll(h, s, list, true), "the error of ReplaceAll")
		require.Equal(t, []string{"update a@1 to a@8", "again b@2"}, h.notes, "the handler's calls")
		require.Same(t, stored, h.objects[0], "the old object of the update of a")
		require.Same(t, list.Objects[0], h.objects[1], "the new object of the update of a")
		t.Did("ReplaceAll with the same list")
		h = &calls{}
		require.NoError(t, todaysinformer.ReplaceAll(h, s, list, false), "the error of ReplaceAll")
		require.Equal(t, []string{"again a@8", "again b@2"}, h.notes, "the handler's calls after the same list")
	})
}

func TestTask1_Key_decides_and_not_the_UID(t *testing.T) {
	guard.Test(t, "An object whose key the store has is an update, from the stored object to the listed one, even if "+
		"nothing changed. It can be a new object of the same name, so a handler compares the UIDs.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t)
		was, is := deploy("a@1"), deploy("a@8")
		was.UID, is.UID = "first", "second"
		require.NoError(t, s.Indexer.Add(was), "the error of Add of client-go's store")
		t.Did("a store has a@1; ReplaceAll with the list [a@8], and a has another UID")
		list := cache.ReplacedAllInfo{ResourceVersion: "9", Objects: []any{is}}
		require.NoError(t, todaysinformer.ReplaceAll(h, s, list, false), "the error of ReplaceAll")
		require.Equal(t, []string{"update a@1 to a@8"}, h.notes, "the handler's calls")
	})
}

func TestTask1_Same_version_is_no_proof(t *testing.T) {
	guard.Test(t, "ReplaceAll makes a list the whole content of the store, and reports each difference to the "+
		"handler. A server that was restored from a backup gives the same versions to other objects.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1", "b@2")
		s.Bookmark("9")
		list := listed("9", "a@1", "b@5")
		t.Did("a store has a@1 and b@2, at version 9; ReplaceAll with the list [a@1 b@5] at version 9")
		require.NoError(t, todaysinformer.ReplaceAll(h, s, list, false), "the error of ReplaceAll")
		require.Equal(t, []string{"again a@1", "update b@2 to b@5"}, h.notes, "the handler's calls")
		kept, _, _ := s.GetByKey("default/a")
		require.Same(t, list.Objects[0], kept, "the stored object a")

		list = listed("10", "a@1", "b@5")
		t.Did("ReplaceAll with the list [a@1 b@5] at version 10: each object has the version of the stored one")
		require.NoError(t, todaysinformer.ReplaceAll(h, s, list, false), "the error of ReplaceAll")
		kept, _, _ = s.GetByKey("default/b")
		require.Same(t, list.Objects[1], kept, "the stored object b")
	})
}

func TestTask1_List_of_any_size(t *testing.T) {
	guard.Test(t, "A stored object that the list does not have is a deletion. An object whose key the store has is an "+
		"update, and every other one is an addition: a list has no largest size.", func(t *guard.T) {
		const size = 2_001
		var before, after []string
		for i := range size {
			before = append(before, fmt.Sprintf("gone-%d@1", i), fmt.Sprintf("kept-%d@1", i))
			after = append(after, fmt.Sprintf("kept-%d@8", i), fmt.Sprintf("new-%d@9", i))
		}
		h, s, got := &calls{}, storeOf(t, before...), map[string]int{}
		t.Did("ReplaceAll: %d objects are gone, %[1]d have changed, and %[1]d are new", size)
		require.NoError(t, todaysinformer.ReplaceAll(h, s, listed("9", after...), false), "the error of ReplaceAll")
		for _, call := range h.notes {
			kind, _, _ := strings.Cut(call, " ")
			got[kind]++
		}
		require.Equal(t, map[string]int{"tombstone": size, "update": size, "add": size}, got, "the handler's calls")
		require.Len(t, s.states, 1, "the writes to the store")
		t.Rule("Deletions come first, in any order; additions and updates follow in the order of the list.")
		for i := range size {
			kept, added := fmt.Sprintf("update kept-%d@1 to kept-%[1]d@8", i), fmt.Sprintf("add new-%d@9", i)
			require.Equal(t, []string{kept, added}, h.notes[size+2*i:size+2*i+2], "the handler's calls for pair %d", i)
		}
	})
}

func TestTask1_Two_informers_at_once(t *testing.T) {
	guard.Test(t, "ReplaceAll makes a list the whole content of the store, and reports each difference to the "+
		"handler. Two informers may do so at once.", func(t *guard.T) {
		h, s, inner := &calls{}, storeOf(t, "a@1", "b@2"), &calls{}
		h.during = func() {
			replace(t, inner, storeOf(t, "x@1", "y@1", "z@1"), "u@8", "v@8", "z@8")
			inner.notes = nil
		}
		replace(t, h, s, "b@8", "c@9")
		require.Equal(t, []string{"tombstone of default/a, last a@1", "update b@2 to b@8", "add c@9"}, h.notes,
			"the calls of the first handler, during which another informer replaces its content")
	})
}

func TestTask1_List_can_be_older_than_the_store(t *testing.T) {
	guard.Test(t, "ReplaceAll makes a list the whole content of the store, and reports each difference to the "+
		"handler. A server that was restored from a backup lists older versions.", func(t *guard.T) {
		for _, version := range []string{"9", "19"} {
			h, s := &calls{}, storeOf(t, "a@30", "b@31")
			s.Bookmark("31")
			t.Did("a store has a@30 and b@31, at version 31; ReplaceAll with the list [a@15] at version %s", version)
			require.NoError(t, todaysinformer.ReplaceAll(h, s, listed(version, "a@15"), false), "the error of ReplaceAll")
			require.Equal(t, "a@15", s.content(), "the store's objects")
			require.Equal(t, []string{"tombstone of default/b, last b@31", "update a@30 to a@15"}, h.notes,
				"the handler's calls")
			require.Equal(t, version, s.LastStoreSyncResourceVersion(), "the store's version after the list")
		}
	})
}

func TestTask1_New_object_is_an_addition(t *testing.T) {
	guard.Test(t, "Every other object is an addition, with isInInitialList.", func(t *guard.T) {
		for _, initial := range []bool{true, false} {
			want := map[bool]string{true: "first a@1", false: "add a@1"}[initial]
			h := &calls{}
			t.Did("ReplaceAll of an empty store with the list [a@1], isInInitialList %v", initial)
			err := todaysinformer.ReplaceAll(h, storeOf(t), listed("9", "a@1"), initial)
			require.NoError(t, err, "the error of ReplaceAll")
			require.Equal(t, []string{want}, h.notes, "the handler's calls, isInInitialList %v", initial)

			h = &calls{}
			t.Did("ReplaceAll of a store with x and y with the list [y@2 a@1 b@3], isInInitialList %v", initial)
			list := listed("9", "y@2", "a@1", "b@3")
			list.Objects[1].(*appsv1.Deployment).DeletionTimestamp = &metav1.Time{} // a has finalizers
			err = todaysinformer.ReplaceAll(h, storeOf(t, "x@1", "y@2"), list, initial)
			require.NoError(t, err, "the error of ReplaceAll")
			second := strings.Replace(want, "a@1", "b@3", 1)
			require.Equal(t, []string{"tombstone of default/x, last x@1", "again y@2", want, second}, h.notes,
				"the handler's calls, isInInitialList %v", initial)
		}
	})
}

func TestTask1_Deletions_come_first(t *testing.T) {
	guard.Test(t, "Deletions come first, in any order; additions and updates follow in the order of the list. A "+
		"controller of addresses frees the old one before it assigns a new one.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "c@1", "m@1", "x@1", "y@1")
		t.Did("a store has c, m, x and y")
		replace(t, h, s, "z@5", "m@6", "a@7", "c@8")
		deletions := h.notes[:2]
		slices.Sort(deletions)
		require.Equal(t, []string{
			"tombstone of default/x, last x@1", "tombstone of default/y, last y@1",
			"add z@5", "update m@1 to m@6", "add a@7", "update c@1 to c@8",
		}, append(deletions, h.notes[2:]...), "the handler's calls")
	})
}

func TestTask1_Object_without_a_key(t *testing.T) {
	guard.Test(t, "If an object of the list has no key, the error is a cache.KeyError that carries the "+
		"object.", func(t *guard.T) {
		for _, bad := range []any{"no object", nil} {
			h, s := &calls{}, storeOf(t, "a@1")
			list := listed("9", "b@2")
			list.Objects = append(list.Objects, bad)
			t.Did("a store has a@1; ReplaceAll with a list of b@2 and a %T", bad)
			err := todaysinformer.ReplaceAll(h, s, list, false)
			var keyError cache.KeyError
			require.ErrorAs(t, err, &keyError, "the error of ReplaceAll")
			require.Equal(t, bad, keyError.Obj, "the object of the KeyError")
			t.Rule("After an error the store is the same as before, and the handler receives nothing.")
			require.Equal(t, "a@1", s.content(), "the store's objects after the error")
			require.Equal(t, "1", s.LastStoreSyncResourceVersion(), "the store's version after the error")
			require.Empty(t, h.notes, "the handler's calls after the error")
			t.Rule("If an object of the list has no key, the error is a cache.KeyError that carries the object.")
		}
	})
}

func TestTask1_Store_refuses_the_list(t *testing.T) {
	guard.Test(t, "If the store refuses the list, ReplaceAll returns the error.", func(t *guard.T) {
		h, s := &calls{}, storeOf(t, "a@1")
		s.refused = []string{"Replace"}
		t.Did("a store has a@1 and refuses the list [b@2]")
		err := todaysinformer.ReplaceAll(h, s, listed("9", "b@2"), false)
		require.ErrorIs(t, err, errRefused, "the error of ReplaceAll")
		t.Rule("After an error the store is the same as before, and the handler receives nothing.")
		require.Empty(t, h.notes, "the handler's calls after the error")
		require.Equal(t, "a@1", s.content(), "the store's objects after the error")
		require.Equal(t, "1", s.LastStoreSyncResourceVersion(), "the store's version after the error")
	})
}

func TestTask1_List_is_not_changed(t *testing.T) {
	guard.Test(t, "ReplaceAll does not change the objects or the list. The queue's transformer made the objects, and "+
		"others may hold them.", func(t *guard.T) {
		s, list := storeOf(t, "m@1", "x@1"), listed("9", "z@5", "m@6", "a@")
		list.Objects = append(make([]any, 0, 5), list.Objects...) // the caller may use the rest of the array
		before, copies := slices.Clone(list.Objects), []any{}
		for _, obj := range before {
			d := obj.(*appsv1.Deployment)
			d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
			copies = append(copies, d.DeepCopy())
		}
		t.Did("ReplaceAll with the list [z@5 m@6 a@] at version 9; a has no version")
		require.NoError(t, todaysinformer.ReplaceAll(&calls{}, s, list, false), "the error of ReplaceAll")
		require.Equal(t, "ReplacedAll [z@5 m@6 a@] at 9", show(cache.Delta{Type: cache.ReplacedAll, Object: list}),
			"the list after ReplaceAll")
		require.Equal(t, []any{nil, nil}, list.Objects[3:5], "the array behind the list, after the list")
		require.Equal(t, copies, before, "the objects of the list after ReplaceAll")
		for i, obj := range before {
			require.True(t, obj == list.Objects[i], "object %d of the list is the one that was in it", i+1)
			kept, _, _ := s.Get(obj)
			require.True(t, obj == kept, "the stored object %s is the one in the list", name(obj))
		}
	})
}
