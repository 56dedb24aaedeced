// Package watchstream puts client-go behind the names of chapter 02, so that the chapter's tests run over the real
// thing. It contains names only. If client-go fails a test, the test is wrong.
package watchstream

import (
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"
	"k8s.io/client-go/tools/cache"

	solution "client-go-workshop/solutions/02-watch-stream"
)

// The scheme of the chapter is given, so the oracle takes it from the solution.
var (
	Scheme  = solution.Scheme
	Codecs  = solution.Codecs
	Objects = solution.Objects
)

type (
	StreamWatcher = watch.StreamWatcher
	ListWatch     = cache.ListWatch
	Decoder       = restwatch.Decoder
)

func NewFrameReader(r io.ReadCloser) io.ReadCloser { return serializer.Framer.NewFrameReader(r) }

func NewDecoder(frames io.ReadCloser, objects runtime.Decoder) *Decoder {
	info, _ := runtime.SerializerInfoForMediaType(Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	return restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), objects)
}

func NewStreamWatcher(d watch.Decoder, r watch.Reporter) *StreamWatcher {
	return watch.NewStreamWatcher(d, r)
}

func NewWatcherFor(codecs runtime.NegotiatedSerializer, version schema.GroupVersion,
) func(body io.ReadCloser, mediaType string) (watch.Interface, error) {
	negotiator := runtime.NewClientNegotiator(codecs, version)
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding")
	return func(body io.ReadCloser, mediaType string) (watch.Interface, error) {
		objects, events, framer, err := negotiator.StreamDecoder(mediaType, nil)
		if err != nil {
			return nil, err
		}
		frames := streaming.NewDecoder(framer.NewFrameReader(body), events)
		return NewStreamWatcher(restwatch.NewDecoder(frames, objects), reporter), nil
	}
}

func NewListWatchFromClient(c cache.Getter, resource, namespace string, fieldSelector fields.Selector) *ListWatch {
	return cache.NewListWatchFromClient(c, resource, namespace, fieldSelector)
}

func NewFilteredListWatchFromClient(c cache.Getter, resource, namespace string,
	modify func(options *metav1.ListOptions)) *ListWatch {
	return cache.NewFilteredListWatchFromClient(c, resource, namespace, modify)
}
