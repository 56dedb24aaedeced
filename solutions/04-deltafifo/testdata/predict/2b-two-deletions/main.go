// The watch reports a deletion, and then a tombstone of the same Pod comes in.
//
// Question: What is printed?
//
// Wrong: later-deletion-wins
//
// Story: If the later deletion always wins, a handler receives a tombstone although the queue had the object's last
// state. A tombstone says less. In 2015 a tombstone had only a key, so the replication controller could not find the
// owner of a deleted Pod, and waited minutes for the next resync
// ([#7561](https://github.com/kubernetes/kubernetes/issues/7561)).
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

	_ = q.Delete(pod("web", "2"))
	_ = q.Delete(cache.DeletedFinalStateUnknown{Key: "web", Obj: pod("web", "1")})

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
