// The cache has version 1 of a Pod, version 2 is pending, and the next list does not have the Pod.
//
// Question: Which version does the tombstone have?
//
// Wrong: tombstone-of-the-known-object
//
// Story: A queue that takes the object of the tombstone from the cache reports a state that is older than the pending
// one. A handler that cleans up by this state misses the last change of the object.
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/solutions/04-deltafifo"
)

func main() {
	known := cache.NewStore(cache.MetaNamespaceKeyFunc)
	_ = known.Add(pod("web", "1"))
	q := deltafifo.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: known})

	_ = q.Update(pod("web", "2"))
	_ = q.Replace(nil, "3")

	_, _ = q.Pop(func(popped any, _ bool) error {
		last := popped.(cache.Deltas).Newest()
		tombstone := last.Object.(cache.DeletedFinalStateUnknown)
		fmt.Println(last.Type, "at", tombstone.Obj.(*corev1.Pod).ResourceVersion)
		return nil
	})
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}
