package watchstream

// This file makes an event of a frame: what happened, and to which object. It stands between the frames and the
// StreamWatcher. It mirrors client-go's rest/watch/decoder.go and apimachinery's serializer/streaming.

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/fastjson"
	"client-go-workshop/internal/testkit/todo"
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
func (d *Decoder) Decode() (watch.EventType, runtime.Object, error) {
	panic(todo.Task(2, "Decoder.Decode"))
}

// Close closes the stream. It makes a Decode that waits return.
func (d *Decoder) Close() { d.frames.Close() }
