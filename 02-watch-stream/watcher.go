package watchstream

// This file is given. It puts frames, decoder and StreamWatcher together, for whoever has the body of a watch.

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

// NewWatcherFor returns a function that makes events of the body of a watch, and owns it from then on: what chapter
// 01's RESTClient has the field NewWatcher for. JSON goes through this chapter's frames and decoder, other forms
// through client-go's, and all of them through this chapter's StreamWatcher.
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
