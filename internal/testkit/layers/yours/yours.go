// Package yours is the set of layers from the chapter folders: what you have written. But for its imports it is the same
// text as package solutions beside it, which a test checks.
package yours

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	restclient "client-go-workshop/01-restclient"
	watchstream "client-go-workshop/02-watch-stream"
	reflector "client-go-workshop/03-reflector"
	deltafifo "client-go-workshop/04-deltafifo"
	indexer "client-go-workshop/05-indexer"
	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/layers"
)

// Layers is the set.
var Layers = layers.Layers{
	NewClient: newClient,
	NewReflector: func(lw cache.ListerWatcher, expectedType any, store cache.ReflectorStore, options layers.ReflectorOptions) layers.Reflector {
		r := reflector.NewReflectorWithOptions(lw, expectedType, store, options.ReflectorOptions)
		r.ShouldResync = options.ShouldResync
		return r
	},
	NewDeltaFIFO: func(options cache.DeltaFIFOOptions) cache.Queue { return deltafifo.NewDeltaFIFOWithOptions(options) },
	NewIndexer:   indexer.NewIndexer,
	NewWorkQueue: workqueue.NewTypedRateLimitingQueueWithConfig[cache.ObjectName],
}

// client has one REST client for each API group. They share a transport.
type client struct{ apps, policy *restclient.RESTClient }

func newClient(config *rest.Config) (layers.Client, error) {
	apps, err := forGroup(config, appsv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	policy, err := forGroup(config, policyv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	return &client{apps, policy}, nil
}

func forGroup(config *rest.Config, version schema.GroupVersion) (*restclient.RESTClient, error) {
	c, err := restclient.RESTClientFor(layers.ConfigFor(config, version))
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", version, err)
	}
	c.NewWatcher = watchstream.NewWatcherFor(layers.Codecs.WithoutConversion(), version)
	return c, nil
}

func (c *client) Deployments(namespace string) cache.ListerWatcher {
	return watchstream.NewListWatchFromClient(c.apps, "deployments", namespace, fields.Everything())
}

func (c *client) Budgets(namespace string) cache.ListerWatcher {
	return watchstream.NewListWatchFromClient(c.policy, "poddisruptionbudgets", namespace, fields.Everything())
}

func (c *client) BudgetWriter(namespace string) layers.BudgetClient {
	return &budgets{c.policy, namespace}
}

type budgets struct {
	client    *restclient.RESTClient
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

func (b *budgets) on(r *restclient.Request) *restclient.Request {
	return r.Namespace(b.namespace).Resource("poddisruptionbudgets")
}
