package watchstream_test

// The same benchmarks for your code, the solution and client-go, in one run:
//
//	go test ./02-watch-stream -run '^$' -bench . -count 10 > bench.txt
//	go run golang.org/x/perf/cmd/benchstat@latest -col /impl bench.txt
//
// Code that you have not written yet is skipped.

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/todo"
	solution "client-go-workshop/solutions/02-watch-stream"
)

// implementations are compared under the name "impl", which benchstat can make its columns.
var implementations = []struct {
	name   string
	frames func(io.ReadCloser) io.ReadCloser
	decode func(io.ReadCloser) watch.Decoder
	watch  func(watch.Decoder) watch.Interface
}{
	{
		"yours", watchstream.NewFrameReader,
		func(frames io.ReadCloser) watch.Decoder { return watchstream.NewDecoder(frames, watchstream.Objects()) },
		func(d watch.Decoder) watch.Interface { return watchstream.NewStreamWatcher(d, reporter{}) },
	},
	{
		"solution", solution.NewFrameReader,
		func(frames io.ReadCloser) watch.Decoder { return solution.NewDecoder(frames, solution.Objects()) },
		func(d watch.Decoder) watch.Interface { return solution.NewStreamWatcher(d, reporter{}) },
	},
	{
		"client-go", serializer.Framer.NewFrameReader,
		func(frames io.ReadCloser) watch.Decoder {
			types := solution.Codecs.SupportedMediaTypes()
			info, _ := runtime.SerializerInfoForMediaType(types, runtime.ContentTypeJSON)
			events := streaming.NewDecoder(frames, info.StreamSerializer.Serializer)
			return restwatch.NewDecoder(events, solution.Objects())
		},
		func(d watch.Decoder) watch.Interface { return watch.NewStreamWatcher(d, reporter{}) },
	},
}

const managedFields = `{"f:metadata":{"f:labels":{".":{},"f:app":{}}},` +
	`"f:spec":{"f:progressDeadlineSeconds":{},"f:replicas":{},"f:selector":{},` +
	`"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{},"f:maxUnavailable":{}},"f:type":{}},` +
	`"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}}}`

// stream is n events of about 1.5 KB each, as a server writes them.
func stream(n int) []byte {
	var b bytes.Buffer
	json := solution.Codecs.SupportedMediaTypes()[0].Serializer
	encoder := solution.Codecs.EncoderForVersion(json, appsv1.SchemeGroupVersion)
	for i := range n {
		d := deployment("web-" + strconv.Itoa(i))
		d.UID, d.ResourceVersion = "0c6c4f3a-8a1c-4b52-8b7a-3b4b0d7a6f5e", strconv.Itoa(1000+i)
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
		object := must(runtime.Encode(encoder, d))
		fmt.Fprintf(&b, `{"type":"MODIFIED","object":%s}`+"\n", bytes.TrimSpace(object))
	}
	return b.Bytes()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// skipTodos skips a benchmark that has met code which is not written yet.
func skipTodos(b *testing.B) {
	if v := recover(); v != nil {
		if missing, ok := v.(todo.NotWritten); ok {
			b.Skip(missing)
		}
		panic(v)
	}
}

const events = 10_000

// BenchmarkFrames only finds out where each event ends.
func BenchmarkFrames(b *testing.B) {
	text := stream(events)
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer skipTodos(b)
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			p := make([]byte, 1<<20)
			for b.Loop() {
				frames := impl.frames(io.NopCloser(bytes.NewReader(text)))
				for range events {
					if _, err := frames.Read(p); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkDecode is a watch of 10,000 events, from bytes to objects.
func BenchmarkDecode(b *testing.B) {
	text := stream(events)
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer skipTodos(b)
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				d := impl.decode(impl.frames(io.NopCloser(bytes.NewReader(text))))
				for range events {
					if _, _, err := d.Decode(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkWatch is the same through to the channel.
func BenchmarkWatch(b *testing.B) {
	text := stream(events)
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer skipTodos(b)
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			// Reach the todos here, on the goroutine of the benchmark.
			impl.frames(io.NopCloser(bytes.NewReader(text))).Read(make([]byte, 1<<20))
			d := impl.decode(impl.frames(io.NopCloser(bytes.NewReader(text))))
			d.Decode()
			impl.watch(d).Stop()
			for b.Loop() {
				w := impl.watch(impl.decode(impl.frames(io.NopCloser(bytes.NewReader(text)))))
				n := 0
				for range w.ResultChan() {
					n++
				}
				if n != events {
					b.Fatalf("%d events came of %d", n, events)
				}
			}
		})
	}
}
