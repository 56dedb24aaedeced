// Package controller puts client-go behind the names of chapter 07, so that the chapter's tests run over the real
// thing. The informer is client-go's. It has no controller of this kind, so that one is the solution's, here on
// client-go's informer. It only names things. If client-go fails a test, the test is wrong.
package controller

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
	solution "client-go-workshop/solutions/07-controller"
)

func NewSharedIndexInformer(lw cache.ListerWatcher, example runtime.Object, resync time.Duration,
	indexers cache.Indexers) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(lw, example, resync, indexers)
}

func NewSharedIndexInformerWithOptions(lw cache.ListerWatcher, example runtime.Object,
	options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformerWithOptions(lw, example, options)
}

// NewSharedIndexInformerOn does not use the layers: client-go's informer stands on client-go's.
func NewSharedIndexInformerOn(_ layers.Layers, lw cache.ListerWatcher, example runtime.Object,
	options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformerWithOptions(lw, example, options)
}

type (
	BudgetClient = layers.BudgetClient
	Config       = solution.Config
	Controller   = solution.Controller
)

func New(logger klog.Logger, config Config) (*Controller, error) { return solution.New(logger, config) }

const (
	OptOutAnnotation = solution.OptOutAnnotation
	OptOutValue      = solution.OptOutValue
	ManagedByLabel   = solution.ManagedByLabel
	ManagedByValue   = solution.ManagedByValue
	ReasonCreated    = solution.ReasonCreated
	ReasonRepaired   = solution.ReasonRepaired
	ReasonRemoved    = solution.ReasonRemoved
	ReasonConflict   = solution.ReasonConflict
	ReasonRefused    = solution.ReasonRefused
	ReconcileTimeout = solution.ReconcileTimeout
)

func NewBudget(deployment *appsv1.Deployment) *policyv1.PodDisruptionBudget {
	return solution.NewBudget(deployment)
}

func Conform(budget *policyv1.PodDisruptionBudget, deployment *appsv1.Deployment) []string {
	return solution.Conform(budget, deployment)
}
