package watchstream

// This file is given. It registers the types that a watch of Deployments can contain; decoder.go decodes them.

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

var (
	// Scheme has the types of apps/v1, and the types that every group has.
	Scheme = newScheme()
	// Codecs decodes and encodes these types as typed clients do: without conversion and defaults.
	Codecs = serializer.NewCodecFactory(Scheme).WithoutConversion()
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(appsv1.AddToScheme(s))
	metav1.AddToGroupVersion(s, metav1.Unversioned)
	return s
}

// Objects returns the decoder for the object in an event: JSON of any kind in Scheme.
func Objects() runtime.Decoder {
	info, _ := runtime.SerializerInfoForMediaType(Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	return Codecs.DecoderToVersion(info.Serializer, nil)
}
