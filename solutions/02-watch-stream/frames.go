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
//
//workshop:file task 1 FrameReader

import (
	"bytes"
	"fmt"
	"io"
)

// frameReader reads frames from a stream of JSON. Only one goroutine at a time may call Read. Any goroutine may call
// Close.
type frameReader struct {
	source io.ReadCloser
	buffer []byte
	// unread is the part of buffer that Read has not looked at.
	//
	//workshop:omit
	unread []byte
	// err is the error that ended the source. Read returns it after unread.
	//
	//workshop:omit
	err error
	// scan is the place of the last byte that Read has looked at.
	//
	//workshop:omit
	scan scan
}

// scan is a place in a stream of JSON.
//
//workshop:omit
type scan struct {
	depth   int  // number of open brackets
	text    bool // in a string
	escaped bool // after a backslash in a string
}

// NewFrameReader returns a reader of the frames in r, and owns r. A frame is the bytes of one JSON object. It
// mirrors NewFrameReader of apimachinery's json.Framer.
//
//workshop:keep
func NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &frameReader{source: r, buffer: make([]byte, 32<<10)}
}

// Close closes the source, even while a Read waits for it. It returns the error of the source's Close.
func (r *frameReader) Close() error { return r.source.Close() }

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
	for {
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
		if n == len(p) {
			return n, io.ErrShortBuffer
		}
	}
}

// fill reads from the source until there are unread bytes. It returns the source's error when there are none.
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

// over moves the place over data, up to the end of the frame. It returns how many bytes it has passed, and whether the
// frame ended there. It does not check the JSON, because the decoder does.
func (s *scan) over(data []byte) (n int, ended bool) {
	if s.text {
		n = s.overText(data)
	}
	for ; n < len(data); n++ {
		switch data[n] {
		case '"':
			n += s.overText(data[n+1:])
		case '{', '[':
			s.depth++
		case '}', ']':
			s.depth--
			if s.depth == 0 {
				return n + 1, true
			}
		}
	}
	return len(data), false
}

// overText moves the place over the text of a string and its closing quote, and returns how many bytes it has passed.
// Most bytes are in strings, so its loop has few cases, and does not write to s.
//
//workshop:omit
func (s *scan) overText(data []byte) (n int) {
	if s.escaped {
		n = 1
	}
	for ; n < len(data) && data[n] != '"'; n++ {
		if data[n] == '\\' {
			n++ // the next byte is a part of the text
		}
	}
	s.text, s.escaped = n >= len(data), n > len(data)
	return min(n+1, len(data))
}
