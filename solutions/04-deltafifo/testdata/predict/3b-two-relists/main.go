// A known Pod is missing in two lists, and the consumer pops only after the second.
//
// Question: Which type does the tombstone contain?
//
// Wrong: tombstone-in-a-tombstone
//
// Story: The newest pending object of the key is the first list's tombstone. A queue that puts it into a second
// tombstone breaks every careful handler: the handler unwraps one tombstone, expects a Pod, and finds another
// tombstone. The fix of the outage in this chapter had to unwrap it
// ([#115620](https://github.com/kubernetes/kubernetes/pull/115620)).
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

	_ = q.Replace(nil, "5")
	_ = q.Replace(nil, "6")

	_, _ = q.Pop(func(popped any, _ bool) error {
		for _, d := range popped.(cache.Deltas) {
			fmt.Printf("%s, with %T\n", d.Type, d.Object.(cache.DeletedFinalStateUnknown).Obj)
		}
		return nil
	})
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}
