package layers

// This file makes a Client of any of the three REST clients: the learner's, the solution's and client-go's have the
// same methods, but each returns its own types.

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Request is a chapter's or client-go's *Request.
type Request[R any, S Result] interface {
	Namespace(namespace string) R
	Resource(resource string) R
	Name(name string) R
	SubResource(segments ...string) R
	VersionedParams(options runtime.Object, codec runtime.ParameterCodec) R
	Body(obj any) R
	Do(ctx context.Context) S
}

// Result is a chapter's or client-go's Result.
type Result interface {
	Into(obj runtime.Object) error
	Error() error
}

// RESTClient is a chapter's or client-go's *RESTClient, as far as it writes.
type RESTClient[R any] interface {
	Post() R
	Put() R
	Delete() R
	Patch(patch types.PatchType) R
}

// client has a REST client for each resource. They share a transport.
type client[C RESTClient[R], R Request[R, S], S Result] struct {
	config               *rest.Config
	newREST              func(config *rest.Config) (C, error)
	listWatch            func(c C, resource, namespace string) cache.ListerWatcher
	deployments, budgets Resource
}

// NewClient returns a Client on the REST clients that newREST makes, and listWatch for reading from them.
func NewClient[C RESTClient[R], R Request[R, S], S Result](config *rest.Config,
	newREST func(config *rest.Config) (C, error),
	listWatch func(c C, resource, namespace string) cache.ListerWatcher,
) (Client, error) {
	c := &client[C, R, S]{config: config, newREST: newREST, listWatch: listWatch}
	var err error
	if c.deployments, err = c.Resource(appsv1.SchemeGroupVersion.WithResource("deployments"), Scheme); err != nil {
		return nil, err
	}
	c.budgets, err = c.Resource(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), Scheme)
	return c, err
}

func (c *client[C, R, S]) Resource(resource schema.GroupVersionResource, scheme *runtime.Scheme) (Resource, error) {
	config := ConfigFor(c.config, resource.GroupVersion())
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	rest, err := c.newREST(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", resource.GroupVersion(), err)
	}
	return &objects[C, R, S]{rest, resource.Resource, runtime.NewParameterCodec(scheme), c.listWatch}, nil
}

func (c *client[C, R, S]) Deployments(namespace string) cache.ListerWatcher {
	return c.deployments.ListerWatcher(namespace)
}

func (c *client[C, R, S]) Budgets(namespace string) cache.ListerWatcher {
	return c.budgets.ListerWatcher(namespace)
}

func (c *client[C, R, S]) BudgetWriter(namespace string) BudgetClient {
	newBudget := func() *policyv1.PodDisruptionBudget { return &policyv1.PodDisruptionBudget{} }
	return WriterOf(c.budgets, namespace, newBudget)
}
