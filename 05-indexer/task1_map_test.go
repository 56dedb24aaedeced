package indexer_test

// Task 1: the map from key to object.

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/05-indexer"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_Key_is_namespace_slash_name(t *testing.T) {
	guard.Test(t, "MetaNamespaceKeyFunc returns the key of an object, namespace/name: two namespaces may each have a "+
		"web.", func(t *guard.T) {
		t.Did("MetaNamespaceKeyFunc default/web")
		key, err := indexer.MetaNamespaceKeyFunc(deploy("default/web"))
		require.NoError(t, err, "the error of MetaNamespaceKeyFunc for default/web")
		require.Equal(t, "default/web", key, "the key of default/web")

		for _, unusual := range []string{"default/..", "default/.", "default/a/b", "default/"} {
			d := deploy(unusual)
			d.GenerateName = "web-" // is not a part of the key
			t.Did("MetaNamespaceKeyFunc %s", unusual)
			key, err = indexer.MetaNamespaceKeyFunc(d)
			require.NoError(t, err, "the error of MetaNamespaceKeyFunc for "+unusual)
			require.Equal(t, unusual, key, "the key of "+unusual)
		}

		t.Rule("The key of a cluster-scoped object is its name alone, without a slash.")
		for _, name := range []string{"node-1", "..", ""} {
			t.Did("MetaNamespaceKeyFunc of the Node %q, which has no namespace", name)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, GenerateName: "node-"}}
			key, err = indexer.MetaNamespaceKeyFunc(node)
			require.NoError(t, err, "the error of MetaNamespaceKeyFunc for the Node")
			require.Equal(t, name, key, "the key of the Node")
		}

		t.Rule("A cache.ExplicitKey is a key already: callers use it when they know the key and lack the object.")
		for _, explicit := range []string{"default/web", "a/b/c", "/web", ""} {
			t.Did("MetaNamespaceKeyFunc ExplicitKey(%q)", explicit)
			key, err = indexer.MetaNamespaceKeyFunc(cache.ExplicitKey(explicit))
			require.NoError(t, err, "the error of MetaNamespaceKeyFunc for an ExplicitKey")
			require.Equal(t, explicit, key, "the key of the ExplicitKey")
		}

		t.Rule("An object has metadata if meta.Accessor finds it: it may have the method GetObjectMeta, or the methods of " +
			"a metav1.Object.")
		for what, obj := range guard.InOrder(map[string]any{
			"an object whose only method is GetObjectMeta":    onlyAccessor{deploy("default/web")},
			"an object that has the methods of metav1.Object": onlyObject{deploy("default/web")},
		}) {
			t.Did("MetaNamespaceKeyFunc of %s", what)
			key, err = indexer.MetaNamespaceKeyFunc(obj)
			require.NoError(t, err, "the error of MetaNamespaceKeyFunc for "+what)
			require.Equal(t, "default/web", key, "the key of "+what)
		}
	})
}

func TestTask1_Key_of_what_has_no_metadata_is_an_error(t *testing.T) {
	guard.Test(t, "An object without metadata is an error: it has neither namespace nor name. Two objects with an "+
		"invented key would collide.", func(t *guard.T) {
		for _, obj := range withoutMetadata() {
			t.Did("MetaNamespaceKeyFunc of %s", describe(obj))
			_, err := indexer.MetaNamespaceKeyFunc(obj)
			require.Error(t, err, "the error of MetaNamespaceKeyFunc for "+describe(obj))
		}
	})
}

