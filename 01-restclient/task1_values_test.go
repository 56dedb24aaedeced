package restclient_test

// Task 1: the values of options and segments.

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/guard"
)

// versions is a runtime.ParameterCodec that writes the version that it is asked to write for, and a field without text.
type versions struct{ runtime.ParameterCodec }

func (versions) EncodeParameters(obj runtime.Object, to schema.GroupVersion) (url.Values, error) {
	return url.Values{"version": {to.String()}, "empty": {""}}, nil
}

func TestTask1_Options_are_written_for_the_clients_version(t *testing.T) {
	guard.Test(t, "VersionedParams adds the fields of obj to the query, as codec encodes them for the client's "+
		"group and version: another version may name them differently.", func(t *guard.T) {
		t.Did("VersionedParams, with a codec that writes the version it is asked for, and a client for apps/v1")
		u := client(t, "http://api").Get().VersionedParams(&metav1.ListOptions{}, versions{}).URL()
		require.Equal(t, url.Values{"version": {"apps/v1"}, "empty": {""}}, u.Query(), "the query of the URL")
		config := &rest.Config{Host: "http://api", APIPath: "/api"}
		config.GroupVersion = &corev1.SchemeGroupVersion
		config.NegotiatedSerializer = restclient.Codecs.WithoutConversion()
		core, err := restclient.RESTClientFor(config)
		require.NoError(t, err, "the error of RESTClientFor")
		t.Did("VersionedParams with this codec, and a client for v1")
		u = core.Get().VersionedParams(&metav1.ListOptions{}, versions{}).URL()
		require.Equal(t, "v1", u.Query().Get("version"), "the version in the query of the URL")
	})
}

func TestTask1_Options_that_cannot_be_encoded_are_an_error(t *testing.T) {
	guard.Test(t, "An obj that codec cannot encode is an error: without its options, the request asks for "+
		"something else.", func(t *guard.T) {
		t.Did("VersionedParams of a type that the codec does not know")
		r := client(t, "http://api").Get().VersionedParams(&corev1.PodLogOptions{}, restclient.ParameterCodec)
		require.Error(t, r.Error(), "the error of VersionedParams")
		t.Did("VersionedParams of nil, and of a nil *ListOptions")
		var none *metav1.ListOptions
		r = client(t, "http://api").Get().VersionedParams(nil, restclient.ParameterCodec)
		require.Error(t, r.Error(), "the error of VersionedParams of nil")
		r = client(t, "http://api").Get().VersionedParams(none, restclient.ParameterCodec)
		require.Error(t, r.Error(), "the error of VersionedParams of a nil *ListOptions")
	})
}

func TestTask1_Options_that_are_false_or_zero_are_sent(t *testing.T) {
	guard.Test(t, "VersionedParams adds the fields of obj to the query, as codec encodes them for the client's group "+
		"and version. The server's default may be another.", func(t *guard.T) {
		no, zero := false, int64(0)
		t.Did("VersionedParams with SendInitialEvents false, and TimeoutSeconds 0")
		opts := &metav1.ListOptions{SendInitialEvents: &no, TimeoutSeconds: &zero}
		u := client(t, "http://api").Get().VersionedParams(opts, restclient.ParameterCodec).URL()
		want := url.Values{"sendInitialEvents": {"false"}, "timeoutSeconds": {"0"}}
		require.Equal(t, want, u.Query(), "the query of the URL")
	})
}

func TestTask1_Segments_keep_their_case(t *testing.T) {
	guard.Test(t, "Each argument is one segment of the path, in upper or lower case: a Pod may serve /Metrics, and "+
		"a ClusterRole may be called Viewer.", func(t *guard.T) {
		t.Did(`Resource "deployments", Name "Web", SubResource "proxy", "Metrics"`)
		r := client(t, "http://api").Get().Resource("deployments").Name("Web").SubResource("proxy", "Metrics")
		require.Equal(t, "http://api/apis/apps/v1/deployments/Web/proxy/Metrics", r.URL().String(), "the URL")
	})
}
