package watchstream

// This file makes an event of a frame: what happened, and to which object. It stands between the frames and the
// StreamWatcher. It mirrors client-go's rest/watch/decoder.go and apimachinery's serializer/streaming.

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
	// smallestBuffer is what a decoder begins with. Most objects are larger, but watches are many.
	smallestBuffer = 4 << 10
	// largestFrame is the most that a frame may have. Etcd takes 1.5 MiB, so something is wrong with more.
	largestFrame = 16 << 20
)

// Decoder reads events from a stream of frames. It implements watch.Decoder. Decode is for one goroutine, Close for
// any.
type Decoder struct {
	frames io.ReadCloser
	// objects reads the object in an event.
	objects *fastjson.Decoder
	// buffer holds one frame. It is used again for the next one.
	buffer []byte
	// tooLarge says that the frame that was begun is too large, and its rest is still to come.
	tooLarge bool
}

var _ watch.Decoder = (*Decoder)(nil)

// NewDecoder returns a decoder that owns frames, a reader as NewFrameReader's, and reads the object in each event by
// objects. Mirrors NewDecoder of client-go's rest/watch, on top of one of apimachinery's serializer/streaming.
func NewDecoder(frames io.ReadCloser, objects runtime.Decoder) *Decoder {
	return &Decoder{frames: frames, objects: fastjson.NewDecoder(objects), buffer: make([]byte, smallestBuffer)}
}

// Decode returns the next event. It waits for it, until Close, which makes it return an error.
//
// An event is a JSON object with a type, which is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, and an object, which is
// whatever its kind says: of an ERROR a server sends a *metav1.Status, and Decode does not check that. Another type, or
// an object that cannot be read, is an error, and no event. A frame of more than 16 MiB is streaming.ErrObjectTooLarge;
// the next Decode returns the event behind it. Errors of the frame reader, such as io.EOF, are returned as they are,
// and not wrapped: utilnet.IsProbableEOF, which is asked about them later, does not look into what fmt wraps around
// them. Mirrors Decoder.Decode of client-go's rest/watch.
//
//workshop:task 2
func (d *Decoder) Decode() (watch.EventType, runtime.Object, error) {
	frame, err := d.readFrame()
	if err != nil {
		return "", nil, err
	}
	eventType, raw, ok := fastjson.Event(frame)
	if !ok { // not written as usual, so read in the usual way
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

// readFrame returns the next frame. It is valid until the next call.
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

// skipRest skips the rest of a frame that is too large.
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

// Close closes the stream. It makes a Decode that waits return.
func (d *Decoder) Close() { d.frames.Close() }
