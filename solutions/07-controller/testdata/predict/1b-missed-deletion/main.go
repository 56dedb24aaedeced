// The watch breaks, and a is deleted before the informer lists again.
//
// Question: Which keys are in the store?
//
// Wrong: queue-does-not-know-the-store
//
// Story: A list says which objects exist, and not which ones were deleted. If the queue does not compare the list with
// the store, a deleted object stays in the cache until the process restarts. A controller then works for an object that
// was deleted a week ago.
package main

import (
	"fmt"
	"slices"
	"time"

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
	server.Add(deployment("a"))
	server.Add(deployment("b"))
	informer := controller.NewSharedIndexInformer(source{server}, &appsv1.Deployment{}, 0, cache.Indexers{})
	go informer.Run(nil)
	cache.WaitForCacheSync(nil, informer.HasSynced)

	server.DeleteDropWatch(deployment("a")) // no watch reports it
	server.ResetWatch()

	for _, name := range []string{"c", "d"} {
		server.Add(deployment(name))
		for found := false; !found; time.Sleep(time.Millisecond) {
			_, found, _ = informer.GetStore().GetByKey("default/" + name)
		}
	}
	keys := informer.GetStore().ListKeys()
	slices.Sort(keys)
	fmt.Println(keys)
}

// source is an API server in memory, which cannot stream its first list.
type source struct{ *fcache.FakeControllerSource }

func (source) IsWatchListSemanticsUnSupported() bool { return true }

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
