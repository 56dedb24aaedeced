package watchstream_test

// Task 1: frames.

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_Each_Read_is_one_frame(t *testing.T) {
	guard.Test(t, "Read returns the same frames, however the source cuts the stream. Three frames in one piece "+
		"are three frames, and the white space between them belongs to none.", func(t *guard.T) {
		t.Did("three objects arrive in one piece")
		got, err := frames(watchstream.NewFrameReader(pieces("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n")), 1000)
		require.Equal(t, []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, got, "frames read")
		t.Rule("At the end of the source, Read returns io.EOF, not wrapped: io.EOF is compared with ==.")
		require.Equal(t, "EOF", asItIs(err, io.EOF), "the error of Read after the last frame")
	})
}

func TestTask1_Frames_need_nothing_between_them(t *testing.T) {
	const between = "Read returns one frame, without the white space around it. JSON shows where an object ends, " +
		"so the newline that Kubernetes writes is not needed."
	guard.Test(t, between, func(t *guard.T) {
		text := " \r\n\t{}{\"a\":{}}\n\n   {}\n"
		for _, s := range []*source{pieces(text), bytewise(text)} {
			t.Rule(between)
			t.Did("objects arrive in %d pieces, with no white space between them, and with much of it", len(s.pieces))
			got, err := frames(watchstream.NewFrameReader(s), 1000)
			require.Equal(t, []string{`{}`, `{"a":{}}`, `{}`}, got, "frames read")
			t.Rule("At the end of the source, Read returns io.EOF. White space there is not a frame.")
			require.ErrorIs(t, err, io.EOF, "the error of Read after the last frame")
		}
	})
}

func TestTask1_Frames_are_whole_however_the_stream_is_cut(t *testing.T) {
	guard.Test(t, "Read returns the same frames, however the source cuts the stream. The network may cut in a "+
		"string, in a letter, or after a backslash.", func(t *guard.T) {
		text := `{"a":"}é"}{"b":["\\","\"{"]}` + "\n" + `{"c":{"d":[{}]}}`
		want := []string{`{"a":"}é"}`, `{"b":["\\","\"{"]}`, `{"c":{"d":[{}]}}`}
		t.Did("a stream arrives in pieces, and some Reads return no byte and no error")
		empty := make([]string, 10)
		s := pieces(append(append([]string{text[:9]}, empty...), text[9:], "")...)
		got, err := frames(watchstream.NewFrameReader(s), 1000)
		require.Equal(t, want, got, "frames of a stream with Reads of no byte")
		require.ErrorIs(t, err, io.EOF, "the error of Read after the last frame")
		t.Did("a stream arrives byte by byte")
		got, _ = frames(watchstream.NewFrameReader(bytewise(text)), 1000)
		require.Equal(t, want, got, "frames of a stream that arrives byte by byte")
		for i := range len(text) {
			t.Did("a stream is cut before byte %d: %q", i, text[i:])
			got, _ := frames(watchstream.NewFrameReader(pieces(text[:i], text[i:])), 1000)
			require.Equal(t, want, got, "frames of a stream that is cut before byte %d", i)
		}
	})
}

func TestTask1_Brackets_in_strings_do_not_count(t *testing.T) {
	guard.Test(t, "A frame may have any length, any depth, and any bytes in its strings. A bracket in a string "+
		"does not count. A quote after a backslash does not end the string, unless another backslash escapes "+
		"that backslash.", func(t *guard.T) {
		for _, frame := range []string{
			`{"a":"{{{"}`, `{"a":"}]"}`, `{"}":1}`, `{"a":"\"}"}`, `{"a":"\\"}`, `{"a":"\\\"}"}`, `{"a":"\u007d"}`,
			`{"a":[[],{},"]"]}`, "{\"a\":\"\xff}\"}",
		} {
			t.Did("%s", frame)
			got, _ := frames(watchstream.NewFrameReader(pieces(frame+frame)), 1000)
			require.Equal(t, []string{frame, frame}, got, "frames read")
		}
	})
}

