package indexer_test

// Task 5: your indexer under the generated lister of Deployments.

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/05-indexer"
	"client-go-workshop/internal/testkit/guard"
)

// byNamespace returns the one index that the store of every factory's informer has.
func byNamespace() cache.Indexers {
	return cache.Indexers{cache.NamespaceIndex: indexer.MetaNamespaceIndexFunc}
}

func TestTask5_Namespace_is_the_indexed_value(t *testing.T) {
	const (
		namespace = "MetaNamespaceIndexFunc returns the one indexed value of an object: its namespace, which is \"\" " +
			"for a cluster-scoped object."
		bare = "Any object with metadata has a namespace, even a bare *metav1.ObjectMeta: a lister passes one to " +
			"Index, to name the namespace."
	)
	guard.Test(t, namespace, func(t *guard.T) {
		terminating := deploy("shop/web")
		terminating.DeletionTimestamp = &metav1.Time{}
		for _, c := range []struct {
			rule   string
			what   string
			obj    any
			wanted string
		}{
			{namespace, "a Deployment in shop", deploy("shop/web"), "shop"},
			{namespace, "a Node", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, ""},
			{namespace, "a Deployment that the server deletes", terminating, "shop"},
			{bare, "a bare *metav1.ObjectMeta", &metav1.ObjectMeta{Namespace: "shop"}, "shop"},
			{bare, "an object whose only method is GetObjectMeta", onlyAccessor{deploy("shop/web")}, "shop"},
			{bare, "an object that has the methods of metav1.Object", onlyObject{deploy("shop/web")}, "shop"},
		} {
			t.Rule("%s", c.rule)
			t.Did("MetaNamespaceIndexFunc of %s", c.what)
			values, err := indexer.MetaNamespaceIndexFunc(c.obj)
			require.NoError(t, err, "the error of MetaNamespaceIndexFunc of "+c.what)
			require.Equal(t, []string{c.wanted}, values, "values of "+c.what)
		}
		t.Rule(namespace + " Each call returns a slice of its own.")
		t.Did("MetaNamespaceIndexFunc of a Deployment in shop, and of one in default")
		shop, _ := indexer.MetaNamespaceIndexFunc(deploy("shop/web"))
		_, _ = indexer.MetaNamespaceIndexFunc(deploy("default/web"))
		require.Equal(t, []string{"shop"}, shop, "values of the Deployment in shop")
		t.Did("overwrite the slice, and call MetaNamespaceIndexFunc of a Deployment in shop again")
		clear(shop)
		shop, _ = indexer.MetaNamespaceIndexFunc(deploy("shop/web"))
		require.Equal(t, []string{"shop"}, shop, "values of the Deployment in shop")
		t.Rule(`An object without metadata is an error: "" would put it with the cluster-scoped objects.`)
		for _, obj := range append(withoutMetadata(), cache.ExplicitKey("shop/web")) {
			t.Did("MetaNamespaceIndexFunc of %s", describe(obj))
			_, err := indexer.MetaNamespaceIndexFunc(obj)
			require.Error(t, err, "the error of MetaNamespaceIndexFunc of "+describe(obj))
		}
	})
}

