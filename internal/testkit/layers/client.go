package layers

// This file makes a Client of any of the three REST clients: the learner's, the solution's and client-go's have the
// same methods, but each returns its own types.

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// client has one REST client for each API group. They share a transport. It writes the budgets of namespace.
type client[C RESTClient[R], R Request[R, S], S Result] struct {
	apps, policy C
	listWatch    func(c C, resource, namespace string) cache.ListerWatcher
	namespace    string
	// of makes the client of one more group.
	of func(codecs serializer.CodecFactory, version schema.GroupVersion) (C, error)
}

// NewClient returns a Client on two REST clients that newREST makes, and listWatch for reading from them.
func NewClient[C RESTClient[R], R Request[R, S], S Result](config *rest.Config,
	newREST func(config *rest.Config) (C, error),
	listWatch func(c C, resource, namespace string) cache.ListerWatcher,
) (Client, error) {
	apps, err := newREST(ConfigFor(config, appsv1.SchemeGroupVersion))
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", appsv1.SchemeGroupVersion, err)
	}
	policy, err := newREST(ConfigFor(config, policyv1.SchemeGroupVersion))
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", policyv1.SchemeGroupVersion, err)
	}
	of := func(codecs serializer.CodecFactory, version schema.GroupVersion) (C, error) {
		c := ConfigFor(config, version)
		c.NegotiatedSerializer = codecs.WithoutConversion()
		return newREST(c)
	}
	return &client[C, R, S]{apps: apps, policy: policy, listWatch: listWatch, of: of}, nil
}

func (c *client[C, R, S]) Resource(resource schema.GroupVersionResource, scheme *runtime.Scheme) (Resource, error) {
	rest, err := c.of(serializer.NewCodecFactory(scheme), resource.GroupVersion())
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", resource, err)
	}
	return &objects[C, R, S]{rest, resource.Resource, runtime.NewParameterCodec(scheme), c.listWatch}, nil
}

func (c *client[C, R, S]) Deployments(namespace string) cache.ListerWatcher {
	return c.listWatch(c.apps, "deployments", namespace)
}

func (c *client[C, R, S]) Budgets(namespace string) cache.ListerWatcher {
	return c.listWatch(c.policy, "poddisruptionbudgets", namespace)
}

func (c *client[C, R, S]) BudgetWriter(namespace string) BudgetClient {
	writer := *c
	writer.namespace = namespace
	return &writer
}

func (c *client[C, R, S]) Create(ctx context.Context, budget *policyv1.PodDisruptionBudget,
	options metav1.CreateOptions) (*policyv1.PodDisruptionBudget, error) {
	result := &policyv1.PodDisruptionBudget{}
	return result, c.on(c.policy.Post()).VersionedParams(&options, ParameterCodec).Body(budget).Do(ctx).Into(result)
}

func (c *client[C, R, S]) Update(ctx context.Context, budget *policyv1.PodDisruptionBudget,
	options metav1.UpdateOptions) (*policyv1.PodDisruptionBudget, error) {
	result := &policyv1.PodDisruptionBudget{}
	request := c.on(c.policy.Put()).Name(budget.Name).VersionedParams(&options, ParameterCodec)
	return result, request.Body(budget).Do(ctx).Into(result)
}

func (c *client[C, R, S]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return c.on(c.policy.Delete()).Name(name).Body(&options).Do(ctx).Error()
}

func (c *client[C, R, S]) on(r R) R { return r.Namespace(c.namespace).Resource("poddisruptionbudgets") }
