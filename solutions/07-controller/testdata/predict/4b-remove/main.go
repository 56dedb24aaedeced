// A handler is removed during its first call. Two more notifications wait for it.
//
// Question: What does the handler print?
//
// Wrong: removed-handler-hears-the-rest
//
// Story: A program removes a handler because it is about to close the file, connection or channel that the handler
// uses. A call that comes later writes to a closed file, or panics with "send on closed channel".
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
	informer := controller.NewSharedIndexInformer(source{server}, &appsv1.Deployment{}, 0, cache.Indexers{})
	begun, work, all := make(chan bool, 3), make(chan bool), make(chan bool, 3)
	registration, _ := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		begun <- true
		<-work
		fmt.Println("added", obj.(*appsv1.Deployment).Name)
	}})
	informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { all <- true }})
	go informer.Run(nil)
	cache.WaitForCacheSync(nil, informer.HasSynced)

	for _, name := range []string{"a", "b", "c"} {
		server.Add(deployment(name))
		<-all // the other handler has received it
	}
	<-begun
	informer.RemoveEventHandler(registration)
	close(work)
	<-registration.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
	fmt.Println("the handler has finished")
}

// source is an API server in memory, which cannot stream its first list.
type source struct{ *fcache.FakeControllerSource }

func (source) IsWatchListSemanticsUnSupported() bool { return true }

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