func TestTask1_Get_finds_what_Add_stored(t *testing.T) {
	guard.Test(t, "Get returns the stored object that has the same key as obj: "+
		"it compares keys, not objects.", func(t *guard.T) {
		web, another := deploy("default/web", "@7"), deploy("default/web", "@5")
		web.UID, another.UID = "uid-1", "uid-2"
		web.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		given := web.DeepCopy()
		s := newStore(t, nil, web, deploy("kube-system/web"))

		t.Did("Get default/web, with an object that has this key, another UID and another version")
		got, exists, err := s.Get(another)
		require.NoError(t, err, "the error of Get")
		require.True(t, exists, "Get finds default/web")
		t.Rule("Objects are shared: a lookup returns the pointer that was stored, not a copy.")
		require.Same(t, web, got, "the object that Get returns")
		t.Rule("Objects are shared: a lookup returns the pointer that was stored, and the store leaves the object as " +
			"it is.")
		require.Equal(t, given, web, "the object that was stored")
		t.Did("GetByKey default/web")
		got, exists, _ = s.GetByKey("default/web")
		t.Rule("Get returns the object under key, and so does GetByKey.")
		require.True(t, exists, "GetByKey finds default/web")
		require.Same(t, web, got, "the object that GetByKey returns")
		t.Rule("For a key that is not stored, exists is false and err is nil, and no object is returned.")
		for _, key := range []string{"default/db", "Default/Web", "web", "default/web/", "default/we"} {
			for name, get := range guard.InOrder(map[string]func() (any, bool, error){
				"Get":      func() (any, bool, error) { return s.Get(cache.ExplicitKey(key)) },
				"GetByKey": func() (any, bool, error) { return s.GetByKey(key) },
			}) {
				t.Did("%s %s, which was never added", name, key)
				got, exists, err = get()
				require.NoError(t, err, "the error of "+name+" for an unknown key")
				require.False(t, exists, name+" finds "+key+", which was never added")
				require.Nil(t, got, "the object that "+name+" returns for an unknown key")
			}
		}
		t.Rule("Get reports whether the key is stored, even if its object is nil, and so does GetByKey.")
		t.Did("Add, Get and GetByKey of a nil, with a key function that makes the key <nil> for it")
		plain := indexer.NewStore(func(obj any) (string, error) { return fmt.Sprint(obj), nil })
		require.NoError(t, plain.Add(nil), "the error of Add")
		_, exists, _ = plain.Get(nil)
		require.True(t, exists, "Get finds the nil")
		_, exists, _ = plain.GetByKey("<nil>")
		require.True(t, exists, "GetByKey finds the nil")
	})
}

