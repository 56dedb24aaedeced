package rewritingproxy

// This file is given. It reads frames of any length with the frame reader of chapter 02, as a decoder does there.

import (
	"errors"
	"io"
)

// eachRead is a body that calls first before each Read. An error of first is the error of Read.
type eachRead struct {
	io.ReadCloser
	first func() error
}

func (r *eachRead) Read(p []byte) (int, error) {
	if err := r.first(); err != nil {
		return 0, err
	}
	return r.ReadCloser.Read(p)
}

const (
	smallestBuffer = 4 << 10
	// largestFrame is the size limit of a frame. Etcd accepts 1.5 MiB, so a larger frame is a mistake.
	largestFrame = 16 << 20
)

// frames reads frames of at most 16 MiB.
type frames struct {
	reader io.Reader
	buffer []byte
}

func newFrames(r io.Reader) *frames { return &frames{reader: r, buffer: make([]byte, smallestBuffer)} }

// next returns the next frame. It is valid until the next call. The errors are those of the frame reader, and one for a
// frame that is too large.
func (f *frames) next() ([]byte, error) {
	if len(f.buffer) > 16*smallestBuffer {
		f.buffer = make([]byte, smallestBuffer) // a large frame is rare
	}
	for n := 0; ; {
		read, err := f.reader.Read(f.buffer[n:])
		n += read
		switch {
		case err == nil:
			return f.buffer[:n:n], nil
		case !errors.Is(err, io.ErrShortBuffer):
			return nil, err
		case n >= largestFrame:
			return nil, errors.New("read an event: it has more than 16 MiB")
		}
		f.buffer = append(f.buffer, make([]byte, len(f.buffer))...)
	}
}
