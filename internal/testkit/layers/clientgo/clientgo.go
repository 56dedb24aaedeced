// Package clientgo is the set of layers of client-go itself.
package clientgo

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"client-go-workshop/internal/testkit/layers"
)

// Layers is the set.
var Layers = layers.Layers{
	NewClient: newClient,
	NewReflector: func(lw cache.ListerWatcher, expectedType any, store cache.ReflectorStore, options layers.ReflectorOptions) layers.Reflector {
		r := cache.NewReflectorWithOptions(lw, expectedType, store, options.ReflectorOptions)
		r.ShouldResync = options.ShouldResync
		return r
	},
	NewDeltaFIFO: func(options cache.DeltaFIFOOptions) cache.Queue { return cache.NewDeltaFIFOWithOptions(options) },
	NewIndexer: func(keyFunc cache.KeyFunc, indexers cache.Indexers) cache.Indexer {
		return cache.NewIndexer(keyFunc, indexers)
	},
	NewWorkQueue: workqueue.NewTypedRateLimitingQueueWithConfig[cache.ObjectName],
}

type client struct{ apps, policy *rest.RESTClient }

func newClient(config *rest.Config) (layers.Client, error) {
	apps, err := rest.RESTClientFor(layers.ConfigFor(config, appsv1.SchemeGroupVersion))
	if err != nil {
		return nil, fmt.Errorf("make a client for apps/v1: %w", err)
	}
	policy, err := rest.RESTClientFor(layers.ConfigFor(config, policyv1.SchemeGroupVersion))
	if err != nil {
		return nil, fmt.Errorf("make a client for policy/v1: %w", err)
	}
	return &client{apps, policy}, nil
}

func (c *client) Deployments(namespace string) cache.ListerWatcher {
	return cache.NewListWatchFromClient(c.apps, "deployments", namespace, fields.Everything())
}

func (c *client) Budgets(namespace string) cache.ListerWatcher {
	return cache.NewListWatchFromClient(c.policy, "poddisruptionbudgets", namespace, fields.Everything())
}

func (c *client) BudgetWriter(namespace string) layers.BudgetClient {
	return &budgets{c.policy, namespace}
}

type budgets struct {
	client    *rest.RESTClient
	namespace string
}

func (b *budgets) Create(ctx context.Context, budget *policyv1.PodDisruptionBudget, options metav1.CreateOptions) (*policyv1.PodDisruptionBudget, error) {
	result := &policyv1.PodDisruptionBudget{}
	return result, b.on(b.client.Post()).VersionedParams(&options, layers.ParameterCodec).Body(budget).Do(ctx).Into(result)
}

func (b *budgets) Update(ctx context.Context, budget *policyv1.PodDisruptionBudget, options metav1.UpdateOptions) (*policyv1.PodDisruptionBudget, error) {
	result := &policyv1.PodDisruptionBudget{}
	return result, b.on(b.client.Put()).Name(budget.Name).VersionedParams(&options, layers.ParameterCodec).Body(budget).Do(ctx).Into(result)
}

func (b *budgets) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return b.on(b.client.Delete()).Name(name).Body(&options).Do(ctx).Error()
}

func (b *budgets) on(r *rest.Request) *rest.Request {
	return r.Namespace(b.namespace).Resource("poddisruptionbudgets")
}
