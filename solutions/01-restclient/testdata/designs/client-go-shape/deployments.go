package restclient

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

type DeploymentInterface interface {
	Create(ctx context.Context, deployment *appsv1.Deployment, opts metav1.CreateOptions) (*appsv1.Deployment, error)
	Update(ctx context.Context, deployment *appsv1.Deployment, opts metav1.UpdateOptions) (*appsv1.Deployment, error)
	UpdateStatus(ctx context.Context, deployment *appsv1.Deployment, opts metav1.UpdateOptions) (*appsv1.Deployment, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*appsv1.Deployment, error)
	List(ctx context.Context, opts metav1.ListOptions) (*appsv1.DeploymentList, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions,
		subresources ...string) (*appsv1.Deployment, error)
}

func NewDeployments(c *RESTClient, namespace string) DeploymentInterface {
	return &typed[*appsv1.Deployment, *appsv1.DeploymentList]{
		client: c, resource: "deployments", namespace: namespace,
		newObject: func() *appsv1.Deployment { return &appsv1.Deployment{} },
		newList:   func() *appsv1.DeploymentList { return &appsv1.DeploymentList{} },
	}
}

type object interface {
	runtime.Object
	GetName() string
}

// typed is a client for the objects of one kind.
type typed[T object, L runtime.Object] struct {
	client              *RESTClient
	resource, namespace string
	newObject           func() T
	newList             func() L
}

// on points a request at the resource; without a namespace it is about all of them.
func (c *typed[T, L]) on(r *Request, opts runtime.Object) *Request {
	if c.namespace != "" {
		r.Namespace(c.namespace)
	}
	r.Resource(c.resource)
	if opts != nil {
		r.VersionedParams(opts, ParameterCodec)
	}
	return r
}

func (c *typed[T, L]) object(ctx context.Context, r *Request) (T, error) {
	obj := c.newObject()
	err := r.Do(ctx).Into(obj)
	return obj, err
}

func (c *typed[T, L]) Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error) {
	return c.object(ctx, c.on(c.client.Post(), &opts).Body(obj))
}

func (c *typed[T, L]) Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	return c.object(ctx, c.on(c.client.Put(), &opts).Name(obj.GetName()).Body(obj))
}

func (c *typed[T, L]) UpdateStatus(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	return c.object(ctx, c.on(c.client.Put(), &opts).Name(obj.GetName()).SubResource("status").Body(obj))
}

func (c *typed[T, L]) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return c.on(c.client.Delete(), nil).Name(name).Body(&opts).Do(ctx).Error()
}

func (c *typed[T, L]) Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error) {
	return c.object(ctx, c.on(c.client.Get(), &opts).Name(name))
}

func (c *typed[T, L]) List(ctx context.Context, opts metav1.ListOptions) (L, error) {
	list := c.newList()
	err := c.listing(opts).Do(ctx).Into(list)
	return list, err
}

func (c *typed[T, L]) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	return c.listing(opts).Watch(ctx)
}

// listing is a GET of the objects that the options select, within their time.
func (c *typed[T, L]) listing(opts metav1.ListOptions) *Request {
	r := c.on(c.client.Get(), &opts)
	if opts.TimeoutSeconds != nil {
		r.Timeout(time.Duration(*opts.TimeoutSeconds) * time.Second)
	}
	return r
}

func (c *typed[T, L]) Patch(
	ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string,
) (T, error) {
	return c.object(ctx, c.on(c.client.Patch(pt), &opts).Name(name).SubResource(subresources...).Body(data))
}
