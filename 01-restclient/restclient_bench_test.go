package restclient_test

// The same benchmarks for your code, the solution and client-go, in one run:
//
//	go test ./01-restclient -run '^$' -bench . -count 10 > bench.txt
//	go run golang.org/x/perf/cmd/benchstat@latest -col /impl bench.txt
//
// A benchmark skips code that is not written yet. All three use the same server, which sends bytes that it has made
// before.

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/todo"
	solution "client-go-workshop/solutions/01-restclient"
)

// implementations are compared under the name "impl", which benchstat can use for its columns. Each makes the two things
// that are measured: a URL, and a request whose answer is decoded into obj.
var implementations = []struct {
	name string
	url  func(config *rest.Config) func() *url.URL
	get  func(config *rest.Config) func(ctx context.Context, name string, obj runtime.Object) error
}{
	{
		"yours",
		func(config *rest.Config) func() *url.URL {
			c := must(restclient.AppsV1For(config))
			return func() *url.URL {
				r := c.Get().Namespace("default").Resource("deployments").Name("web")
				return r.VersionedParams(options, restclient.ParameterCodec).URL()
			}
		},
		func(config *rest.Config) func(context.Context, string, runtime.Object) error {
			c := must(restclient.AppsV1For(config))
			return func(ctx context.Context, name string, obj runtime.Object) error {
				r := c.Get().Namespace("default").Resource("deployments")
				if name != "" {
					r.Name(name)
				}
				return r.Do(ctx).Into(obj)
			}
		},
	},
	{
		"solution",
		func(config *rest.Config) func() *url.URL {
			c := must(solution.AppsV1For(config))
			return func() *url.URL {
				r := c.Get().Namespace("default").Resource("deployments").Name("web")
				return r.VersionedParams(options, solution.ParameterCodec).URL()
			}
		},
		func(config *rest.Config) func(context.Context, string, runtime.Object) error {
			c := must(solution.AppsV1For(config))
			return func(ctx context.Context, name string, obj runtime.Object) error {
				r := c.Get().Namespace("default").Resource("deployments")
				if name != "" {
					r.Name(name)
				}
				return r.Do(ctx).Into(obj)
			}
		},
	},
	{
		"client-go",
		func(config *rest.Config) func() *url.URL {
			c := must(rest.RESTClientFor(complete(config)))
			return func() *url.URL {
				r := c.Get().Namespace("default").Resource("deployments").Name("web")
				return r.VersionedParams(options, solution.ParameterCodec).URL()
			}
		},
		func(config *rest.Config) func(context.Context, string, runtime.Object) error {
			c := must(rest.RESTClientFor(complete(config)))
			return func(ctx context.Context, name string, obj runtime.Object) error {
				r := c.Get().Namespace("default").Resource("deployments")
				if name != "" {
					r.Name(name)
				}
				return r.Do(ctx).Into(obj)
			}
		},
	},
}

var options = &metav1.ListOptions{LabelSelector: "app=web", Limit: 500}

func complete(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.APIPath, c.GroupVersion = "/apis", &appsv1.SchemeGroupVersion
	c.NegotiatedSerializer = solution.Codecs.WithoutConversion()
	return c
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// skipTodos skips a benchmark that called code which is not written yet.
func skipTodos(b *testing.B) {
	if v := recover(); v != nil {
		if missing, ok := v.(todo.NotWritten); ok {
			b.Skip(missing)
		}
		panic(v)
	}
}

func BenchmarkURL(b *testing.B) {
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer skipTodos(b)
			b.ReportAllocs()
			build := impl.url(&rest.Config{Host: "https://api"})
			for b.Loop() {
				build()
			}
		})
	}
}

// BenchmarkGet reads one object, over a connection that stays open.
func BenchmarkGet(b *testing.B) {
	benchmarkInto(b, runtime.ContentTypeJSON, "web", object(1), &appsv1.Deployment{})
}

// BenchmarkList reads a list without pages.
func BenchmarkList(b *testing.B) { benchmarkList(b, runtime.ContentTypeJSON) }

// BenchmarkListProtobuf is the same in the encoding that typed clients request.
func BenchmarkListProtobuf(b *testing.B) { benchmarkList(b, runtime.ContentTypeProtobuf) }

func benchmarkList(b *testing.B, contentType string) {
	for _, n := range []int{100, 10_000} {
		list := &appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		for i := range n {
			list.Items = append(list.Items, *object(i))
		}
		b.Run("n="+strconv.Itoa(n), func(b *testing.B) {
			benchmarkInto(b, contentType, "", list, &appsv1.DeploymentList{})
		})
	}
}

const managedFields = `{"f:metadata":{"f:labels":{".":{},"f:app":{}}},` +
	`"f:spec":{"f:progressDeadlineSeconds":{},"f:replicas":{},"f:selector":{},` +
	`"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{},"f:maxUnavailable":{}},"f:type":{}},` +
	`"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}}}`

// object is a Deployment of about 1.5 KB.
func object(i int) *appsv1.Deployment {
	d := deployment("web-" + strconv.Itoa(i))
	d.UID = "0c6c4f3a-8a1c-4b52-8b7a-3b4b0d7a6f5e"
	d.ResourceVersion = strconv.Itoa(1000 + i)
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
	d.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubectl", Operation: "Update", APIVersion: "apps/v1", FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(managedFields)},
	}}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, ReadyReplicas: 2}
	d.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentAvailable, Status: "True", Reason: "MinimumReplicasAvailable",
		Message: "Deployment has minimum availability.",
	}}
	return d
}

func benchmarkInto(b *testing.B, contentType, name string, content, into runtime.Object) {
	info, _ := runtime.SerializerInfoForMediaType(solution.Codecs.SupportedMediaTypes(), contentType)
	body := must(runtime.Encode(solution.Codecs.EncoderForVersion(info.Serializer, appsv1.SchemeGroupVersion), content))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	}))
	defer server.Close()
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer skipTodos(b)
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			get := impl.get(&rest.Config{
				Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: contentType},
			})
			for b.Loop() {
				if err := get(b.Context(), name, into.DeepCopyObject()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
