package watchstream

// This file decodes a frame into an event: the event type and the object. It mirrors client-go's rest/watch/decoder.go
// and apimachinery's serializer/streaming.

import (
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	kjson "sigs.k8s.io/json"

	"client-go-workshop/internal/testkit/fastjson"
)

const (
	// smallestBuffer is the first size of a decoder's buffer. Most objects are larger, but a program may have hundreds
	// of watches.
	smallestBuffer = 4 << 10
	// largestFrame is the size limit of a frame. Etcd accepts 1.5 MiB, so a larger frame is a mistake.
	largestFrame = 16 << 20
)

// Decoder decodes events from a stream of frames. It implements watch.Decoder. Only one goroutine at a time may call
// Decode. Any goroutine may call Close.
type Decoder struct {
	frames io.ReadCloser
	// objects decodes the object in an event.
	objects *fastjson.Decoder
	buffer  []byte
	// tooLarge is true if the rest of a frame that is too large is still in the stream.
	//
	//workshop:omit
	tooLarge bool
}

var _ watch.Decoder = (*Decoder)(nil)

// NewDecoder returns a decoder that reads from frames, such as a NewFrameReader, and owns it. objects decodes the
// object in each event. It mirrors NewDecoder of client-go's rest/watch, on top of NewDecoder of apimachinery's
// serializer/streaming.
func NewDecoder(frames io.ReadCloser, objects runtime.Decoder) *Decoder {
	return &Decoder{frames: frames, objects: fastjson.NewDecoder(objects), buffer: make([]byte, smallestBuffer)}
}

// Decode returns the type and the object of the next event. Close makes a waiting Decode return an error.
//
// The type is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR. The object's own kind and apiVersion decide its Go type. An
// event may be written in any way that JSON allows. Field names are case-sensitive. A later Decode does not change an
// object.
//
// These are errors, not events:
//   - an unknown type
//   - an object that cannot be decoded
//   - a frame that is not a JSON object
//
// Errors of the frame reader are returned as they are, not wrapped.
//
// A frame may have up to 16 MiB. For a larger frame, Decode returns streaming.ErrObjectTooLarge. The next Decode
// returns the event after it, or the error that the frame reader returns before that event. A decoder needs little
// memory until a large frame arrives. It keeps no object, and no frame except the last one.
//
// It mirrors Decoder.Decode of client-go's rest/watch.
//
//workshop:task 2
func (d *Decoder) Decode() (watch.EventType, runtime.Object, error) {
	frame, err := d.readFrame()
	if err != nil {
		return "", nil, err
	}
	eventType, raw, ok := fastjson.Event(frame)
	if !ok || !d.objects.Fast() { // an unusual form of JSON, or a decoder that may keep raw: the general way copies it
		var event metav1.WatchEvent
		if err := kjson.UnmarshalCaseSensitivePreserveInts(frame, &event); err != nil {
			return "", nil, fmt.Errorf("unable to decode watch event: %w", err)
		}
		eventType, raw = event.Type, event.Object.Raw
	}
	switch watch.EventType(eventType) {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error:
	default:
		return "", nil, fmt.Errorf("got invalid watch event type: %v", eventType)
	}
	obj, err := d.objects.Decode(raw, nil)
	if err != nil {
		return "", nil, fmt.Errorf("unable to decode watch event: %w", err)
	}
	return watch.EventType(eventType), obj, nil
}

// readFrame returns the next frame. It is valid until the next call, which uses the buffer again.
//
//workshop:omit
func (d *Decoder) readFrame() ([]byte, error) {
	if d.tooLarge {
		if err := d.skipRest(); err != nil {
			return nil, err
		}
	}
	n := 0
	for {
		read, err := d.frames.Read(d.buffer[n:])
		n += read
		switch {
		case err == nil:
			return d.buffer[:n], nil
		case err != io.ErrShortBuffer:
			return nil, err
		case len(d.buffer) >= largestFrame:
			d.tooLarge = true
			return nil, streaming.ErrObjectTooLarge
		}
		d.buffer = append(d.buffer, make([]byte, len(d.buffer))...)
	}
}

// skipRest reads the rest of a frame that was too large, and clears tooLarge at its end.
//
//workshop:omit
func (d *Decoder) skipRest() error {
	for {
		_, err := d.frames.Read(d.buffer)
		if err == nil {
			d.tooLarge = false
		}
		if err != io.ErrShortBuffer {
			return err
		}
	}
}

// Close closes the frame reader. A waiting Decode then returns.
func (d *Decoder) Close() { d.frames.Close() }
