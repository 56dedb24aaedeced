// A batch of two Pods comes into an empty store, and nothing goes wrong.
//
// Question: What does the program print?
//
// Wrong: nil-error-that-is-not-nil
//
// Story: `Transaction` returns a pointer, `*cache.TransactionError`. A nil pointer that becomes an `error` is an error
// with a type and without a value, and it is not nil. Each batch is then logged as failed. `Error` panics, so the log
// has `<panic: …>` in the place of a text.
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

func main() {
	store := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	batch := []cache.Delta{{Type: cache.Added, Object: pod("web-0")}, {Type: cache.Added, Object: pod("web-1")}}

	err := todaysinformer.ProcessDeltasInBatch(cache.ResourceEventHandlerFuncs{}, store, batch, false)

	fmt.Println("Pods in the store:", len(store.List()))
	if err != nil {
		fmt.Println("the batch has failed")
	} else {
		fmt.Println("the batch has succeeded")
	}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
