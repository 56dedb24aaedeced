// A deletion is pending, and the next list has the Pod again.
//
// Question: Which lines are printed?
//
// Wrong: replaced-is-dropped-after-a-deletion
//
// Story: A client-go of 2019 ignored a listed object if the last pending delta of its key was a deletion. So the object
// existed but was missing in the cache, until it changed or the controller restarted
// ([#83810](https://github.com/kubernetes/kubernetes/issues/83810)).
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
	q := deltafifo.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true})

	_ = q.Delete(pod("web", "2"))
	_ = q.Replace([]any{pod("web", "3")}, "3")

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
