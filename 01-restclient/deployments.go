package restclient

// This file is the typed client, the layer that a program sees: one method for each thing that can be done with a
// Deployment, each a line or two on the builder. In client-go a generator writes such files (kubernetes/typed/apps/v1);
// today it writes one that calls generic code (gentype), which does what stands here.

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/todo"
)

// DeploymentInterface is what can be done with Deployments. Each method returns the object as the server has it then.
// Mirrors DeploymentInterface of client-go's kubernetes/typed/apps/v1, without Apply, DeleteCollection and the scale.
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

// NewDeployments returns a client for the Deployments of a namespace, or of all if it is empty: then only List and
// Watch make sense.
func NewDeployments(c *RESTClient, namespace string) DeploymentInterface {
	return &deployments{c, namespace}
}

// Create stores a new Deployment.
func (d *deployments) Create(
	ctx context.Context, deployment *appsv1.Deployment, opts metav1.CreateOptions,
) (*appsv1.Deployment, error) {
	panic(todo.Task(5, "Deployments.Create"))
}

// Update stores another state of a Deployment that exists, all but the status.
func (d *deployments) Update(
	ctx context.Context, deployment *appsv1.Deployment, opts metav1.UpdateOptions,
) (*appsv1.Deployment, error) {
	panic(todo.Task(5, "Deployments.Update"))
}

// UpdateStatus stores another status, and nothing else.
func (d *deployments) UpdateStatus(
	ctx context.Context, deployment *appsv1.Deployment, opts metav1.UpdateOptions,
) (*appsv1.Deployment, error) {
	panic(todo.Task(5, "Deployments.UpdateStatus"))
}

// Delete removes a Deployment. The options are sent in the body.
func (d *deployments) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	panic(todo.Task(5, "Deployments.Delete"))
}

// Get returns one Deployment.
func (d *deployments) Get(ctx context.Context, name string, opts metav1.GetOptions) (*appsv1.Deployment, error) {
	panic(todo.Task(5, "Deployments.Get"))
}

// List returns the Deployments that the options select; if they have a Limit, a page of them, whose Continue goes into
// the options for the next one.
func (d *deployments) List(ctx context.Context, opts metav1.ListOptions) (*appsv1.DeploymentList, error) {
	panic(todo.Task(5, "Deployments.List"))
}

// Watch tells what happens to the Deployments that the options select, whether or not they say Watch.
func (d *deployments) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	panic(todo.Task(5, "Deployments.Watch"))
}

// Patch changes a part of a Deployment, or of the subresource that is named.
func (d *deployments) Patch(
	ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string,
) (*appsv1.Deployment, error) {
	panic(todo.Task(5, "Deployments.Patch"))
}
