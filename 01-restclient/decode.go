package restclient

// This file is given. It turns objects into bytes and bytes into objects, by the serializers of apimachinery, and
// stands under request.go and result.go.
//
// Reading has the same outcome as the serializer's Decode, and takes less time for JSON, which package fastjson reads
// once and not twice.

import (
	"io"
	"mime"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"

	"client-go-workshop/internal/testkit/fastjson"
)

// content is how a client writes and reads objects.
type content struct {
	version     schema.GroupVersion
	contentType string // of what is sent
	accept      string // what is wanted
	negotiator  runtime.ClientNegotiator
	// decoders are those for the content types that have come.
	decoders *sync.Map
}

func newContent(config *rest.Config) content {
	c := content{
		version:     *config.GroupVersion,
		contentType: config.ContentType,
		accept:      config.AcceptContentTypes,
		negotiator:  runtime.NewClientNegotiator(config.NegotiatedSerializer, *config.GroupVersion),
		decoders:    &sync.Map{},
	}
	if c.contentType == "" {
		c.contentType = runtime.ContentTypeJSON
	}
	if c.accept == "" {
		c.accept = c.contentType + ", */*"
	}
	return c
}

// encode writes an object as the client's content type wants it.
func (c *content) encode(obj runtime.Object) ([]byte, error) {
	encoder, err := c.negotiator.Encoder(c.contentType, nil)
	if err != nil {
		return nil, err
	}
	return runtime.Encode(encoder, obj)
}

// decoderFor returns what reads a content type, nil if nothing does.
func (c *content) decoderFor(contentType string) *decoder {
	if known, ok := c.decoders.Load(contentType); ok {
		return known.(*decoder)
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil
	}
	general, err := c.negotiator.Decoder(mediaType, params)
	if err != nil {
		return nil
	}
	d := &decoder{general, fastjson.NewDecoder(general)}
	c.decoders.Store(contentType, d)
	return d
}

// decoder reads objects.
type decoder struct {
	general runtime.Decoder
	*fastjson.Decoder
}

// newWatcher makes events of the body of a watch.
func (c *RESTClient) newWatcher(body io.ReadCloser, contentType, verb string) (watch.Interface, error) {
	mediaType, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		mediaType = contentType
	}
	if c.NewWatcher != nil {
		return c.NewWatcher(body, mediaType)
	}
	objects, events, framer, err := c.content.negotiator.StreamDecoder(mediaType, params)
	if err != nil {
		body.Close()
		return nil, err
	}
	frames := streaming.NewDecoder(framer.NewFrameReader(body), events)
	return watch.NewStreamWatcher(restwatch.NewDecoder(frames, objects),
		apierrors.NewClientErrorReporter(http.StatusInternalServerError, verb, "ClientWatchDecoding")), nil
}
