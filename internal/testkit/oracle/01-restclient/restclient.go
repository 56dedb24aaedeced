// Package restclient puts client-go behind the names of chapter 01, so that the chapter's tests run over the real thing.
// Nothing here but names: a test that fails over this package is a wrong test.
package restclient

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
)

type (
	RESTClient = rest.RESTClient
	Request    = rest.Request
	Result     = rest.Result
)

func RESTClientFor(config *rest.Config) (*RESTClient, error) { return rest.RESTClientFor(config) }

type DeploymentInterface interface {
	Create(ctx context.Context, deployment *appsv1.Deployment, opts metav1.CreateOptions) (*appsv1.Deployment, error)
	Update(ctx context.Context, deployment *appsv1.Deployment, opts metav1.UpdateOptions) (*appsv1.Deployment, error)
	UpdateStatus(ctx context.Context, deployment *appsv1.Deployment, opts metav1.UpdateOptions) (*appsv1.Deployment, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*appsv1.Deployment, error)
	List(ctx context.Context, opts metav1.ListOptions) (*appsv1.DeploymentList, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*appsv1.Deployment, error)
}

// NewDeployments returns what client-go's generated client consists of today.
func NewDeployments(c *RESTClient, namespace string) DeploymentInterface {
	return gentype.NewClientWithList[*appsv1.Deployment, *appsv1.DeploymentList]("deployments", c, ParameterCodec, namespace,
		func() *appsv1.Deployment { return &appsv1.Deployment{} }, func() *appsv1.DeploymentList { return &appsv1.DeploymentList{} })
}