func TestTask1_Frame_is_returned_as_soon_as_it_is_whole(t *testing.T) {
	guard.Test(t, "It returns a frame as soon as the frame's last byte has arrived. The next frame may arrive in "+
		"an hour, so Read does not wait for its first byte, or for a full buffer.", func(t *guard.T) {
		for _, size := range []int{100, 7, 1} {
			r, w := io.Pipe()
			f := watchstream.NewFrameReader(r)
			defer w.Close()
			defer f.Close()
			got := ""
			t.Go(func() {
				p, frame := make([]byte, size), ""
				for n, err := f.Read(p); err == nil || err == io.ErrShortBuffer; n, err = f.Read(p) {
					if frame += string(p[:n]); err == nil {
						got, frame = frame, ""
					}
				}
			})
			for _, pieces := range [][]string{{`{"a":1}`}, {`{"b":2`, `}`}, {`{`, `"c":3`, `}`}} {
				frame := strings.Join(pieces, "")
				t.Did("%s comes in %d pieces, each followed by a quiet day; Read with a buffer of %d bytes", frame,
					len(pieces), size)
				for _, piece := range pieces {
					io.WriteString(w, piece)
					time.Sleep(24 * time.Hour)
				}
				synctest.Wait()
				require.Equal(t, frame, got, "the newest frame that Read has returned")
			}
		}
	})
}

func TestTask1_Small_buffer_gets_a_frame_in_parts(t *testing.T) {
	const (
		fills = "If a frame does not fit into p, Read fills p and returns io.ErrShortBuffer. The error says " +
			"that this is only a part of a frame."
		follows  = "The next Read returns the next part of the same frame, and no byte of the next frame."
		lastPart = "The last part of a frame has no error."
		justFits = "If a frame does not fit into p, Read fills p and returns io.ErrShortBuffer. A frame as " +
			"long as p does fit."
	)
	guard.Test(t, fills, func(t *guard.T) {
		text := `{"a":"0123456789"}{"b":1}`
		for _, s := range []*source{pieces(text), bytewise(text)} {
			t.Rule(fills)
			t.Did("two frames arrive in %d pieces; Read with a buffer of no bytes", len(s.pieces))
			f := watchstream.NewFrameReader(s)
			n, err := f.Read(nil)
			require.Equal(t, 0, n, "bytes of the Read with no buffer")
			require.ErrorIs(t, err, io.ErrShortBuffer, "the error of the Read with no buffer")
			p := make([]byte, 8)
			t.Did("Read with a buffer of 8 bytes; the frame has 18")
			n, err = f.Read(p)
			require.Equal(t, `{"a":"01`, string(p[:n]), "bytes of the 1st Read")
			require.ErrorIs(t, err, io.ErrShortBuffer, "the error of the 1st Read")
			t.Did("Read with a buffer of 8 bytes; 10 bytes of the frame are left")
			n, err = f.Read(p)
			t.Rule(follows)
			require.Equal(t, `23456789`, string(p[:n]), "bytes of the 2nd Read")
			require.ErrorIs(t, err, io.ErrShortBuffer, "the error of the 2nd Read")
			t.Did("Read with a buffer of 8 bytes; 2 bytes of the frame are left")
			n, err = f.Read(p)
			require.Equal(t, `"}`, string(p[:n]), "bytes of the 3rd Read")
			t.Rule(lastPart)
			require.NoError(t, err, "the error of the 3rd Read")
			t.Did("Read with a buffer of 7 bytes; the frame has 7")
			n, err = f.Read(p[:7])
			t.Rule(justFits)
			require.Equal(t, `{"b":1}`, string(p[:n]), "bytes of the 4th Read")
			require.NoError(t, err, "the error of the 4th Read")
			f.Close()
		}
	})
}

func TestTask1_Any_size_of_buffer_works(t *testing.T) {
	guard.Test(t, "The next Read returns the next part of the same frame, whatever the size of the buffer, and "+
		"of the pieces of the stream.", func(t *guard.T) {
		text := "{ \"a\":\n\"}  \",\r\n\t\"b\":[\"\\\\\",\"\\\"{  \"] }"
		for size := 1; size <= len(text)+1; size++ {
			t.Did("a buffer of %d bytes; the stream arrives in one piece, in several, and byte by "+
				"byte", size)
			got, _ := frames(watchstream.NewFrameReader(pieces(text+text)), size)
			require.Equal(t, []string{text, text}, got, "frames of one piece, with a buffer of %d bytes", size)
			for cut := 2; cut < len(text); cut++ {
				got, _ = frames(watchstream.NewFrameReader(pieces(chunks(text+text, cut)...)), size)
				require.Equal(t, []string{text, text}, got,
					"frames of pieces of %d bytes, with a buffer of %d", cut, size)
			}
			got, _ = frames(watchstream.NewFrameReader(bytewise(text+text)), size)
			require.Equal(t, []string{text, text}, got, "frames of single bytes, with a buffer of %d", size)
		}
	})
}