func TestTask1_Update_takes_the_place_of_what_stood_there(t *testing.T) {
	guard.Test(t, "Update stores obj under its key and replaces the object that has this key: a cache keeps only the "+
		"newest state.", func(t *guard.T) {
		newer := deploy("default/web", "nginx:2")
		s := newStore(t, nil)
		// After a lost event, the first event of an object can be MODIFIED.
		require.NoError(t, s.Update(deploy("default/web", "nginx:1")), "the error of Update of an unknown key")
		require.Equal(t, []string{"default/web"}, s.ListKeys(), "ListKeys after the 1st Update")
		require.NoError(t, s.Update(newer), "the error of Update")

		got, _, _ := s.GetByKey("default/web")
		require.Same(t, newer, got, "the object under default/web")
		require.Equal(t, []string{"default/web"}, s.ListKeys(), "ListKeys after the Update")

		t.Rule("Update stores obj under its key and replaces the object that has this key, whatever their versions " +
			"are: the server has decided which is newer. It reports a deletion when the object is gone, and not before.")
		for _, version := range []string{"7", "7", "5", ""} {
			next := deploy("default/web", "nginx:3", "@"+version)
			next.DeletionTimestamp = &metav1.Time{} // the server deletes it, and has not yet
			require.NoError(t, s.Update(next), "the error of Update")
			got, _, _ := s.GetByKey("default/web")
			require.Same(t, next, got, "the object under default/web")
			require.Equal(t, version, s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after Update")
		}
	})
}

func TestTask1_Delete_forgets(t *testing.T) {
	guard.Test(t, "Delete removes the stored object that has obj's key, and no other.", func(t *guard.T) {
		s := newStore(t, nil, deploy("default/web"), deploy("default/db", "@7"))
		require.NoError(t, s.Delete(deploy("default/web")), "the error of Delete")
		require.Equal(t, []string{"default/db"}, s.ListKeys(), "ListKeys after the Delete")
		t.Rule("Delete removes the stored object that has obj's key, and no other: it compares neither UIDs nor " +
			"versions, and waits for no finalizer.")
		db := deploy("default/db", "@1")
		db.UID, db.Finalizers = "another", []string{"backup"}
		require.NoError(t, s.Delete(db), "the error of Delete")
		require.Empty(t, s.ListKeys(), "ListKeys after the Delete of default/db")
		t.Rule("A key that is not stored is not an error: after a relist the same deletion can be reported twice.")
		require.NoError(t, s.Delete(deploy("default/web")), "the error of the 2nd Delete")
	})
}

func TestTask1_Store_uses_its_key_function(t *testing.T) {
	guard.Test(t, "A store finds the key of an object with its own key function, not with "+
		"MetaNamespaceKeyFunc.", func(t *guard.T) {
		byUID := func(obj any) (string, error) { return string(obj.(*appsv1.Deployment).UID), nil }
		s := indexer.NewStore(byUID)
		web, db := deploy("default/web"), deploy("default/db")
		web.UID, db.UID = "uid-1", "uid-2"
		t.Did("Add, Get, Update and Delete, with a key function that returns the UID")
		require.NoError(t, s.Add(web), "the error of Add")
		require.NoError(t, s.Update(db), "the error of Update")
		require.Equal(t, []string{"uid-1", "uid-2"}, sorted(s.ListKeys()), "ListKeys, sorted")
		_, exists, err := s.Get(web)
		require.NoError(t, err, "the error of Get")
		require.True(t, exists, "Get finds the object with the key uid-1")
		require.NoError(t, s.Delete(web), "the error of Delete")
		require.Equal(t, []string{"uid-2"}, s.ListKeys(), "ListKeys after the Delete")
		t.Did("Add, Get and Delete an object with the UID \"\"")
		require.NoError(t, s.Add(deploy("default/new")), "the error of Add")
		require.Equal(t, []string{"", "uid-2"}, sorted(s.ListKeys()), "ListKeys, sorted")
		require.Len(t, s.List(), 2, "List")
		_, exists, err = s.Get(deploy("default/new"))
		require.NoError(t, err, "the error of Get")
		require.True(t, exists, "Get finds the object with the key \"\"")
		require.NoError(t, s.Delete(deploy("default/new")), "the error of Delete")
		require.Equal(t, []string{"uid-2"}, s.ListKeys(), "ListKeys after the Delete of the key \"\"")

		t.Rule("Delete asks the store's key function for the key, and does not look at the object: a tombstone is an " +
			"object like any other.")
		s = indexer.NewStore(func(obj any) (string, error) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				return "uid of " + tombstone.Key, nil
			}
			return byUID(obj)
		})
		web.UID = "uid of default/web"
		t.Did("Add, and Delete of a tombstone, with a key function that makes a UID of the tombstone's key")
		require.NoError(t, s.Add(web), "the error of Add")
		require.NoError(t, s.Delete(cache.DeletedFinalStateUnknown{Key: "default/web", Obj: db}), "the error of Delete")
		require.Empty(t, s.ListKeys(), "ListKeys after the Delete of the tombstone")
	})
}

