// A Pod is created and deleted before the consumer pops.
//
// Question: Which lines are printed?
//
// Wrong: delete-asks-the-known-objects-alone
//
// Story: A queue that records a deletion only if the object is known drops this one, and the consumer receives only the
// Added. In 2016 a PersistentVolume was deleted while its controller loaded the first list. The deletion was dropped,
// and the controller kept the volume in its cache ([#26966](https://github.com/kubernetes/kubernetes/issues/26966)).
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
	q := deltafifo.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: known})

	_ = q.Add(pod("web", "1"))
	_ = q.Delete(pod("web", "2"))

	_, _ = q.Pop(show)
}

func show(popped any, _ bool) error {
	for _, d := range popped.(cache.Deltas) {
		switch obj := d.Object.(type) {
		case *corev1.Pod:
			fmt.Println(d.Type, obj.Name, "at", obj.ResourceVersion)
		case cache.DeletedFinalStateUnknown:
			fmt.Println(d.Type, obj.Key, "with a tombstone")
		}
	}
	return nil
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}
