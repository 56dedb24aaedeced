package watchstream_test

// Task 1: frames. How the frame reader reads its source, and how it uses its caller's buffer.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/guard"
)

// resumed is a source that fails at the end of before, and then continues with after, as a connection with retries
// does.
type resumed struct {
	before, after *source
	failed        bool
}

func (r *resumed) Read(p []byte) (n int, err error) {
	if r.failed {
		return r.after.Read(p)
	}
	n, err = r.before.Read(p)
	r.failed = err != nil
	return n, err
}

func (r *resumed) Close() error { return nil }

func TestTask1_Error_is_returned_again(t *testing.T) {
	guard.Test(t, "After an error, Read returns the same error again and does not read the source. The next "+
		"bytes may begin in the middle of a frame.", func(t *guard.T) {
		broken := errors.New("the connection is gone")
		const half = `{"b":`
		for _, test := range []struct {
			text      string
			end, want error
		}{
			{`{"a":1}`, broken, broken},
			{`{"a":1}{"b":`, broken, broken},
			{half, broken, broken},
			{`{"a":1}{"b":`, os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
			{`{"a":1}`, io.EOF, io.EOF},
			{`{"a":1}{"b":`, io.EOF, io.ErrUnexpectedEOF},
			{`{"a":1}nonsense{"b":2}`, nil, nil},
		} {
			// client-go forgets an error that comes together with a whole frame.
			for _, together := range []bool{false, test.text == half} {
				s := &resumed{before: pieces(test.text), after: pieces(`2}`, `{"c":3}`)}
				s.before.err, s.before.together = test.end, together
				t.Did("%s arrives, then the error %v (in the same Read: %t); the source has more bytes after "+
					"it", test.text, s.before.end(), together)
				r := watchstream.NewFrameReader(s)
				_, first := frames(r, 1000)
				require.Error(t, first, "the error of Read")
				reads := s.after.reads
				for _, size := range []int{1000, 0, 3, 1000} {
					t.Did("Read again, with a buffer of %d bytes", size)
					got, again := frames(r, size)
					require.Equal(t, []string{}, got, "frames after the error")
					require.Equal(t, first.Error(), again.Error(), "the error of the next Read")
					if test.want != nil {
						require.Equal(t, test.want.Error(), asItIs(again, test.want), "the error of the next Read")
					}
				}
				require.Equal(t, reads, s.after.reads, "Reads of the source after the error")
				r.Close()
			}
		}
	})
}

func TestTask1_Buffer_belongs_to_the_caller(t *testing.T) {
	guard.Test(t, "After Read has returned, p belongs to the caller again, up to its capacity. Bytes that Read "+
		"still needs must not be in it.", func(t *guard.T) {
		for _, size := range []int{3, 8, 100, 64 << 10} {
			t.Did("a caller overwrites its buffer of %d bytes after each Read", size)
			r := watchstream.NewFrameReader(pieces(`{"a":"0123456789"}{"b":1}{"c":2}`))
			p, got := make([]byte, size, size+100), ""
			for {
				n, err := r.Read(p)
				if err != nil && err != io.ErrShortBuffer {
					break
				}
				got += string(p[:n])
				copy(p[:cap(p)], strings.Repeat("?", cap(p)))
			}
			require.Equal(t, `{"a":"0123456789"}{"b":1}{"c":2}`, got, "bytes of all Reads of %d bytes", size)
		}
	})
}

func TestTask1_Source_is_read_in_large_pieces(t *testing.T) {
	guard.Test(t, "Read does not read the source byte by byte: each Read of a connection has a "+
		"cost.", func(t *guard.T) {
		for _, size := range []int{1000, 10} {
			s := pieces(strings.Repeat(`{"a":"0123456789"}`, 4000))
			t.Did("4000 frames of 18 bytes arrive in one piece, and the caller's buffer has %d bytes", size)
			got, _ := frames(watchstream.NewFrameReader(s), size)
			require.Len(t, got, 4000, "frames read")
			require.Less(t, s.reads, 2000, "Reads of the source")
		}
	})
}

// repeated is a source that returns the same text several times. read counts the bytes of the next one that are read.
type repeated struct {
	text  string
	times int
	read  int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.times == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text[r.read:])
	if r.read += n; r.read == len(r.text) {
		r.read = 0
		r.times--
	}
	return n, nil
}