func TestTask1_Delete_takes_a_tombstone(t *testing.T) {
	guard.Test(t, "Delete asks the store's key function for the key, and does not look at the object: a tombstone "+
		"has the right key, and everything else in it may be old.", func(t *guard.T) {
		for _, old := range []any{nil, deploy("default/web", "@3")} {
			t.Story(8)
			s := newStore(t, nil, deploy("default/web", "@7"))
			tombstone := cache.DeletedFinalStateUnknown{Key: "default/web", Obj: old}
			require.NoError(t, s.Delete(tombstone), "the error of Delete")
			require.Empty(t, s.ListKeys(), "ListKeys after the Delete")
			t.Rule("If obj is nil or a tombstone, the store keeps its version.")
			require.Equal(t, "7", s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after the Delete")
		}
	})
}

func TestTask1_Object_without_a_key_is_a_KeyError(t *testing.T) {
	guard.Test(t, "If the key function fails, the caller receives a cache.KeyError, which carries the object and "+
		"wraps the error.", func(t *guard.T) {
		cause := errors.New("no key today")
		fails := false
		s := indexer.NewStore(func(any) (string, error) {
			if fails {
				return "default/web", cause // some key functions return a key with their error
			}
			return "default/web", nil
		})
		stored, obj := deploy("default/web", "@5"), deploy("default/web", "@9")
		t.Did("Add default/web @5")
		require.NoError(t, s.Add(stored), "the error of Add")
		fails = true
		for name, call := range guard.InOrder(map[string]func(any) error{
			"Add":    s.Add,
			"Update": s.Update,
			"Delete": s.Delete,
			"Get": func(obj any) error {
				item, exists, err := s.Get(obj)
				require.Nil(t, item, "the object that Get returns without a key")
				require.False(t, exists, "Get finds an object without a key")
				return err
			},
		}) {
			for _, obj := range append(withoutMetadata(), obj, cache.ExplicitKey("default/web")) {
				what := name + " of " + describe(obj)
				t.Did("%s, for which the key function fails", what)
				err := call(obj)
				require.ErrorIs(t, err, cause, "the error of "+what)
				var keyError cache.KeyError
				require.ErrorAs(t, err, &keyError, "the error of "+what)
				require.True(t, obj == keyError.Obj, "the KeyError of "+what+" carries the object")
			}
		}
		t.Rule("If the key function fails, the store is the same as before.")
		got, exists, _ := s.GetByKey("default/web")
		require.True(t, exists, "GetByKey finds default/web after these calls")
		require.Same(t, stored, got, "the object under default/web after these calls")
		require.Equal(t, "5", s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after these calls")
	})
}

func TestTask1_List_and_ListKeys_belong_to_the_caller(t *testing.T) {
	guard.Test(t, "The slices that a lookup returns belong to the caller: if the caller sorts or overwrites one, the "+
		"store does not change.", func(t *guard.T) {
		s := newStore(t, nil, deploy("default/a"), deploy("default/b"))
		t.Rule("List returns all objects, in any order.")
		stored, _, _ := s.GetByKey("default/a")
		list, keys := s.List(), s.ListKeys() // the first results: a store may keep them
		require.True(t, slices.Contains(list, stored), "List has the object that was stored, not a copy")
		require.Equal(t, []string{"default/a", "default/b"}, keysOf(s.List()), "the keys of List")
		t.Rule("ListKeys returns all keys, in any order.")
		require.Equal(t, []string{"default/a", "default/b"}, sorted(s.ListKeys()), "ListKeys, sorted")
		t.Rule("The slices that a lookup returns belong to the caller: if the caller sorts or overwrites one, the " +
			"store does not change.")
		t.Did("List and ListKeys, several times each, then overwrite the first results")
		again, keysAgain := s.List(), s.ListKeys()
		clear(list)
		clear(keys)
		require.Equal(t, []string{"default/a", "default/b"}, keysOf(again), "the keys of the other List")
		require.Equal(t, []string{"default/a", "default/b"}, sorted(keysAgain), "the other ListKeys, sorted")
		require.Equal(t, []string{"default/a", "default/b"}, keysOf(s.List()), "the keys of List")
		require.Equal(t, []string{"default/a", "default/b"}, sorted(s.ListKeys()), "ListKeys, sorted")
		requireOwned(t, "List of an empty store", newStore(t, nil).List)
		requireOwned(t, "ListKeys of an empty store", newStore(t, nil).ListKeys)
	})
}

func TestTask1_Version_follows_every_write(t *testing.T) {
	guard.Test(t, `The version of a store is "" before the first write.`, func(t *guard.T) {
		s := newStore(t, nil)
		requireVersion := func(wanted, after string) {
			t.Helper()
			require.Equal(t, wanted, s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after "+after)
		}
		t.Did("LastStoreSyncResourceVersion, before any write")
		requireVersion("", "no write")
		t.Rule("Bookmark sets the version of a store whose content did not change, even if it is empty.")
		t.Did("Bookmark 4")
		s.Bookmark("4")
		requireVersion("4", "Bookmark 4")

		t.Rule("The store's version becomes that of the last write, higher, lower or empty: a caller can " +
			"ask how recent the cache is.")
		require.NoError(t, s.Add(deploy("default/web", "@5")), "the error of Add")
		requireVersion("5", "Add @5")
		require.NoError(t, s.Update(deploy("default/web", "@7")), "the error of Update")
		requireVersion("7", "Update @7")
		same, _, _ := s.GetByKey("default/web")
		same.(*appsv1.Deployment).ResourceVersion = "7a" // a caller's mistake, which the store does not notice
		require.NoError(t, s.Update(same), "the error of Update")
		requireVersion("7a", "Update of the stored object itself, now @7a")
		require.NoError(t, s.Add(deploy("default/db", "@8")), "the error of Add")
		requireVersion("8", "Add @8")

		t.Rule("The version of a deletion is that of obj, even if the key is not stored: the last event that the " +
			"store received has this version.")
		require.NoError(t, s.Delete(deploy("default/web", "@9")), "the error of Delete")
		requireVersion("9", "Delete @9")
		require.NoError(t, s.Delete(deploy("default/gone", "@10")), "the error of Delete for an unknown key")
		requireVersion("10", "Delete @10 of an unknown key")

		t.Rule("The store's version becomes that of the last write, higher, lower or empty: for the " +
			"store a version is an opaque string.")
		for _, version := range []string{"6", "0", "007", " 8 ", ""} {
			require.NoError(t, s.Update(deploy("default/db", "@"+version)), "the error of Update")
			requireVersion(version, fmt.Sprintf("Update @%s", version))
		}

		require.NoError(t, s.Update(deploy("default/db", "@7")), "the error of Update")
		require.NoError(t, s.Delete(deploy("default/db")), "the error of Delete without a version")
		requireVersion("", "Delete without a version")
		t.Did("Add of an object whose only method is GetObjectMeta, @8")
		require.NoError(t, s.Indexer.Add(onlyAccessor{deploy("default/db", "@8")}), "the error of Add")
		requireVersion("8", "Add @8 of an object with GetObjectMeta")

		t.Rule("Bookmark sets the version of a store whose content did not change.")
		t.Did("Bookmark 12")
		s.Bookmark("12")
		requireVersion("12", "Bookmark 12")
		t.Rule("A store does not compare versions: a server that was restored from a backup starts at an earlier one.")
		for _, version := range []string{"3", "2", "0", "007", "3a", " 8 ", ""} {
			t.Did("Bookmark %q", version)
			s.Bookmark(version)
			requireVersion(version, fmt.Sprintf("Bookmark %q", version))
		}
	})
}

func TestTask1_Version_stays_when_an_object_has_none(t *testing.T) {
	guard.Test(t, "An object without metadata does not change the store's version, "+
		"and is stored like any other.", func(t *guard.T) {
		s := indexer.NewThreadSafeStore(nil, cache.Indices{})
		requireVersion5 := func(after string) {
			t.Helper()
			require.Equal(t, "5", s.LastStoreSyncResourceVersion(), "LastStoreSyncResourceVersion after "+after)
		}
		t.Did("Add default/db @3, default/web @4 and default/web @5, then Update plain: a slice, twice, and a list @6")
		s.Add("default/db", deploy("default/db", "@3"))
		s.Add("default/web", deploy("default/web", "@4"))
		s.Add("default/web", deploy("default/web", "@5"))
		requireVersion5("Add of a key that is stored")
		plain := []string{"an object without metadata, which cannot be compared"}
		for _, obj := range []any{plain, plain, &appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: "6"}}} {
			s.Update("plain", obj)
			requireVersion5(fmt.Sprintf("the Update of a %T", obj))
		}
		t.Rule("Get reports whether the key is stored, even if its object is nil.")
		t.Did("Update nothing, with nil")
		s.Update("nothing", nil)
		obj, exists := s.Get("nothing")
		require.True(t, exists, "Get finds the key of the nil")
		require.Nil(t, obj, "the object under the key of the nil")
		t.Rule("ListKeys returns all keys, in any order, and List all objects.")
		require.Equal(t, []string{"default/db", "default/web", "nothing", "plain"}, sorted(s.ListKeys()), "ListKeys, sorted")
		require.Len(t, s.List(), 4, "List")
		requireVersion5("the Update of a nil")
		s.Delete("nothing")
		t.Rule("If obj is nil or a tombstone, the store keeps its version. Delete has a key and no object.")
		t.Did("Delete nothing, default/web and default/db")
		s.Delete("default/web")
		s.Delete("default/db")
		require.Equal(t, []string{"plain"}, s.ListKeys(), "ListKeys after the Delete")
		requireVersion5("the Delete")
		t.Rule("If obj is nil or a tombstone, the store keeps its version, as for every object without metadata.")
		for _, obj := range append(withoutMetadata(), cache.ExplicitKey("plain")) {
			t.Did("DeleteWithObject plain, with %s", describe(obj))
			s.DeleteWithObject("plain", obj)
			requireVersion5("DeleteWithObject")
		}
	})
}
