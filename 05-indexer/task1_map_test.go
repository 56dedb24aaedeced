package indexer_test

// Task 1: a map from key to object, behind one lock.

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/05-indexer"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_Key_is_namespace_slash_name(t *testing.T) {
	guard.Test(t, "a Deployment has metadata", func(t *guard.T) {
		t.Did("MetaNamespaceKeyFunc default/web")
		key, err := indexer.MetaNamespaceKeyFunc(deploy("default/web"))
		require.NoError(t, err)
		t.Rule("two namespaces may each have a web, so the namespace is part of the key")
		require.Equal(t, "default/web", key)

		t.Did("MetaNamespaceKeyFunc of the Node node-1, which has no namespace")
		key, err = indexer.MetaNamespaceKeyFunc(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
		t.Rule("a Node has metadata")
		require.NoError(t, err)
		t.Rule("the key of a cluster-scoped object is its name alone, without a slash")
		require.Equal(t, "node-1", key)

		t.Did(`MetaNamespaceKeyFunc ExplicitKey("default/web")`)
		key, err = indexer.MetaNamespaceKeyFunc(cache.ExplicitKey("default/web"))
		t.Rule("an ExplicitKey is for who knows the key and lacks the object")
		require.NoError(t, err)
		t.Rule("an ExplicitKey is the key already")
		require.Equal(t, "default/web", key)
	})
}

func TestTask1_Key_of_what_has_no_metadata_is_an_error(t *testing.T) {
	guard.Test(t, "a string has neither namespace nor name; an invented key would collide with the next one's", func(t *guard.T) {
		t.Did("MetaNamespaceKeyFunc of the string \"web\"")
		_, err := indexer.MetaNamespaceKeyFunc("web")
		require.Error(t, err)
	})
}

func TestTask1_Get_finds_what_Add_stored(t *testing.T) {
	guard.Test(t, "the example has a key", func(t *guard.T) {
		web := deploy("default/web")
		s := newStore(t, nil, web, deploy("kube-system/web"))

		got, exists, err := s.Get(deploy("default/web"))
		require.NoError(t, err)
		t.Rule("default/web was added; Get compares keys, so another object of that key finds it")
		require.Equal(t, "exists: true", present(exists))
		t.Rule("a store shares the object it was given and copies nothing")
		require.Same(t, web, got)

		got, exists, _ = s.GetByKey("default/web")
		t.Rule("default/web was added")
		require.Equal(t, "exists: true", present(exists))
		t.Rule("GetByKey and Get are two doors to one map")
		require.Same(t, web, got)

		_, exists, err = s.GetByKey("default/db")
		t.Rule("not there is an answer, not an error")
		require.NoError(t, err)
		t.Rule("nobody added default/db")
		require.Equal(t, "exists: false", present(exists))
	})
}

func TestTask1_Update_takes_the_place_of_what_stood_there(t *testing.T) {
	guard.Test(t, "the newest state is the only one a cache keeps", func(t *guard.T) {
		newer := deploy("default/web", "nginx:2")
		s := newStore(t, nil, deploy("default/web", "nginx:1"))
		require.NoError(t, s.Update(newer))

		got, _, _ := s.GetByKey("default/web")
		require.Same(t, newer, got)
		t.Rule("one key, one object")
		require.Equal(t, []string{"default/web"}, s.ListKeys())
	})
}

func TestTask1_Update_of_an_unknown_key_adds(t *testing.T) {
	guard.Test(t, "after a lost event the first news of an object can be MODIFIED, and it must not be lost too", func(t *guard.T) {
		s := newStore(t, nil)
		require.NoError(t, s.Update(deploy("default/web")))
		require.Equal(t, []string{"default/web"}, s.ListKeys())
	})
}

func TestTask1_Delete_forgets(t *testing.T) {
	guard.Test(t, "default/web was deleted, default/db was not", func(t *guard.T) {
		s := newStore(t, nil, deploy("default/web"), deploy("default/db"))
		require.NoError(t, s.Delete(deploy("default/web")))
		require.Equal(t, []string{"default/db"}, s.ListKeys())
		t.Rule("deleting what is gone is no error: after a relist the same deletion can be heard twice")
		require.NoError(t, s.Delete(deploy("default/web")))
	})
}

func TestTask1_Delete_takes_a_tombstone(t *testing.T) {
	guard.Test(t, "the key function knows tombstones; Delete must ask it and look at the object no closer", func(t *guard.T) {
		s := newStore(t, nil, deploy("default/web", "@7"))
		require.NoError(t, s.Delete(cache.DeletedFinalStateUnknown{Key: "default/web"}))
		t.Rule("a tombstone says that the object is gone, and names its key")
		require.Empty(t, s.ListKeys())
		t.Rule("a tombstone has no metadata, so there is no version to take over")
		require.Equal(t, "7", s.LastStoreSyncResourceVersion())
	})
}

