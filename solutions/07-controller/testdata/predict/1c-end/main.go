// A program stops an informer and waits until Run returns.
//
// Question: Is the watch closed then?
//
// Wrong: stop-forgets-the-reflector
//
// Story: A program that installs and removes custom resources starts and stops an informer for each of them. If the end
// of the context reaches only half of the parts, each stopped informer keeps a watch open. The API server sends events
// to it until the process ends, and a goroutine receives them.
package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	controller "client-go-workshop/solutions/07-controller"
)

func main() {
	open := watch.NewFake()
	watching := make(chan bool, 1)
	server := &cache.ListWatch{
		ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
			return &appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		},
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) {
			watching <- true
			return open, nil
		},
	}
	informer := controller.NewSharedIndexInformer(plain{server}, &appsv1.Deployment{}, 0, cache.Indexers{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan bool)
	go func() {
		informer.RunWithContext(ctx)
		close(ended)
	}()

	<-watching
	cancel()
	<-ended
	fmt.Println("the watch is closed:", open.IsStopped())
}

// plain cannot stream its first list.
type plain struct{ cache.ListerWatcher }

func (plain) IsWatchListSemanticsUnSupported() bool { return true }
