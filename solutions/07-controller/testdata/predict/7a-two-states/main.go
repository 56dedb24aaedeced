// Deployment api controls the budget web, and a user cuts the owner reference.
//
// Question: Which keys does this update add to the queue?
//
// Wrong: owner-only-from-the-new-state
//
// Story: The new state of the budget names no owner any more. A handler that looks at the new state only never wakes
// the Deployment that lost its budget. The damage stays until the next resync, and without resyncs until the Deployment
// changes.
package main

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	controller "client-go-workshop/solutions/07-controller"
)

func main() {
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	deployments := controller.NewSharedIndexInformer(&cache.ListWatch{}, &appsv1.Deployment{}, 0, byNamespace)
	budgets := controller.NewSharedIndexInformer(&cache.ListWatch{}, &policyv1.PodDisruptionBudget{}, 0, byNamespace)
	informer := &caught{SharedIndexInformer: budgets}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	controller.New(klog.Background(), controller.Config{
		Deployments: deployments, Budgets: informer, Queue: queue, Workers: 1,
	})

	old := controller.NewBudget(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "api"}})
	old.Name = "web"
	cut := old.DeepCopy()
	cut.OwnerReferences = nil
	informer.handler.OnUpdate(old, cut)

	var keys []string
	for queue.Len() > 0 {
		key, _ := queue.Get()
		keys = append(keys, key.String())
	}
	slices.Sort(keys)
	fmt.Println(keys)
}

// caught is an informer that keeps its handler, so that the program can call it.
type caught struct {
	cache.SharedIndexInformer
	handler cache.ResourceEventHandler
}

func (c *caught) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	c.handler = handler
	return c.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
}
