package watchstream

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"
	kjson "sigs.k8s.io/json"
)

var streams = []string{
	`{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"},"spec":{"replicas":3}}}` + "\n",
	`{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1"}}{"type":"BOOKMARK","object":{"kind":"ReplicaSet","apiVersion":"apps/v1"}}`,
	`{"object":{"apiVersion":"v1","kind":"Status","code":410},"type":"ERROR"}`,
	`{"type":"ADDED","type":"DELETED","object":{"kind":"Deployment","apiVersion":"apps/v1"}}`,
	`{"type":"ADDED","object":{"kind":"Deployment","kind":"ReplicaSet","apiVersion":"apps/v1"}}`,
	`{"type":"ADDED","object":{"kind":"Deployment","Kind":"ReplicaSet","apiVersion":"apps/v1"}}`,
	`{"Type":"DELETED","type":"ADDED","Object":1,"object":{"kind":"Deployment","apiVersion":"apps/v1"}}`,
	`{"type":"\u0041DDED","object":{"k\u0069nd":"Deployment","apiVersion":"apps\/v1"}}`,
	`{"type":"ADDED","object":null}`, `{"type":"ADDED","object":7}`, `{"type":7,"object":{}}`, `{"type":"ADDED"}`, `{}`, ` { } `, `{"a":"}`, `{"a":[}]}`, `{]`, `nope`, ``, "\n\n",
	`{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1","x":{"a":"\\\"}{"}}} {"type":"AD`,
}

// told has what a decoder makes of a stream: its events, and whether the stream ends without an error.
func told(d watch.Decoder) (events []watch.Event, end string) {
	for {
		kind, obj, err := d.Decode()
		switch {
		case err == io.EOF:
			return events, "the end"
		case err != nil:
			return events, "an error"
		}
		events = append(events, watch.Event{Type: kind, Object: obj})
	}
}

func theirs(stream io.Reader) watch.Decoder {
	info, _ := runtime.SerializerInfoForMediaType(Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	frames := serializer.Framer.NewFrameReader(io.NopCloser(stream))
	return restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), Objects())
}

func ours(stream io.Reader) watch.Decoder {
	return NewDecoder(NewFrameReader(io.NopCloser(stream)), Objects())
}

// FuzzDecoder passes the same bytes to both decoders, in one piece and byte by byte. They must return the same events
// and the same end.
func FuzzDecoder(f *testing.F) {
	for _, stream := range streams {
		f.Add([]byte(stream))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		if namesItself(stream) {
			t.Skip("an event that says its own kind, which no server does, is looked up in the scheme by client-go")
		}
		want, wantEnd := told(theirs(bytes.NewReader(stream)))
		for _, r := range []io.Reader{bytes.NewReader(stream), iotest.OneByteReader(bytes.NewReader(stream))} {
			got, end := told(ours(r))
			require.Equal(t, want, got)
			require.Equal(t, wantEnd, end)
		}
	})
}

// namesItself reports whether a frame has a kind or apiVersion beside its type and object.
func namesItself(stream []byte) bool {
	d := ours(bytes.NewReader(stream)).(*Decoder)
	for {
		frame, err := d.readFrame()
		if err != nil {
			return false
		}
		var self map[string]any
		if kjson.UnmarshalCaseSensitivePreserveInts(frame, &self) == nil {
			for name := range self {
				if bytes.EqualFold([]byte(name), []byte("kind")) || bytes.EqualFold([]byte(name), []byte("apiVersion")) {
					return true
				}
			}
		}
	}
}
