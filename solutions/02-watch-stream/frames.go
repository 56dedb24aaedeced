// Package watchstream is chapter 02 of the workshop: from the bytes of an answer that does not end to events.
//
//	RESTClient ──▶ [ frames ──▶ events ──▶ StreamWatcher ] ──▶ Reflector
//
// The files, in the order in which a byte passes through them:
//
//   - frames.go, this one: where one JSON value ends and the next one begins.
//   - decoder.go: what is in a value: a type, and an object.
//   - stream_watcher.go: a channel of events, and an end to it.
//   - listwatch.go: what a Reflector takes: a list, and a watch.
//   - watcher.go, scheme.go: the first three put together, and the types there are. They are given.
//
// What is left out: watches in protobuf, whose frames have their length in front; client-go's code serves those.
//
//workshop:file task 1 FrameReader
package watchstream

import (
	"bytes"
	"fmt"
	"io"
)

// frameReader finds frames in a stream of JSON. It is for one goroutine, but Close may be called from any.
type frameReader struct {
	source io.ReadCloser
	// unread is what has been read from the source and not looked at yet, a part of buffer.
	unread []byte
	buffer []byte
	// err is how the source ended. It is for when unread is used up.
	err error
	// scan knows where in a value the last byte was.
	scan scan
}

// scan follows a JSON object to its end. What is in between it does not check: whoever reads the frame will.
type scan struct {
	depth   int  // how many brackets are open
	text    bool // within a string
	escaped bool // behind a backslash in it
}

// NewFrameReader returns a reader of frames: each Read returns the bytes of one, a JSON object, without the white space
// around it. However the source cuts the stream into pieces, a frame is a frame: several may come in one piece, and one
// in many.
//
// If a frame does not fit, Read fills what there is and returns io.ErrShortBuffer, and the next Read returns what
// follows, until the frame's last part comes without an error. At the end of the source it returns io.EOF, and
// io.ErrUnexpectedEOF if a frame has begun. Any other error of the source is returned when all frames before it have
// been. What is no JSON object is an error; client-go takes any JSON for a frame, so an array may pass. After an error
// nothing more is asked of it, and bytes that come along with one are no frame. Close closes the source. Mirrors
// NewFrameReader of apimachinery's json.Framer.
//
//workshop:keep
func NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &frameReader{source: r, buffer: make([]byte, 16<<10)}
}

// Close closes the source.
func (r *frameReader) Close() error { return r.source.Close() }

// Read returns one frame, or a part of one.
func (r *frameReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if err := r.fill(); err != nil {
			return n, err
		}
		if r.scan.depth == 0 { // between frames
			if r.unread = bytes.TrimLeft(r.unread, " \t\r\n"); len(r.unread) == 0 {
				continue
			}
			if r.unread[0] != '{' {
				return n, fmt.Errorf("read a frame: it begins with %q, and no JSON object does", r.unread[0])
			}
		}
		part, ended := r.scan.over(r.unread[:min(len(r.unread), len(p)-n)])
		n += copy(p[n:], r.unread[:part])
		r.unread = r.unread[part:]
		if ended {
			return n, nil
		}
	}
	return n, io.ErrShortBuffer
}

// fill makes sure that there is something unread.
func (r *frameReader) fill() error {
	for len(r.unread) == 0 {
		if r.err == io.EOF && r.scan.depth > 0 {
			return io.ErrUnexpectedEOF
		}
		if r.err != nil {
			return r.err
		}
		var n int
		n, r.err = r.source.Read(r.buffer)
		r.unread = r.buffer[:n]
	}
	return nil
}

// over looks at bytes until the value ends or there are no more. It returns how many it has looked at.
func (s *scan) over(data []byte) (n int, ended bool) {
	for i := 0; i < len(data); i++ {
		c := data[i]
		if s.text {
			switch {
			case s.escaped:
				s.escaped = false
			case c == '\\':
				s.escaped = true
			case c == '"':
				s.text = false
			}
			continue
		}
		switch c {
		case '"':
			s.text = true
		case '{', '[':
			s.depth++
		case '}', ']':
			s.depth--
			if s.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(data), false
}
