package watchstream

// This file is given. It connects the frame reader, the decoder and the StreamWatcher to the body of a watch.

import (
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"
)

// NewWatcherFor returns a function that makes a watcher from the body of a watch, and owns the body. Chapter 01's
// RESTClient has the field NewWatcher for it. This chapter's frame reader and decoder read JSON, and client-go's read
// other media types. This chapter's StreamWatcher sends the events of both.
func NewWatcherFor(
	codecs runtime.NegotiatedSerializer, version schema.GroupVersion,
) func(body io.ReadCloser, mediaType string) (watch.Interface, error) {
	negotiator := runtime.NewClientNegotiator(codecs, version)
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding")
	return func(body io.ReadCloser, mediaType string) (watch.Interface, error) {
		objects, events, framer, err := negotiator.StreamDecoder(mediaType, nil)
		if err != nil {
			body.Close()
			return nil, fmt.Errorf("watch in %s: %w", mediaType, err)
		}
		if mediaType == runtime.ContentTypeJSON {
			return NewStreamWatcher(NewDecoder(NewFrameReader(body), objects), reporter), nil
		}
		return NewStreamWatcher(restwatch.NewDecoder(streaming.NewDecoder(framer.NewFrameReader(body), events), objects),
			reporter), nil
	}
}
