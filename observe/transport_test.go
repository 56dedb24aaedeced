package observe

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

func TestObject_in_a_path(t *testing.T) {
	for path, want := range map[string][3]string{
		"/api/v1/pods":                                            {"pod", "", ""},
		"/api/v1/namespaces/default/pods/web-1":                   {"pod", "default/", "web-1"},
		"/api/v1/namespaces/default/pods/web-1/status":            {"pod", "default/", "web-1"},
		"/api/v1/namespaces/default":                              {"namespace", "", "default"},
		"/apis/networking.k8s.io/v1/namespaces/a/networkpolicies": {"networkpolicy", "a/", ""},
		"/apis/networking.k8s.io/v1/ingressclasses/nginx":         {"ingressclass", "", "nginx"},
		"/apis/policy/v1/namespaces/a/poddisruptionbudgets/web":   {"poddisruptionbudget", "a/", "web"},
		"/apis/apps/v1": {},
		"/version":      {},
		"/":             {},
	} {
		kind, namespace, name := object(path)
		require.Equal(t, want, [3]string{kind, namespace, name}, path)
	}
}

// The name and the version are found in JSON and in protobuf, and a body that is cut off has none or a part of it.
func TestMetadata_of_a_body(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u-1", ResourceVersion: "4711",
		GenerateName: "w-"}}
	scheme := runtime.NewScheme()
	require.NoError(t, appsv1.AddToScheme(scheme))
	encoded, err := runtime.Encode(protobuf.NewSerializer(scheme, scheme), withKind(d))
	require.NoError(t, err)
	for _, body := range []string{string(encoded),
		`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","uid":"u-1","resourceVersion":"4711"}}`} {
		require.Equal(t, "web", metadata([]byte(body), "name", 1))
		require.Equal(t, "4711", metadata([]byte(body), "resourceVersion", 6))
		for n := range body {
			require.Contains(t, "4711", metadata([]byte(body[:n]), "resourceVersion", 6))
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x", strings.NewReader(`{"metadata":{"name":"a"}}`))
	require.NoError(t, err)
	require.Equal(t, "a", created(request))
}

func withKind(d *appsv1.Deployment) *appsv1.Deployment {
	d.TypeMeta = metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}
	return d
}
