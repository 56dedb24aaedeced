// A handler needs a long time for each object of the first list.
//
// Question: Which of the three answers are true?
//
// Wrong: synced-with-the-informer
//
// Story: The scheduler waited for the informer and placed Pods while its handlers were still filling its records. It
// needed the second answer. Registrations have it since
// [#113985](https://github.com/kubernetes/kubernetes/pull/113985).
package main

import (
	"fmt"
	"time"

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
	work := make(chan bool)
	registration, _ := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-work }})
	go informer.Run(nil)
	cache.WaitForCacheSync(nil, informer.HasSynced)
	time.Sleep(100 * time.Millisecond)

	fmt.Println("informer:", informer.HasSynced())
	fmt.Println("registration:", registration.HasSynced())
	close(work)
	cache.WaitForCacheSync(nil, registration.HasSynced)
	fmt.Println("registration, after the work:", registration.HasSynced())
}

// source is an API server in memory, which cannot stream its first list.
type source struct{ *fcache.FakeControllerSource }

func (source) IsWatchListSemanticsUnSupported() bool { return true }

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
