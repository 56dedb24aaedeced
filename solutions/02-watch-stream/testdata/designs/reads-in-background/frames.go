// This design reads the source in a goroutine, so that a Read does not wait in the source itself. The solution reads
// it in Read. This design is correct because the goroutine reads only when a Read asks for bytes, and ends with an
// error of the source or at Close.
package watchstream

import (
	"fmt"
	"io"
	"sync"
)

type frameReader struct {
	source io.ReadCloser
	start  func()
	// wanted has a value for each piece that Read waits for.
	wanted chan struct{}
	pieces chan piece
	closed chan struct{}
	close  func()

	unread  []byte
	err     error
	depth   int
	text    bool
	escaped bool
}

// piece is the result of one Read of the source.
type piece struct {
	data []byte
	err  error
}

// NewFrameReader returns a reader of the frames in r.
func NewFrameReader(r io.ReadCloser) io.ReadCloser {
	f := &frameReader{source: r, wanted: make(chan struct{}), pieces: make(chan piece, 1), closed: make(chan struct{})}
	f.start = sync.OnceFunc(func() { go f.receive() })
	f.close = sync.OnceFunc(func() { close(f.closed) })
	return f
}

// Close closes the source, and ends the goroutine.
func (r *frameReader) Close() error {
	r.close()
	return r.source.Close()
}

// Read returns one frame, or a part of one.
func (r *frameReader) Read(p []byte) (n int, err error) {
	for {
		for len(r.unread) == 0 {
			if r.err == io.EOF && r.depth > 0 {
				return n, io.ErrUnexpectedEOF
			}
			if r.err != nil {
				return n, r.err
			}
			next := r.next()
			r.unread, r.err = next.data, next.err
		}
		c := r.unread[0]
		switch between := r.depth == 0; {
		case between && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			r.unread = r.unread[1:]
			continue
		case between && c != '{':
			return n, fmt.Errorf("%q does not begin an object", c)
		case len(p) == 0:
			return 0, io.ErrShortBuffer
		}
		p[n] = c
		n++
		r.unread = r.unread[1:]
		if r.ends(c) {
			return n, nil
		}
		if n == len(p) {
			return n, io.ErrShortBuffer
		}
	}
}

// ends passes over one byte, and reports whether it is the last one of a frame.
func (r *frameReader) ends(c byte) bool {
	switch {
	case r.escaped:
		r.escaped = false
	case r.text:
		r.escaped, r.text = c == '\\', c != '"'
	case c == '"':
		r.text = true
	case c == '{' || c == '[':
		r.depth++
	case c == '}' || c == ']':
		r.depth--
		return r.depth == 0
	}
	return false
}

// next waits for bytes of the source.
func (r *frameReader) next() piece {
	r.start()
	select {
	case r.wanted <- struct{}{}:
		return <-r.pieces
	case <-r.closed:
		return r.readSource()
	}
}

// receive reads a piece each time that one is wanted.
func (r *frameReader) receive() {
	for {
		select {
		case <-r.wanted:
			next := r.readSource()
			r.pieces <- next
			if next.err != nil {
				return
			}
		case <-r.closed:
			return
		}
	}
}

func (r *frameReader) readSource() piece {
	data := make([]byte, 8<<10)
	n, err := r.source.Read(data)
	return piece{data[:n], err}
}
