package indexer_test

// Task 5: your indexer under the lister that client-go generates for Deployments.

import (
	"fmt"
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

// byNamespace is the one index that the store of every factory's informer has.
func byNamespace() cache.Indexers {
	return cache.Indexers{cache.NamespaceIndex: indexer.MetaNamespaceIndexFunc}
}

func TestTask5_Namespace_is_the_indexed_value(t *testing.T) {
	guard.Test(t, `whatever has metadata has a namespace, be it ""`, func(t *guard.T) {
		for _, c := range []struct {
			what   string
			obj    any
			wanted string
		}{
			{"a Deployment in shop", deploy("shop/web"), "shop"},
			{"a Node, which has no namespace", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, ""},
			{"a bare *metav1.ObjectMeta with nothing but a namespace", &metav1.ObjectMeta{Namespace: "shop"}, "shop"},
		} {
			t.Did("MetaNamespaceIndexFunc of %s", c.what)
			values, err := indexer.MetaNamespaceIndexFunc(c.obj)
			require.NoError(t, err)
			t.Rule(`every object has one namespace, so one value; "" is a value too`)
			require.Equal(t, []string{c.wanted}, values)
		}
		t.Did("MetaNamespaceIndexFunc of a string")
		_, err := indexer.MetaNamespaceIndexFunc("web")
		t.Rule(`a string has no namespace; "" would file it with the cluster-scoped objects`)
		require.Error(t, err)
	})
}

func TestTask5_Lister_lists_one_namespace(t *testing.T) {
	guard.Test(t, "two of three are in default", func(t *guard.T) {
		s := newStore(t, byNamespace(), deploy("default/web"), deploy("default/db"), deploy("shop/web"))
		lister := listers.NewDeploymentLister(s)
		require.Equal(t, []string{"default/db", "default/web"}, list(t, lister, "default", labels.Everything()))
		t.Rule("an unknown namespace has nothing in it, and is no error")
		require.Equal(t, []string{}, list(t, lister, "nowhere", labels.Everything()))

		t.Did("lister.List of all namespaces")
		all, err := lister.List(labels.Everything())
		require.NoError(t, err)
		t.Rule("without a namespace a lister takes the whole store")
		require.Len(t, all, 3)
	})
}

func TestTask5_Lister_asks_the_index_and_not_the_store(t *testing.T) {
	guard.Test(t, "one of two is in shop", func(t *guard.T) {
		s := scanned{newStore(t, byNamespace(), deploy("default/web"), deploy("shop/web")), new(int)}
		lister := listers.NewDeploymentLister(s)
		require.Equal(t, []string{"shop/web"}, list(t, lister, "shop", labels.Everything()))
		t.Rule(`when Index("namespace", &metav1.ObjectMeta{Namespace: …}) fails, a lister goes through the ` +
			"whole store instead: right, and slow")
		require.Equal(t, "calls of the store's List: 0", fmt.Sprint("calls of the store's List: ", *s.lists))
	})
}

func TestTask5_Lister_filters_by_label(t *testing.T) {
	guard.Test(t, "the index narrows to the namespace, the lister's selector does the rest", func(t *guard.T) {
		front, back := deploy("shop/front"), deploy("shop/back")
		front.Labels, back.Labels = map[string]string{"tier": "front"}, map[string]string{"tier": "back"}
		lister := listers.NewDeploymentLister(newStore(t, byNamespace(), front, back))
		require.Equal(t, []string{"shop/front"}, list(t, lister, "shop", labels.SelectorFromSet(labels.Set{"tier": "front"})))
	})
}

func TestTask5_Lister_gets_one(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		web := deploy("default/web")
		lister := listers.NewDeploymentLister(newStore(t, byNamespace(), web))
		t.Did("lister.Deployments(default).Get(web)")
		got, err := lister.Deployments("default").Get("web")
		require.NoError(t, err)
		t.Rule("a lister hands out the cached object itself: never change it, make a DeepCopy")
		require.Same(t, web, got)

		t.Did("lister.Deployments(default).Get(gone)")
		_, err = lister.Deployments("default").Get("gone")
		t.Rule(`a controller tells "deleted" from "broken" by this reason: GetByKey must say exists=false, ` +
			"with no error")
		require.Equal(t, metav1.StatusReasonNotFound, apierrors.ReasonForError(err))
	})
}

func TestTask5_Lister_follows_the_store(t *testing.T) {
	guard.Test(t, "a lister is a view: what the informer writes is there at the next call", func(t *guard.T) {
		s := newStore(t, byNamespace(), deploy("default/web"), deploy("default/db"))
		lister := listers.NewDeploymentLister(s)
		s.Delete(cache.DeletedFinalStateUnknown{Key: "default/web", Obj: deploy("default/web")})
		s.Add(deploy("default/cdn"))
		require.Equal(t, []string{"default/cdn", "default/db"}, list(t, lister, "default", labels.Everything()))
		s.Replace([]any{deploy("default/new")}, "9")
		t.Rule("a view of whatever the store holds, also after a relist")
		require.Equal(t, []string{"default/new"}, list(t, lister, "default", labels.Everything()))
	})
}

// scanned counts how often somebody goes through the whole store.
type scanned struct {
	told
	lists *int
}

func (s scanned) List() []any {
	*s.lists++
	return s.told.List()
}

func list(t *guard.T, lister listers.DeploymentLister, namespace string, selector labels.Selector) []string {
	t.Helper()
	t.Did("lister.Deployments(%s).List(%s)", namespace, selector)
	found, err := lister.Deployments(namespace).List(selector)
	require.NoError(t, err, "listing from memory cannot fail")
	objs := make([]any, len(found))
	for i, d := range found {
		objs[i] = (*appsv1.Deployment)(d)
	}
	return keysOf(objs)
}