func TestTask5_Lister_serves_the_store(t *testing.T) {
	guard.Test(t, "A lister of one namespace returns the objects in it. For an unknown namespace it returns none, and "+
		"no error.", func(t *guard.T) {
		web, db := deploy("default/web"), deploy("default/db")
		web.Labels = map[string]string{"tier": "front"}
		s := newStore(t, byNamespace(), web, db, deploy("shop/web"))
		lister := listers.NewDeploymentLister(s)
		requireListed(t, lister, "default", labels.Everything(), "default/db", "default/web")
		requireListed(t, lister, "nowhere", labels.Everything())
		t.Rule("The index selects the namespace, and the lister's selector the labels.")
		requireListed(t, lister, "default", labels.SelectorFromSet(web.Labels), "default/web")

		t.Rule(`ByIndex returns the objects that have the indexed value: "" is that of cluster-scoped objects alone.`)
		s.Add(deploy("/cluster"))
		t.Did(`ByIndex namespace=""`)
		objs, err := s.ByIndex(cache.NamespaceIndex, "")
		require.NoError(t, err, "the error of ByIndex")
		require.Equal(t, []string{"cluster"}, keysOf(objs), `keys under namespace=""`)
		t.Did(`IndexKeys namespace=""`)
		keys, err := s.IndexKeys(cache.NamespaceIndex, "")
		require.NoError(t, err, "the error of IndexKeys")
		require.Equal(t, []string{"cluster"}, keys, `IndexKeys namespace=""`)
		t.Did(`Index namespace, like a *metav1.ObjectMeta without a namespace`)
		objs, err = s.Index(cache.NamespaceIndex, &metav1.ObjectMeta{})
		require.NoError(t, err, "the error of Index")
		require.Equal(t, []string{"cluster"}, keysOf(objs), `keys of Index, like an object without a namespace`)
		s.Delete(deploy("/cluster"))

		t.Rule("Without a namespace a lister returns the whole store.")
		t.Did("lister.List of all namespaces")
		all, err := lister.List(labels.Everything())
		require.NoError(t, err, "the error of the lister's List")
		require.Len(t, all, 3, "objects of the lister's List")

		t.Rule("Objects are shared: a lister returns the cached object itself. Never change it, make a DeepCopy.")
		t.Did("lister.Deployments(default).Get(web)")
		got, err := lister.Deployments("default").Get("web")
		require.NoError(t, err, "the error of the lister's Get for a stored object")
		require.Same(t, web, got, "the object that the lister's Get returns")

		t.Rule(`A controller recognises a deleted object by the reason NotFound: for an unknown key, GetByKey ` +
			"returns exists=false and no error.")
		t.Did("lister.Deployments(default).Get(gone)")
		_, err = lister.Deployments("default").Get("gone")
		require.Equal(t, metav1.StatusReasonNotFound, apierrors.ReasonForError(err),
			"the reason of the lister's error for an unknown object")

		t.Rule("A lister is a view of the store: its next call sees each write, and each relist.")
		s.Delete(cache.DeletedFinalStateUnknown{Key: "default/web", Obj: web})
		s.Add(deploy("default/cdn"))
		requireListed(t, lister, "default", labels.Everything(), "default/cdn", "default/db")
		s.Replace([]any{deploy("default/new")}, "9")
		requireListed(t, lister, "default", labels.Everything(), "default/new")
	})
}

func TestTask5_Lister_asks_the_index_and_not_the_store(t *testing.T) {
	guard.Test(t, `A lister asks Index("namespace", &metav1.ObjectMeta{Namespace: …}). If that fails, it goes `+
		"through the whole store instead: the answer is right, but slow.", func(t *guard.T) {
		s := countedStore{newStore(t, byNamespace(), deploy("default/web"), deploy("shop/web")), new(int)}
		lister := listers.NewDeploymentLister(s)
		requireListed(t, lister, "shop", labels.Everything(), "shop/web")
		require.Equal(t, 0, *s.lists, "calls of the store's List")
	})
}

// countedStore counts the calls that go through the whole store.
type countedStore struct {
	notedStore
	lists *int
}

func (s countedStore) List() []any {
	*s.lists++
	return s.notedStore.List()
}

// requireListed asserts that the lister finds the objects with these keys, and no others, in the namespace.
func requireListed(t *guard.T, lister listers.DeploymentLister, namespace string, by labels.Selector, keys ...string) {
	t.Helper()
	t.Did("lister.Deployments(%s).List(%s)", namespace, by)
	found, err := lister.Deployments(namespace).List(by)
	require.NoError(t, err, "the error of the lister's List in "+namespace)
	objs := make([]any, len(found))
	for i, d := range found {
		objs[i] = (*appsv1.Deployment)(d)
	}
	require.Equal(t, append([]string{}, keys...), keysOf(objs), "keys of the lister's List in "+namespace)
}