// chunks cuts text into pieces of n bytes.
func chunks(text string, n int) (all []string) {
	for piece := range slices.Chunk([]byte(text), n) {
		all = append(all, string(piece))
	}
	return all
}

func TestTask1_Large_frames(t *testing.T) {
	guard.Test(t, "A frame may have any length, any depth, and any bytes in its strings.", func(t *guard.T) {
		for _, mebibytes := range []int{1, 17} {
			large := `{"aa":"` + strings.Repeat(`\"`, mebibytes<<19) + `"}`
			t.Did("a frame of %d MiB, a small one, and another of %[1]d MiB", mebibytes)
			got, _ := frames(watchstream.NewFrameReader(pieces(large+"{}"+large)), 18<<20)
			require.Equal(t, []int{len(large), 2, len(large)}, lengths(got), "lengths of the frames")
			require.True(t, got[0] == large && got[1] == "{}" && got[2] == large,
				"the frames have the bytes of the stream")
		}
	})
}

func lengths(frames []string) []int {
	all := []int{}
	for _, frame := range frames {
		all = append(all, len(frame))
	}
	return all
}

func TestTask1_Deep_frames(t *testing.T) {
	guard.Test(t, "A frame may have any length, any depth, and any bytes in its strings. The schema in a "+
		"CustomResourceDefinition may be nested deeply.", func(t *guard.T) {
		deep := `{"a":` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) + `}`
		t.Did("a frame with 9000 nested brackets, and a small one")
		got, _ := frames(watchstream.NewFrameReader(pieces(deep+"{}")), 20_000)
		require.Equal(t, []int{len(deep), 2}, lengths(got), "lengths of the frames")
		require.Equal(t, []string{deep, "{}"}, got, "frames read")
	})
}

func TestTask1_Stream_that_ends_in_a_frame_is_cut(t *testing.T) {
	guard.Test(t, "In the middle of a frame, it returns io.ErrUnexpectedEOF instead: io.EOF means that the last "+
		"frame is complete.", func(t *guard.T) {
		whole := `{"a":{"b":"\"c"}}`
		for i := 1; i < len(whole); i++ {
			t.Did("the stream ends after %s", whole[:i])
			got, err := frames(watchstream.NewFrameReader(pieces(whole[:i])), 1000)
			require.Empty(t, got, "frames of a stream that ends after %q", whole[:i])
			require.Equal(t, "unexpected EOF", asItIs(err, io.ErrUnexpectedEOF),
				"the error of Read of a stream that ends after %q", whole[:i])
		}
	})
}

func TestTask1_Error_comes_after_the_frames_before_it(t *testing.T) {
	const (
		afterAll = "The frames before an error are returned first. One Read of the source may return bytes " +
			"and an error together."
		unchanged = "Any other error of the source is returned as it is, after a frame and in the middle of one. So the " +
			"consumer can distinguish a cancelled request from a broken connection."
	)
	guard.Test(t, afterAll, func(t *guard.T) {
		broken := errors.New("the connection is gone")
		for _, test := range []struct {
			together bool
			buffer   int
		}{{false, 1000}, {true, 1000}, {false, 3}, {true, 3}} {
			for _, end := range []error{io.EOF, broken, io.ErrUnexpectedEOF} {
				t.Rule(afterAll)
				s := pieces(`{"a":1}{"b":2}`)
				s.err, s.together = end, test.together
				t.Did("two frames arrive, and then: %v (in the same Read: %t); the buffer has %d bytes", end,
					test.together, test.buffer)
				got, err := frames(watchstream.NewFrameReader(s), test.buffer)
				require.Equal(t, []string{`{"a":1}`, `{"b":2}`}, got, "frames before the error")
				if end != io.EOF {
					t.Rule(unchanged)
				}
				require.Equal(t, end.Error(), asItIs(err, end), "the error after the frames")
			}
			t.Rule(unchanged)
			for _, end := range []error{broken, fmt.Errorf("the proxy answered: %w", io.EOF)} {
				s := pieces(`{"a":1}{"b":`)
				s.err, s.together = end, test.together
				t.Did("a frame and a half arrive, and then: %v (in the same Read: %t); the buffer has %d bytes", end,
					test.together, test.buffer)
				got, err := frames(watchstream.NewFrameReader(s), test.buffer)
				require.Equal(t, []string{`{"a":1}`}, got, "frames before the error in the middle of a frame")
				require.Equal(t, end.Error(), asItIs(err, end), "the error in the middle of a frame")
			}
		}
	})
}

