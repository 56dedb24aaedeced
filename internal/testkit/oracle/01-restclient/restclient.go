// Package restclient puts client-go behind the names of chapter 01, so that the chapter's tests run over client-go. It
// adds no behaviour. If client-go fails a test, the test is wrong.
package restclient

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	solution "client-go-workshop/solutions/01-restclient"
)

// The scheme of the chapter is given, so the oracle takes it from the solution.
var (
	Scheme         = solution.Scheme
	Codecs         = solution.Codecs
	ParameterCodec = solution.ParameterCodec
)

type (
	RESTClient = rest.RESTClient
	Request    = rest.Request
	Result     = rest.Result
)

func RESTClientFor(config *rest.Config) (*RESTClient, error) { return rest.RESTClientFor(config) }

func AppsV1For(config *rest.Config) (*RESTClient, error) {
	c := rest.CopyConfig(config)
	c.APIPath = "/apis"
	c.GroupVersion = &appsv1.SchemeGroupVersion
	c.NegotiatedSerializer = Codecs.WithoutConversion()
	return RESTClientFor(c)
}

type DeploymentInterface = solution.DeploymentInterface

// NewDeployments returns the generic client that client-go's generated clients use today.
func NewDeployments(c *RESTClient, namespace string) DeploymentInterface {
	return gentype.NewClientWithList[*appsv1.Deployment, *appsv1.DeploymentList](
		"deployments", c, ParameterCodec, namespace,
		func() *appsv1.Deployment { return &appsv1.Deployment{} },
		func() *appsv1.DeploymentList { return &appsv1.DeploymentList{} })
}
