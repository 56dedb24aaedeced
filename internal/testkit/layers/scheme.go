package layers

// This file says which types travel between a controller and its API server: those of three groups, and not all
// of Kubernetes, so that programs and tests compile in seconds.

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
)

var (
	// Scheme has the types of these groups.
	Scheme = newScheme()
	// Codecs reads and writes Deployments, PodDisruptionBudgets, Events and what every group has.
	Codecs = serializer.NewCodecFactory(Scheme)
	// ParameterCodec writes options as query parameters.
	ParameterCodec = runtime.NewParameterCodec(Scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(s))
	utilruntime.Must(policyv1.AddToScheme(s))
	utilruntime.Must(corev1.AddToScheme(s))
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}

// ConfigFor returns a copy of config for one API group.
func ConfigFor(config *rest.Config, version schema.GroupVersion) *rest.Config {
	c := rest.CopyConfig(config)
	c.APIPath = "/apis"
	if version.Group == "" {
		c.APIPath = "/api"
	}
	c.GroupVersion = &version
	c.NegotiatedSerializer = Codecs.WithoutConversion()
	return c
}
