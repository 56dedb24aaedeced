// A library adds an index to an informer that another package has already started.
//
// Question: How many keys does the index have?
//
// Wrong: indexers-only-before-the-start
//
// Story: Until 0.30 client-go refused indexers after the start. A library that needed an index had to run before the
// first line that started a factory, and programs were ordered around that. Now AddIndexers indexes the objects that
// are in the store.
package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	controller "client-go-workshop/solutions/07-controller"
)

func main() {
	server := fcache.NewFakeControllerSource()
	server.Add(deployment("a"))
	server.Add(deployment("b"))
	informer := controller.NewSharedIndexInformer(source{server}, &appsv1.Deployment{}, 0, cache.Indexers{})
	go informer.Run(nil)
	cache.WaitForCacheSync(nil, informer.HasSynced)

	err := informer.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	keys, _ := informer.GetIndexer().IndexKeys(cache.NamespaceIndex, "default")
	fmt.Println("an error:", err != nil)
	fmt.Println("keys:", len(keys))
}

// source is an API server in memory, which cannot stream its first list.
type source struct{ *fcache.FakeControllerSource }

func (source) IsWatchListSemanticsUnSupported() bool { return true }

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
