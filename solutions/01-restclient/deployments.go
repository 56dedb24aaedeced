package restclient

// This file is the typed client, the layer that programs call: one method for each operation on Deployments. In
// client-go a generator writes such files (kubernetes/typed/apps/v1). Today they call generic code (gentype), which
// does the same as the methods here.
//
//workshop:file task 5 Deployments

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// DeploymentInterface has the operations on Deployments. Each method passes its context and all of its options on, and
// does not change its arguments. It mirrors DeploymentInterface of client-go's kubernetes/typed/apps/v1, without Apply,
// DeleteCollection and the scale.
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

type deployments struct {
	client    *RESTClient
	namespace string
}

// NewDeployments returns a client for the Deployments of a namespace. The empty namespace stands for all namespaces,
// which only List and Watch support.
//
//workshop:keep
func NewDeployments(c *RESTClient, namespace string) DeploymentInterface {
	return &deployments{c, namespace}
}

// on sets the namespace and the resource of a request.
//
//workshop:keep
func (d *deployments) on(r *Request) *Request {
	return r.Namespace(d.namespace).Resource("deployments")
}

// Create stores a new Deployment, and returns the stored object. The options are query parameters.
//
//workshop:keep
func (d *deployments) Create(
	ctx context.Context, deployment *appsv1.Deployment, opts metav1.CreateOptions,
) (*appsv1.Deployment, error) {
	return d.one(ctx, d.on(d.client.Post()).VersionedParams(&opts, ParameterCodec).Body(deployment))
}

// one sends a request and decodes the Deployment in the answer.
//
//workshop:keep
func (d *deployments) one(ctx context.Context, r *Request) (*appsv1.Deployment, error) {
	result := &appsv1.Deployment{}
	return result, r.Do(ctx).Into(result)
}

// Update replaces a Deployment, except for its status, and returns the stored object. The options are query parameters.
// An empty name is an error, and nothing is sent.
//
//workshop:keep
func (d *deployments) Update(
	ctx context.Context, deployment *appsv1.Deployment, opts metav1.UpdateOptions,
) (*appsv1.Deployment, error) {
	return d.one(ctx, d.on(d.client.Put()).Name(deployment.Name).VersionedParams(&opts, ParameterCodec).Body(deployment))
}

// UpdateStatus replaces the status of a Deployment and nothing else, and returns the stored object. The options are
// query parameters. An empty name is an error, and nothing is sent.
//
//workshop:keep
func (d *deployments) UpdateStatus(
	ctx context.Context, deployment *appsv1.Deployment, opts metav1.UpdateOptions,
) (*appsv1.Deployment, error) {
	return d.one(ctx, d.on(d.client.Put()).Name(deployment.Name).SubResource("status").VersionedParams(&opts,
		ParameterCodec).Body(deployment))
}

// Delete removes the Deployment with this name. The options of Delete are the body of the request. An empty name is an
// error, and nothing is sent.
func (d *deployments) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return d.on(d.client.Delete()).Name(name).Body(&opts).Do(ctx).Error()
}

// Get returns the Deployment with this name. The options are query parameters. An empty name is an error, and nothing
// is sent.
//
//workshop:keep
func (d *deployments) Get(ctx context.Context, name string, opts metav1.GetOptions) (*appsv1.Deployment, error) {
	return d.one(ctx, d.on(d.client.Get()).Name(name).VersionedParams(&opts, ParameterCodec))
}

// List returns the Deployments that the options select. The options are query parameters. With a Limit, List returns a
// page, whose Continue goes into the options for the next one. The TimeoutSeconds of a list also limit the request.
func (d *deployments) List(ctx context.Context, opts metav1.ListOptions) (*appsv1.DeploymentList, error) {
	result := &appsv1.DeploymentList{}
	r := d.on(d.client.Get()).VersionedParams(&opts, ParameterCodec).Timeout(timeout(opts))
	return result, r.Do(ctx).Into(result)
}

// timeout returns the time that the options allow.
func timeout(opts metav1.ListOptions) time.Duration {
	if opts.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*opts.TimeoutSeconds) * time.Second
}

// Watch returns the changes of the Deployments that the options select. The options are query parameters. Watch sets
// watch=true, whatever the options say. The TimeoutSeconds are also the Timeout of the request.
func (d *deployments) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	return d.on(d.client.Get()).VersionedParams(&opts, ParameterCodec).Timeout(timeout(opts)).Watch(ctx)
}

// Patch changes part of a Deployment, or of the named subresource, and returns the stored object. The type of the patch
// is its content type. The options are query parameters. An empty name is an error, and nothing is sent.
func (d *deployments) Patch(
	ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string,
) (*appsv1.Deployment, error) {
	return d.one(ctx, d.on(d.client.Patch(pt)).Name(name).SubResource(subresources...).VersionedParams(&opts,
		ParameterCodec).Body(data))
}
