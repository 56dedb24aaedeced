// Package watchstream turns the body of a watch, which does not end, into events.
//
//	RESTClient ──▶ [ frames ──▶ events ──▶ StreamWatcher ] ──▶ Reflector
//
// The files, in the order in which a byte passes through them:
//
//   - frames.go: splits the stream into frames, one JSON object each.
//   - decoder.go: decodes a frame into an event type and an object.
//   - stream_watcher.go: sends the events on a channel, and ends with the stream or at Stop.
//   - listwatch.go: the list and watch functions that a Reflector takes.
//   - watcher.go, scheme.go: connect the first three, and register the Go types. They are given.
//
// This package leaves out watches in protobuf, whose frames begin with their length. client-go's code decodes those.
package watchstream

// This file splits a stream of JSON into frames. It only counts brackets: decoder.go checks the JSON. It mirrors
// apimachinery's pkg/util/framer.

import (
	"io"

	"client-go-workshop/internal/testkit/todo"
)

// frameReader reads frames from a stream of JSON. Only one goroutine at a time may call Read. Any goroutine may call
// Close.
type frameReader struct {
	source io.ReadCloser
	buffer []byte
}

// NewFrameReader returns a reader of the frames in r, and owns r. A frame is the bytes of one JSON object. It
// mirrors NewFrameReader of apimachinery's json.Framer.
func NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &frameReader{source: r, buffer: make([]byte, 32<<10)}
}

// Close closes the source, even while a Read waits for it. It returns the error of the source's Close.
func (r *frameReader) Close() error {
	panic(todo.Task(1, "FrameReader.Close"))
}

// Read returns one frame, without the white space around it. It returns the same frames, however the source cuts the
// stream, and a frame as soon as the frame's last byte has arrived. A frame may have any length, any depth, and any
// bytes in its strings.
//
// If a frame does not fit into p, Read fills p and returns io.ErrShortBuffer. The next Read returns the next part of
// the same frame. The last part of a frame has no error. After Read has returned, p belongs to the caller again.
//
// At the end of the source, Read returns io.EOF. In the middle of a frame, it returns io.ErrUnexpectedEOF instead. Any
// other error of the source is returned as it is, and bytes that cannot begin a JSON value are an error. The frames
// before an error are returned first. After an error, Read returns the same error again and does not read the source.
// Bytes returned with an error other than io.ErrShortBuffer are not a frame.
//
// Read does not read the source byte by byte. Returned frames do not stay in memory.
func (r *frameReader) Read(p []byte) (n int, err error) {
	panic(todo.Task(1, "FrameReader.Read"))
}
