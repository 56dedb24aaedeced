// The cache has a budget that a user has deleted and created again on the server.
//
// Question: What does the server do with the deletion?
//
// Wrong: deletes-without-preconditions
//
// Story: A Deployment shrinks to one replica, so the controller deletes its budget. In the meantime a user has deleted
// that budget and created another one of the same name. A deletion by name takes the user's budget. With preconditions
// the server refuses it, and the next step sees the new budget in the cache.
package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	web.Spec.Replicas = ptr.To[int32](1)
	budget := controller.NewBudget(web)
	budget.UID, budget.ResourceVersion = "first", "7"
	deployments.GetStore().Add(web)
	budgets.GetStore().Add(budget)

	c, _ := controller.New(klog.Background(), controller.Config{
		Deployments: deployments, Budgets: budgets, Workers: 1, Recorder: record.NewFakeRecorder(10),
		Client: func(string) controller.BudgetClient { return server{uid: "second"} },
	})
	err := c.Reconcile(context.Background(), cache.NewObjectName("default", "web"))
	fmt.Println("an error:", err != nil)
}

// server has a budget with this UID.
type server struct {
	controller.BudgetClient
	uid types.UID
}

func (s server) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != s.uid {
		fmt.Println("the server refuses")
		return apierrors.NewConflict(policyv1.Resource("poddisruptionbudgets"), name, errors.New("another UID"))
	}
	fmt.Println("the server deletes the", s.uid, "budget")
	return nil
}
