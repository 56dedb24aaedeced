// A store got a list at version 9, whose only object is at version 3, and now a resync comes.
//
// Question: Which calls does the handler receive, and which version has the store then?
//
// Wrong: resync-writes
//
// Story: A resync is about the handlers. If it writes each object to the store again, the version of the store becomes
// that of an old object. A controller that waits until its store has reached version 9 waits again.
package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

func main() {
	store := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	a := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", ResourceVersion: "3"}}
	_ = store.Replace([]any{a}, "9")

	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { fmt.Println("added") },
		UpdateFunc: func(old, new any) { fmt.Println("updated, the same object:", old == new) },
	}
	resync := cache.Deltas{{Type: cache.SyncAll, Object: cache.SyncAllInfo{}}}
	if err := todaysinformer.ProcessDeltas(handler, store, resync, false); err != nil {
		fmt.Println("error:", err)
	}
	fmt.Println("version:", store.LastStoreSyncResourceVersion())
}
