// A batch of three Pods is popped, and a lock counts how often it is taken.
//
// Question: How often is it taken, and is it held at each call of the handler?
//
// Wrong: lock-for-each-change
//
// Story: An informer takes this lock to add a handler: it passes the content of the store to the handler, and then every
// change. If the lock is free in the middle of a batch, a handler joins there. It finds a Pod in the store, and receives
// its addition again.
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

func main() {
	queue := todaysinformer.NewBatchQueue(cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
		AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true,
	}))
	for _, name := range []string{"web-0", "web-1", "web-2"} {
		_ = queue.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
	}
	lock := &counted{}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		fmt.Printf("%s is added, the lock is held: %v\n", obj.(*corev1.Pod).Name, lock.held)
	}}

	store := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	_ = todaysinformer.Pop(queue, store, handler, lock)
	fmt.Println("times:", lock.times)
}

type counted struct {
	times int
	held  bool
}

func (c *counted) Lock()   { c.times, c.held = c.times+1, true }
func (c *counted) Unlock() { c.held = false }
