// A metric counts new Deployments. Its handler is added when a and b exist, and then c is created.
//
// Question: How many are new?
//
// Wrong: late-additions-are-not-initial
//
// Story: `isInInitialList` exists because OnAdd has two meanings: the object is new, or only the handler is. If a late
// handler receives the store without this flag, a metric of new objects jumps by the size of the cluster whenever a
// program adds a handler.
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

	created, known, end := 0, 0, make(chan bool)
	informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{AddFunc: func(obj any, isInInitialList bool) {
		if isInInitialList {
			known++
		} else {
			created++
		}
		if obj.(*appsv1.Deployment).Name == "c" {
			close(end)
		}
	}})
	server.Add(deployment("c"))
	<-end
	fmt.Println("known:", known)
	fmt.Println("new:", created)
}

// source is an API server in memory, which cannot stream its first list.
type source struct{ *fcache.FakeControllerSource }

func (source) IsWatchListSemanticsUnSupported() bool { return true }

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
