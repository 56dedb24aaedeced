package restclient

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// bodies are the seeds of the fuzz test. Each `go test` decodes each of them in both ways.
var bodies = []string{
	`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"},"spec":{"replicas":3}}`,
	`{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`,
	`{"kind":"DeploymentList","apiVersion":"apps/v1","items":null}`,
	`{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`,
	`{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{}],"items":[{},{"metadata":{"name":"b"}}]}`,
	`{"items":[{"kind":"Deployment","metadata":{"name":"a"}}],"apiVersion":"apps/v1","kind":"DeploymentList"}`,
	`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`,
	`{"kind":"Deployment","kind":"DeploymentList","apiVersion":"apps/v1"}`,
	`{"kind":"Deployment","Kind":"DeploymentList","apiVersion":"apps/v1"}`,
	`{"kind":"Deployment","apiVersion":"apps/v1","APIVERSION":"apps/v9"}`,
	`{"kind":"Deploy\u006dent","apiVersion":"apps/v1"}`,
	`{"k\u0069nd":"DeploymentList","kind":"Deployment","apiVersion":"apps/v1"}`,
	`{"kind":"Unknown","apiVersion":"apps/v1"}`,
	`{"kind":"Deployment","apiVersion":"apps/v9"}`,
	`{"kind":"Deployment","apiVersion":"a/b/c"}`,
	`{"kind":7,"apiVersion":"apps/v1"}`,
	`{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":"three"}}`,
	`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"Name":"x","name":"y","name":"z"},"future":[1,{"a":"}"}]}`,
	`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"annotations":{"a":"\\\"{","b":"\\"}}} `,
	`{"kind":"Deployment","apiVersion":"apps/v1"}}`,
	`{"kind":"Deployment","apiVersion":"apps/v1","x":1`,
	`{"kind":"Deployment","apiVersion":"apps/v1","x":1,}`,
	`{"kind":"Deployment","apiVersion":"apps/v1","x":nope}`,
	`[{"kind":"Deployment","apiVersion":"apps/v1"}]`, `{}`, `null`, ``, `"kind"`, "{\"kind\":\"Deployment\xff\"}",
}

// FuzzDecode decodes any body in both ways, and requires the same result.
func FuzzDecode(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body))
	}
	config := &rest.Config{ContentConfig: rest.ContentConfig{GroupVersion: &appsv1.SchemeGroupVersion,
		NegotiatedSerializer: Codecs.WithoutConversion()}}
	c := newContent(config)
	fast := c.decoderFor("application/json")
	require.True(f, fast.Fast(), "there is nothing to compare")
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, into := range []func() runtime.Object{
			func() runtime.Object { return nil },
			func() runtime.Object { return &appsv1.Deployment{} },
			func() runtime.Object { return &appsv1.DeploymentList{} },
			func() runtime.Object { return &metav1.Status{} },
			func() runtime.Object { return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "old"}} },
		} {
			a, b := into(), into()
			gotA, errA := fast.Decode(body, a)
			gotB, _, errB := fast.general.Decode(body, nil, b)
			require.Equal(t, fmt.Sprint(errB), fmt.Sprint(errA))
			require.Equal(t, gotB, gotA)
			require.Equal(t, b, a, "what was given to be filled")
			require.Equal(t, gotB != nil && gotB == b, gotA != nil && gotA == a, "whether it was filled")
		}
	})
}

func TestDecode_is_fast_where_it_should_be(t *testing.T) {
	config := &rest.Config{ContentConfig: rest.ContentConfig{GroupVersion: &appsv1.SchemeGroupVersion,
		NegotiatedSerializer: Codecs.WithoutConversion()}}
	c := newContent(config)
	require.True(t, c.decoderFor("application/json").Fast(), "what typed clients have")
	require.False(t, c.decoderFor("application/vnd.kubernetes.protobuf").Fast(), "another form than JSON")
	require.False(t, c.decoderFor("application/yaml").Fast(), "another form than JSON")
	config.NegotiatedSerializer = Codecs
	c = newContent(config)
	require.False(t, c.decoderFor("application/json").Fast(), "a serializer that converts")
}

func TestReadAll_does_not_believe_a_length_that_cannot_be(t *testing.T) {
	for _, length := range []int64{-1, 0, 5, 1 << 62} {
		body, err := readAll(&http.Response{ContentLength: length, Body: io.NopCloser(strings.NewReader("short"))})
		require.NoError(t, err, length)
		require.Equal(t, "short", string(body), length)
	}
}
