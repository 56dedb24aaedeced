package recorder

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Frames are found however the bytes are cut.
func TestWire_finds_the_borders_of_frames(t *testing.T) {
	json := []byte("{\"a\":1}\n{\"b\":2}\n{\"c")
	protobuf := []byte("\x00\x00\x00\x05hello\x00\x00\x00\x02hi\x00\x00\x00\x09half")
	for size := 1; size <= len(protobuf); size++ {
		for _, test := range []struct {
			bytes   []byte
			borders func([]byte) (int, int)
			rest    int
		}{{json, lines, 3}, {protobuf, (&lengths{}).count, 8}} {
			frames, partial := 0, 0
			for at := 0; at < len(test.bytes); at += size {
				ended, rest := test.borders(test.bytes[at:min(at+size, len(test.bytes))])
				if frames += ended; ended > 0 {
					partial = 0
				}
				partial += rest
			}
			require.Equal(t, 2, frames, "in pieces of %d bytes", size)
			require.Equal(t, test.rest, partial)
		}
	}
}
