// One handler wants a resync every second, and another one wants none.
//
// Question: How many updates does each receive in the first second?
//
// Wrong: resync-reaches-everybody
//
// Story: Each handler has its own period, but there is one queue. If a resync reaches every handler, the handler with
// the shortest period causes work in all controllers of the program: with 10,000 objects, 10,000 useless calls for each
// of them.
package main

import (
	"fmt"
	"sync"
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
	informer := controller.NewSharedIndexInformer(source{server}, &appsv1.Deployment{}, time.Second, cache.Indexers{})
	eager, calm := &counter{}, &counter{}
	informer.AddEventHandlerWithResyncPeriod(eager.handler(), time.Second)
	informer.AddEventHandlerWithResyncPeriod(calm.handler(), 0)
	eager.end.Add(1)
	calm.end.Add(1)
	go informer.Run(nil)
	cache.WaitForCacheSync(nil, informer.HasSynced)

	time.Sleep(1300 * time.Millisecond)
	server.Add(deployment("end"))
	eager.end.Wait()
	calm.end.Wait()
	fmt.Println("a resync every second:", eager.updates)
	fmt.Println("no resyncs:", calm.updates)
}

// counter counts updates until an object named end is added.
type counter struct {
	updates int
	end     sync.WaitGroup
}

func (c *counter) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, _ any) { c.updates++ },
		AddFunc: func(obj any) {
			if obj.(*appsv1.Deployment).Name == "end" {
				c.end.Done()
			}
		},
	}
}

// source is an API server in memory, which cannot stream its first list.
type source struct{ *fcache.FakeControllerSource }

func (source) IsWatchListSemanticsUnSupported() bool { return true }

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