func TestTask1_Bytes_that_are_not_an_object_are_an_error(t *testing.T) {
	const (
		before  = "The frames before an error are returned first."
		anError = "Bytes that cannot begin a JSON value are an error, such as a proxy's error page in the " +
			"middle of a stream. The error is not io.EOF, because the stream has not ended."
	)
	guard.Test(t, anError, func(t *guard.T) {
		for _, text := range []string{`nonsense`, `<html>`, `]`, `}`, `,{}`, "\v{}", "\u00a0{}",
			"\x00{}", "\x1e{}", "\ufeff{}"} {
			t.Did("%s", text)
			f := watchstream.NewFrameReader(pieces(`{"a":1}` + text))
			got, err := frames(f, 1000)
			f.Close()
			t.Rule(anError)
			require.Error(t, err, "the error of Read at %q", text)
			require.NotErrorIs(t, err, io.EOF, "the error of Read at %q", text)
			t.Rule(before)
			require.Equal(t, []string{`{"a":1}`}, got, "frames before %q", text)

			r, w := io.Pipe()
			t.Cleanup(func() { w.Close() })
			t.Go(func() { io.WriteString(w, `{"a":1}`+text+`{"b":2}`) })
			t.Did("%s, and then a frame; the stream stays open", text)
			var ended error
			f = watchstream.NewFrameReader(r)
			t.Go(func() { _, ended = frames(f, 1000) })
			synctest.Wait()
			t.Rule(anError)
			require.Error(t, ended, "the error of Read at %q", text)
			f.Close()
		}
	})
}

func TestTask1_Close_closes_the_source(t *testing.T) {
	const closes = "Close closes the source, even while a Read waits for it. Otherwise that Read may wait forever."
	guard.Test(t, closes, func(t *guard.T) {
		s := pieces("{}")
		t.Did("Close")
		require.NoError(t, watchstream.NewFrameReader(s).Close(), "the error of Close")
		require.Equal(t, 1, s.closed, "calls of the source's Close")
		r, w := io.Pipe()
		defer w.Close()
		f := watchstream.NewFrameReader(r)
		t.Did("Read, while no byte arrives")
		var err error
		t.Go(func() { _, err = f.Read(make([]byte, 100)) })
		synctest.Wait()
		t.Did("Close")
		f.Close()
		synctest.Wait()
		require.Error(t, err, "the error of Read after Close")
		t.Rule("Any other error of the source is returned as it is, and a closed source returns one.")
		f = watchstream.NewFrameReader(r)
		t.Did("Close of another reader, and Read")
		f.Close()
		_, err = f.Read(make([]byte, 100))
		require.ErrorIs(t, err, io.ErrClosedPipe, "the error of Read after Close")
		t.Rule("It returns the error of the source's Close.")
		s.closeErr = io.ErrClosedPipe
		t.Did("Close of a source whose Close fails")
		require.Equal(t, s.closeErr, watchstream.NewFrameReader(s).Close(), "the error of Close")
		t.Rule(closes + " The end of the stream does not close it: a connection may still be open.")
		for _, end := range []error{io.EOF, errors.New("the connection is gone")} {
			s := pieces("{}")
			s.err = end
			f := watchstream.NewFrameReader(s)
			t.Did("a stream is read until its end: %v", end)
			frames(f, 1000)
			t.Did("Close")
			require.NoError(t, f.Close(), "the error of Close")
			require.Equal(t, 1, s.closed, "calls of the source's Close, after the end")
		}
	})
}
