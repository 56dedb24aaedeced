// A controller notes how many replicas a deleted Deployment had.
//
// Question: What does the handler print?
//
// Wrong: tombstone-is-unwrapped
//
// Story: The watch missed a scale-up to 5 and the deletion, so the informer only knows an old state. It says so with a
// tombstone. If it passed on the old state as if it were the last one, the controller would clean up after one replica.
// Code that casts to `*appsv1.Deployment` without a check panics at a tombstone, so test your handlers with one.
package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"

	controller "client-go-workshop/solutions/07-controller"
)

func main() {
	klog.SetLogger(klog.Logger{}) // logs nothing
	server := fcache.NewFakeControllerSource()
	server.Add(scaled(1))
	informer := controller.NewSharedIndexInformer(source{server}, &appsv1.Deployment{}, 0, cache.Indexers{})
	end := make(chan bool)
	informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		switch gone := obj.(type) {
		case *appsv1.Deployment:
			fmt.Println("deleted with", *gone.Spec.Replicas, "replicas")
		default:
			fmt.Printf("deleted, and it is a %T\n", gone)
		}
		close(end)
	}})
	go informer.Run(nil)
	cache.WaitForCacheSync(nil, informer.HasSynced)

	server.ModifyDropWatch(scaled(5)) // no watch reports these two
	server.DeleteDropWatch(scaled(5))
	server.ResetWatch()
	<-end
}

func scaled(replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
	}
}

// source is an API server in memory, which cannot stream its first list.
type source struct{ *fcache.FakeControllerSource }

func (source) IsWatchListSemanticsUnSupported() bool { return true }
