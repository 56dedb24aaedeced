package restclient

// This file is given. It has the scheme, which maps kinds ("apps/v1, Kind=Deployment") to Go types and back. The scheme
// of client-go's clientset has all types of Kubernetes (kubernetes/scheme). This one has the types for a client of
// Deployments, so that it compiles in seconds.

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
)

var (
	// Scheme has the types of apps/v1, and those of every group, such as Status and ListOptions.
	Scheme = newScheme()
	// Codecs encodes and decodes the types of Scheme, as JSON, YAML and protobuf.
	Codecs = serializer.NewCodecFactory(Scheme)
	// ParameterCodec encodes the fields of options as query parameters.
	ParameterCodec = runtime.NewParameterCodec(Scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(s))
	metav1.AddToGroupVersion(s, metav1.Unversioned)
	return s
}

// AppsV1For returns a client for apps/v1. It does not change the config. It mirrors NewForConfig of client-go's
// kubernetes/typed/apps/v1.
func AppsV1For(config *rest.Config) (*RESTClient, error) {
	c := rest.CopyConfig(config)
	c.APIPath = "/apis"
	c.GroupVersion = &appsv1.SchemeGroupVersion
	c.NegotiatedSerializer = Codecs.WithoutConversion()
	return RESTClientFor(c)
}
