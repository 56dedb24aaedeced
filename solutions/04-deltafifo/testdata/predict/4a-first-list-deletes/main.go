// The store has a Pod from an earlier run, and the first list has another one.
//
// Question: After how many Pops is the queue synced?
//
// Wrong: deletions-do-not-count
//
// Story: A queue that counts only the listed keys is synced too early: the store still has a Pod that does not exist. A
// controller that starts now may count the Pod as a running replica. client-go had this bug until 2016
// ([#31755](https://github.com/kubernetes/kubernetes/pull/31755)).
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
	_ = known.Add(pod("old", "1"))
	q := deltafifo.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: known})

	_ = q.Replace([]any{pod("new", "2")}, "2")

	for pops := range 2 {
		fmt.Println(pops, "Pops: synced", q.HasSynced())
		_, _ = q.Pop(func(any, bool) error { return nil })
	}
	fmt.Println("2 Pops: synced", q.HasSynced())
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}
