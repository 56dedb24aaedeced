// A quota refuses the budget ten times, and then an administrator raises it.
//
// Question: How many times does the controller ask, and is there a budget in the end?
//
// Wrong: gives-up-after-five
//
// Story: Many controllers drop a key after five failures, to spare the server. The back-off spares it already. After an
// outage of an hour, every Deployment that changed in that hour has no budget, and keeps none until its next change.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	controller "client-go-workshop/solutions/07-controller"
)

func main() {
	klog.SetLogger(klog.Logger{}) // logs nothing
	utilruntime.ErrorHandlers = nil
	deployments, budgets := fcache.NewFakeControllerSource(), fcache.NewFakeControllerSource()
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid"}}
	web.Spec.Replicas = ptr.To[int32](3)
	deployments.Add(web)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](time.Millisecond, time.Millisecond)
	config := controller.Config{
		Deployments: controller.NewSharedIndexInformer(source{deployments}, &appsv1.Deployment{}, 0, byNamespace),
		Budgets:     controller.NewSharedIndexInformer(source{budgets}, &policyv1.PodDisruptionBudget{}, 0, byNamespace),
		Queue:       workqueue.NewTypedRateLimitingQueue(limiter),
		Client:      func(string) controller.BudgetClient { return quota{} },
		Recorder:    record.NewFakeRecorder(10),
		Workers:     1,
	}
	c, _ := controller.New(klog.Background(), config)
	go config.Deployments.Run(nil)
	go config.Budgets.Run(nil)
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	c.Run(ctx)
	fmt.Println("requests:", requests)
	fmt.Println("a budget:", requests > 10)
}

var byNamespace = cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}

var requests int

// quota refuses the first ten creations.
type quota struct{ controller.BudgetClient }

func (quota) Create(_ context.Context, budget *policyv1.PodDisruptionBudget, _ metav1.CreateOptions) (
	*policyv1.PodDisruptionBudget, error) {
	if requests++; requests <= 10 {
		return nil, apierrors.NewForbidden(policyv1.Resource("poddisruptionbudgets"), budget.Name, errors.New("quota"))
	}
	return budget, nil
}

// source is an API server in memory, which cannot stream its first list.
type source struct{ *fcache.FakeControllerSource }

func (source) IsWatchListSemanticsUnSupported() bool { return true }
