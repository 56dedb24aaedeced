// Two parts of a program start the same informer.
//
// Question: What happens to the second Run?
//
// Wrong: second-run-starts-again
//
// Story: A factory starts an informer, and a controller starts it a second time. If both calls run, two watches write
// to one store, and handlers receive each event twice. Client-go refuses the second call since
// [#104853](https://github.com/kubernetes/kubernetes/pull/104853).
package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	controller "client-go-workshop/solutions/07-controller"
)

func main() {
	klog.SetLogger(klog.Logger{}) // logs nothing
	lists := make(chan string)
	server := &cache.ListWatch{
		ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
			lists <- "the informer lists"
			return &appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		},
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}
	informer := controller.NewSharedIndexInformer(plain{server}, &appsv1.Deployment{}, 0, cache.Indexers{})

	go informer.Run(nil)
	fmt.Println("first Run:", <-lists)

	returned := make(chan string)
	go func() {
		informer.Run(nil)
		returned <- "returned"
	}()
	select {
	case list := <-lists:
		fmt.Println("second Run:", list)
	case end := <-returned:
		fmt.Println("second Run:", end)
	}
}

// plain cannot stream its first list.
type plain struct{ cache.ListerWatcher }

func (plain) IsWatchListSemanticsUnSupported() bool { return true }
