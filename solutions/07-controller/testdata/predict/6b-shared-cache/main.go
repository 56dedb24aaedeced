// The controller repairs a budget, and the server refuses the update.
//
// Question: What does each of the two steps print?
//
// Wrong: cached-object-is-changed
//
// Story: The cache belongs to every controller of the process. If one of them changes a cached object, all others read
// a state that the server never had. Here the second step finds the wrong budget right, so the repair never happens.
// Client-go can detect such changes in tests, with the environment variable `KUBE_CACHE_MUTATION_DETECTOR`.
package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	controller "client-go-workshop/solutions/07-controller"
)

func main() {
	klog.SetLogger(klog.Logger{}) // logs nothing
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	deployments := controller.NewSharedIndexInformer(&cache.ListWatch{}, &appsv1.Deployment{}, 0, byNamespace)
	budgets := controller.NewSharedIndexInformer(&cache.ListWatch{}, &policyv1.PodDisruptionBudget{}, 0, byNamespace)
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid"}}
	web.Spec.Replicas = ptr.To[int32](3)
	budget := controller.NewBudget(web)
	budget.Spec.MinAvailable = ptr.To(intstr.FromInt32(0)) // a user has edited it
	deployments.GetStore().Add(web)
	budgets.GetStore().Add(budget)

	c, _ := controller.New(klog.Background(), controller.Config{
		Deployments: deployments, Budgets: budgets, Workers: 1, Recorder: record.NewFakeRecorder(10),
		Client: func(string) controller.BudgetClient { return server{} },
	})
	for range 2 {
		err := c.Reconcile(context.Background(), cache.NewObjectName("default", "web"))
		cached := budgets.GetStore().List()[0].(*policyv1.PodDisruptionBudget)
		fmt.Println("an error:", err != nil, "minAvailable in the cache:", cached.Spec.MinAvailable)
	}
}

// server refuses every update.
type server struct{ controller.BudgetClient }

func (server) Update(context.Context, *policyv1.PodDisruptionBudget, metav1.UpdateOptions) (
	*policyv1.PodDisruptionBudget, error) {
	return nil, errors.New("the server refuses")
}