func (r *repeated) Close() error { return nil }

// inUse returns the size of the heap that is in use, in bytes.
func inUse() int {
	least := 0
	for i := range 3 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if now := int(stats.HeapAlloc); i == 0 || now < least {
			least = now
		}
	}
	return least
}

// requireNoGrowth asserts that less than 1 MiB more memory is in use than before.
func requireNoGrowth(t *guard.T, before int, afterWhat string) {
	t.Helper()
	want := "less than 1 MiB more than before"
	got := want
	if more := inUse() - before; more >= 1<<20 {
		got = fmt.Sprintf("%d MiB more than before", more>>20)
	}
	require.Equal(t, want, got, "memory in use "+afterWhat)
}

func TestTask1_Returned_frames_are_not_kept(t *testing.T) {
	guard.Test(t, "Returned frames do not stay in memory: in a week, a watch receives "+
		"gigabytes.", func(t *guard.T) {
		frame := `{"a":"` + strings.Repeat("x", 500) + `"}`
		all := strings.Repeat(frame, 8000)
		before := inUse()
		for _, s := range []io.ReadCloser{&repeated{text: frame, times: 8000}, io.NopCloser(strings.NewReader(all))} {
			r := watchstream.NewFrameReader(s)
			t.Did("Read of 8000 frames of 508 bytes, 4 MB in all; they come one by one, and all at once")
			p := make([]byte, 1000)
			for range 8000 {
				_, err := r.Read(p)
				require.NoError(t, err, "the error of Read")
			}
			requireNoGrowth(t, before, "after 8000 frames")
			r.Close()
		}
		runtime.KeepAlive(all)
	})
}

// during is a source that calls a function in each Read.
type during struct {
	*source
	call func()
}

func (d *during) Read(p []byte) (int, error) {
	d.call()
	return d.source.Read(p)
}

func TestTask1_Readers_share_nothing(t *testing.T) {
	const same = "Read returns the same frames, however the source cuts the stream, whatever other readers " +
		"read meanwhile."
	guard.Test(t, same, func(t *guard.T) {
		next := func(r io.Reader) string {
			t.Did("Read of one frame")
			p := make([]byte, 100)
			n, err := r.Read(p)
			require.NoError(t, err, "the error of Read")
			return string(p[:n])
		}
		t.Did("two readers have two frames each, and read in turns; the first source is at its end")
		s := pieces(`{"a":1}{"a":2}`)
		s.together = true
		first := watchstream.NewFrameReader(s)
		defer first.Close()
		got := []string{next(first)}
		second := watchstream.NewFrameReader(pieces(`{"b":1}{"b":2}`))
		defer second.Close()
		got = append(got, next(second), next(first), next(second))
		require.Equal(t, []string{`{"a":1}`, `{"b":1}`, `{"a":2}`, `{"b":2}`}, got, "frames of the two readers")
		t.Rule(same + " Close may come while the source still writes to the buffer.")
		t.Did("a reader is closed while its source returns bytes, and another one reads")
		var closed, other io.ReadCloser
		closed = watchstream.NewFrameReader(&during{pieces(`{"c":1}{"c":2}`), func() {
			closed.Close()
			other = watchstream.NewFrameReader(pieces(`{"d":1}{"d":2}`))
			require.Equal(t, `{"d":1}`, next(other), "the 1st frame of the other reader")
		}})
		closed.Read(make([]byte, 100))
		require.Equal(t, `{"d":2}`, next(other), "the 2nd frame of the other reader")
		other.Close()
	})
}

func TestTask1_Close_while_another_goroutine_reads(t *testing.T) {
	guard.Race(t, "Any goroutine may call Close, at any moment of a Read: Close changes nothing that Read uses.",
		func(t *guard.T) {
			r := watchstream.NewFrameReader(&repeated{text: `{"a":1}`, times: 1 << 30})
			p := make([]byte, 100)
			t.Did("one goroutine reads, and another one closes")
			guard.Storm(func(int) { r.Read(p) }, func(int) { r.Close() })
		})
}
