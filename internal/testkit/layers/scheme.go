package layers

// This file says which types travel between a controller and its API server: those of two groups, and not all of
// Kubernetes, so that programs and tests compile in seconds.

import (
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
)

var (
	scheme = newScheme()
	// Codecs reads and writes Deployments, PodDisruptionBudgets and what every group has.
	Codecs = serializer.NewCodecFactory(scheme)
	// ParameterCodec writes options as query parameters.
	ParameterCodec = runtime.NewParameterCodec(scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(s))
	utilruntime.Must(policyv1.AddToScheme(s))
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}

// ConfigFor returns a copy of config for one API group.
func ConfigFor(config *rest.Config, version schema.GroupVersion) *rest.Config {
	c := rest.CopyConfig(config)
	c.APIPath = "/apis"
	c.GroupVersion = &version
	c.NegotiatedSerializer = Codecs.WithoutConversion()
	return c
}
