// A lister returns the Deployments of one namespace.
//
// Question: How often does the lister go through the whole store?
//
// Wrong: namespace-of-deployments-only
//
// Story: A lister hides an index that does not work: it goes through the store instead, and its answer is right. A
// cluster with 50,000 Pods pays for it with milliseconds at each reconcile. The only sign is a line in the log at each
// call, which many programs never show.
package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	indexer "client-go-workshop/solutions/05-indexer"
)

func main() {
	klog.SetLogger(klog.Logger{}) // no log
	byNamespace := cache.Indexers{cache.NamespaceIndex: indexer.MetaNamespaceIndexFunc}
	store := &counted{Indexer: indexer.NewIndexer(indexer.MetaNamespaceKeyFunc, byNamespace)}
	for _, namespace := range []string{"default", "shop"} {
		_ = store.Add(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}})
	}
	found, err := listers.NewDeploymentLister(store).Deployments("shop").List(labels.Everything())
	fmt.Println("found:", len(found), "error:", err)
	fmt.Println("calls of List:", store.lists)
}

// counted counts the calls that go through the whole store.
type counted struct {
	cache.Indexer
	lists int
}

func (s *counted) List() []any {
	s.lists++
	return s.Indexer.List()
}
