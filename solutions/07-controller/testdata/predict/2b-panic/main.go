// A handler panics at the second of three Deployments, and the program catches panics.
//
// Question: Which names does the handler print?
//
// Wrong: panic-ends-delivery
//
// Story: With `ReallyCrash` off, a panic in a handler does not end the program. If the panic also ends the goroutine
// that calls the handler, the controller is alive and ready, and never receives another event
// ([#58394](https://github.com/kubernetes/kubernetes/pull/58394)).
package main

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	controller "client-go-workshop/solutions/07-controller"
)

func main() {
	utilruntime.ReallyCrash, utilruntime.PanicHandlers = false, nil
	server := fcache.NewFakeControllerSource()
	informer := controller.NewSharedIndexInformer(source{server}, &appsv1.Deployment{}, 0, cache.Indexers{})
	end := make(chan bool)
	informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		name := obj.(*appsv1.Deployment).Name
		if name == "b" {
			panic("a bug")
		}
		fmt.Println("added", name)
		if name == "c" {
			close(end)
		}
	}})
	go informer.Run(nil)
	cache.WaitForCacheSync(nil, informer.HasSynced)

	for _, name := range []string{"a", "b", "c"} {
		server.Add(deployment(name))
	}
	select {
	case <-end:
	case <-time.After(2 * time.Second):
		fmt.Println("nothing more within two seconds")
	}
}

// source is an API server in memory, which cannot stream its first list.
type source struct{ *fcache.FakeControllerSource }

func (source) IsWatchListSemanticsUnSupported() bool { return true }

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