func TestTask1_Object_without_a_key_is_a_KeyError(t *testing.T) {
	guard.Test(t, "without a key nothing can be found", func(t *guard.T) {
		cause := errors.New("no key today")
		s := indexer.NewStore(func(any) (string, error) { return "", cause })
		rule := "who gets the error must learn which object it was: a cache.KeyError with the object and, wrapped, the key function's own error"
		for name, call := range map[string]func(any) error{
			"Add":    s.Add,
			"Update": s.Update,
			"Delete": s.Delete,
			"Get": func(obj any) error {
				item, exists, err := s.Get(obj)
				require.Nil(t, item, "without a key nothing can be found")
				require.False(t, exists, "without a key nothing can be found")
				return err
			},
		} {
			t.Did("%s of an object for which the key function fails", name)
			err := call("web")
			t.Rule("%s", rule)
			require.ErrorIs(t, err, cause)
			var keyError cache.KeyError
			require.ErrorAs(t, err, &keyError)
			require.Equal(t, "web", keyError.Obj)
		}
		t.Rule("without a key there is no place to store under")
		require.Empty(t, s.ListKeys())
	})
}

func TestTask1_List_and_ListKeys_belong_to_the_caller(t *testing.T) {
	guard.Test(t, "a caller may sort, filter and overwrite the slice it got; the store must not notice", func(t *guard.T) {
		s := newStore(t, nil, deploy("default/a"), deploy("default/b"))
		t.Did("List and ListKeys, then overwrite both results")
		clear(s.List())
		clear(s.ListKeys())
		require.Equal(t, []string{"default/a", "default/b"}, keysOf(s.List()))
		require.Equal(t, []string{"default/a", "default/b"}, sorted(s.ListKeys()))
	})
}

func TestTask1_Version_follows_every_write(t *testing.T) {
	guard.Test(t, "nothing written, no version", func(t *guard.T) {
		s := newStore(t, nil)
		require.Equal(t, "", s.LastStoreSyncResourceVersion())
		rule := "this is the version of the last write, whatever it was before: to the store a version is opaque, and one that came later is later"
		deletion := "a deletion has a version too, and only the object that comes with it knows which: Delete passes the object on, with DeleteWithObject"
		for _, step := range []struct {
			write   func(any) error
			obj     any
			version string
			rule    string
		}{
			{s.Add, deploy("default/web", "@5"), "5", rule},
			{s.Update, deploy("default/web", "@7"), "7", rule},
			{s.Add, deploy("default/db", "@8"), "8", rule},
			{s.Delete, deploy("default/web", "@9"), "9", deletion},
			{s.Delete, deploy("default/gone", "@10"), "10", deletion},
			{s.Update, deploy("default/db", "@6"), "6", rule},
			{s.Update, deploy("default/db"), "", rule},
		} {
			require.NoError(t, step.write(step.obj))
			t.Rule("%s", step.rule)
			require.Equal(t, step.version, s.LastStoreSyncResourceVersion())
		}
		t.Did("Bookmark 12")
		s.Bookmark("12")
		t.Rule("a bookmark brings a version and no object; the store is as new as it says")
		require.Equal(t, "12", s.LastStoreSyncResourceVersion())
		t.Did("Bookmark 3")
		s.Bookmark("3")
		t.Rule("a store does not compare versions: a server that was restored from a backup begins at an " +
			"earlier one")
		require.Equal(t, "3", s.LastStoreSyncResourceVersion())
	})
}

func TestTask1_Version_stays_when_an_object_has_none(t *testing.T) {
	guard.Test(t, "a store holds any object, and one without metadata says nothing about versions", func(t *guard.T) {
		s := indexer.NewThreadSafeStore(nil, cache.Indices{})
		t.Did("Add default/web @5, then Update the string \"plain\" and Delete by key")
		s.Add("default/web", deploy("default/web", "@5"))
		s.Update("plain", "an object without metadata")
		require.Equal(t, "5", s.LastStoreSyncResourceVersion())
		s.Delete("default/web")
		t.Rule("what has a key can be deleted by it")
		require.Equal(t, []string{"plain"}, s.ListKeys())
		t.Rule("Delete has only a key, and a key has no version")
		require.Equal(t, "5", s.LastStoreSyncResourceVersion())
		t.Did("DeleteWithObject of a tombstone that holds an object @3")
		s.DeleteWithObject("plain", cache.DeletedFinalStateUnknown{Key: "plain", Obj: deploy("default/web", "@3")})
		t.Rule("a tombstone has no metadata; the object in it is an old one, and its version says nothing of " +
			"the deletion")
		require.Equal(t, "5", s.LastStoreSyncResourceVersion())
	})
}

func TestTask1_Lock_is_shared_by_readers_and_writers(t *testing.T) {
	guard.Race(t, "every method takes the lock for as long as it touches the map: Lock to change it, RLock to read it", func(t *guard.T) {
		s := newThreadSafe(nil)
		a, b := deploy("default/a", "@1"), deploy("default/b", "@22")
		t.Did("Update, DeleteWithObject, Bookmark, Get, List, ListKeys and LastStoreSyncResourceVersion, each in a goroutine of its own")
		guard.Storm(
			func(i int) { s.Update("default/a", a) },
			func(i int) { s.Update("default/b", b) },
			func(i int) { s.DeleteWithObject("default/a", a) },
			func(i int) { s.Bookmark("333") },
			func(i int) { s.Get("default/a") },
			func(i int) { s.List() },
			func(i int) { s.ListKeys() },
			func(i int) { s.LastStoreSyncResourceVersion() },
		)
	})
}

func newThreadSafe(indexers cache.Indexers) cache.ThreadSafeStore {
	return indexer.NewThreadSafeStore(indexers, cache.Indices{})
}

func present(exists bool) string {
	if exists {
		return "exists: true"
	}
	return "exists: false"
}
