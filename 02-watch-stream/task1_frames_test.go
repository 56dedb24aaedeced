package watchstream_test

// Task 1: frames.

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_Each_Read_is_one_frame(t *testing.T) {
	guard.Test(t, "Each Read returns one frame: three events that come in "+
		"one piece are still three.", func(t *guard.T) {
		t.Did("three objects come in one piece")
		got, err := frames(watchstream.NewFrameReader(pieces("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n")), 1000)
		require.Equal(t, []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, got, "frames read")
		t.Rule("At the end of the source, Read returns io.EOF.")
		require.ErrorIs(t, err, io.EOF, "the error of Read after the last frame")
	})
}

func TestTask1_Nothing_needs_to_stand_between_frames(t *testing.T) {
	guard.Test(t, "A frame is a JSON object without the white space around it: JSON shows where an object ends, and "+
		"the new line that Kubernetes writes is not needed.", func(t *guard.T) {
		t.Did("objects come with nothing, and with much, between them")
		got, err := frames(watchstream.NewFrameReader(pieces(" \r\n\t{}{\"a\":{}}\n\n   {}\n")), 1000)
		require.Equal(t, []string{`{}`, `{"a":{}}`, `{}`}, got, "frames read")
		t.Rule("White space at the end of the source is not a frame: Read returns io.EOF.")
		require.ErrorIs(t, err, io.EOF, "the error of Read after the last frame")
	})
}

func TestTask1_Frames_are_whole_however_the_stream_is_cut(t *testing.T) {
	guard.Test(t, "However the bytes come, a frame is a frame: a network also cuts in a string, and after a "+
		"backslash.", func(t *guard.T) {
		text := `{"a":"}"}{"b":["\\","\"{"]}` + "\n" + `{"c":{"d":[{}]}}`
		want := []string{`{"a":"}"}`, `{"b":["\\","\"{"]}`, `{"c":{"d":[{}]}}`}
		t.Did("a stream comes byte by byte")
		got, _ := frames(watchstream.NewFrameReader(bytewise(text)), 1000)
		require.Equal(t, want, got, "frames of a stream that comes byte by byte")
		for i := range text {
			t.Did("a stream is cut before byte %d: %q", i, text[i:])
			got, _ := frames(watchstream.NewFrameReader(pieces(text[:i], text[i:])), 1000)
			require.Equal(t, want, got, "frames of a stream that is cut before byte %d", i)
		}
	})
}

func TestTask1_Brackets_in_strings_do_not_count(t *testing.T) {
	guard.Test(t, "A bracket in a string does not count. Neither does a quote after a backslash, unless that "+
		"backslash follows another one.", func(t *guard.T) {
		for _, frame := range []string{
			`{"a":"{{{"}`, `{"a":"}]"}`, `{"}":1}`, `{"a":"\"}"}`, `{"a":"\\"}`, `{"a":"\\\"}"}`, `{"a":"\u007d"}`,
			`{"a":[[],{},"]"]}`,
		} {
			t.Did("%s", frame)
			got, _ := frames(watchstream.NewFrameReader(pieces(frame+frame)), 1000)
			require.Equal(t, []string{frame, frame}, got, "frames read")
		}
	})
}

func TestTask1_Frame_is_told_as_soon_as_it_is_whole(t *testing.T) {
	guard.Test(t, "An event comes not later than its last byte: the next event may come in an hour, so Read does not "+
		"wait for its first byte, or for a full buffer.", func(t *guard.T) {
		r, w := io.Pipe()
		f := watchstream.NewFrameReader(r)
		defer w.Close()
		defer f.Close()
		got := ""
		t.Go(func() {
			p := make([]byte, 100)
			n, _ := f.Read(p)
			got = string(p[:n])
		})
		t.Did(`{"a":1} comes, and then nothing for a long time`)
		io.WriteString(w, `{"a":1}`)
		synctest.Wait()
		require.Equal(t, `{"a":1}`, got, "the frame that Read has returned")
	})
}

func TestTask1_Small_buffer_gets_a_frame_in_parts(t *testing.T) {
	const (
		fills = "If a frame does not fit, Read fills the buffer and returns io.ErrShortBuffer: the caller learns " +
			"that there is more of this frame."
		follows = "After io.ErrShortBuffer, the next Read returns what follows of the same frame, and nothing of the " +
			"next one. The last part comes without an error."
		justFits = "A frame that just fits is whole: Read returns it without an error."
	)
	guard.Test(t, fills, func(t *guard.T) {
		f := watchstream.NewFrameReader(pieces(`{"a":"0123456789"}{"b":1}`))
		p := make([]byte, 8)
		t.Did("Read with room for 8 bytes of 18")
		n, err := f.Read(p)
		require.Equal(t, `{"a":"01`, string(p[:n]), "bytes of the 1st Read")
		require.ErrorIs(t, err, io.ErrShortBuffer, "the error of the 1st Read")
		t.Did("Read with room for 8 bytes of 10")
		n, err = f.Read(p)
		t.Rule(follows)
		require.Equal(t, `23456789`, string(p[:n]), "bytes of the 2nd Read")
		require.ErrorIs(t, err, io.ErrShortBuffer, "the error of the 2nd Read")
		t.Did("Read with room for 8 bytes of 2")
		n, err = f.Read(p)
		require.Equal(t, `"}`, string(p[:n]), "bytes of the 3rd Read")
		require.NoError(t, err, "the error of the 3rd Read")
		t.Did("Read with room for 7 bytes of 7")
		n, err = f.Read(p[:7])
		t.Rule(justFits)
		require.Equal(t, `{"b":1}`, string(p[:n]), "bytes of the 4th Read")
		require.NoError(t, err, "the error of the 4th Read")
	})
}

func TestTask1_Any_buffer_will_do(t *testing.T) {
	guard.Test(t, "The parts of a frame make the frame, whatever the size of the buffer. Bytes of a piece that do "+
		"not fit come with the next Read.", func(t *guard.T) {
		text := `{"a":"}","b":["\\","\"{"]}`
		for size := 1; size <= len(text)+1; size++ {
			t.Did("buffers of %d bytes, and the stream comes in one piece, in some, and byte by byte", size)
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
	guard.Test(t, "A frame has no limit in the frame reader, and its bytes are those of the stream.", func(t *guard.T) {
		large := `{"a":"` + strings.Repeat("x", 1<<20) + `"}`
		t.Did("a frame of 1 MiB, a small one, and another of 1 MiB")
		got, _ := frames(watchstream.NewFrameReader(pieces(large+"{}"+large)), 2<<20)
		require.Equal(t, []int{len(large), 2, len(large)}, lengths(got), "lengths of the frames")
		require.True(t, got[0] == large && got[1] == "{}" && got[2] == large, "the frames have the bytes of the stream")
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
	guard.Test(t, "A frame may be nested deeply: a schema in a CustomResourceDefinition and a manifest in an "+
		"annotation have no limit.", func(t *guard.T) {
		deep := `{"a":` + strings.Repeat(`[`, 1000) + strings.Repeat(`]`, 1000) + `}`
		t.Did("a frame with 1000 brackets within each other, and a small one")
		got, _ := frames(watchstream.NewFrameReader(pieces(deep+"{}")), 4000)
		require.Equal(t, []int{len(deep), 2}, lengths(got), "lengths of the frames")
		require.Equal(t, []string{deep, "{}"}, got, "frames read")
	})
}

func TestTask1_Stream_that_breaks_off_says_so(t *testing.T) {
	guard.Test(t, "If a frame has begun, the end of the source is io.ErrUnexpectedEOF: io.EOF means that no frame "+
		"was cut.", func(t *guard.T) {
		whole := `{"a":{"b":"c"}}`
		for i := 1; i < len(whole); i++ {
			t.Did("the stream ends after %s", whole[:i])
			_, err := frames(watchstream.NewFrameReader(pieces(whole[:i])), 1000)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the error of Read of a stream that ends after %q", whole[:i])
		}
	})
}

func TestTask1_Error_comes_after_the_frames_before_it(t *testing.T) {
	const (
		afterAll = "An error of the source is returned after all frames before it. A Reader may return bytes and an " +
			"error at once."
		asItIs = "Within a frame only io.EOF becomes another error: the consumer distinguishes a connection that " +
			"was cancelled from one that broke."
	)
	guard.Test(t, afterAll, func(t *guard.T) {
		broken := errors.New("the connection is gone")
		for _, together := range []bool{false, true} {
			t.Rule(afterAll)
			for _, end := range []error{broken, io.EOF} {
				s := pieces(`{"a":1}{"b":2}`)
				s.err, s.together = end, together
				t.Did("two frames come, and then %v; in the same Read: %t", end, together)
				got, err := frames(watchstream.NewFrameReader(s), 1000)
				require.Equal(t, []string{`{"a":1}`, `{"b":2}`}, got, "frames before the error")
				require.ErrorIs(t, err, end, "the error after the frames")
			}
			t.Rule(asItIs)
			s := pieces(`{"a":1}{"b":`)
			s.err, s.together = broken, together
			t.Did("a frame and a half come, and then an error; in the same Read: %t", together)
			_, err := frames(watchstream.NewFrameReader(s), 1000)
			require.ErrorIs(t, err, broken, "the error within a frame")
		}
	})
}

func TestTask1_What_is_no_object_is_an_error(t *testing.T) {
	const (
		before  = "The frames before an error are returned."
		anError = "Bytes that are not a JSON object are an error, such as a proxy's page in the middle of a stream. " +
			"It is not io.EOF, which means that the stream has ended."
	)
	guard.Test(t, anError, func(t *guard.T) {
		for _, text := range []string{`nonsense`, `<html>`, `]`, `}`, `,{}`} {
			t.Did("%s", text)
			got, err := frames(watchstream.NewFrameReader(pieces(`{"a":1}`+text)), 1000)
			t.Rule(before)
			require.Equal(t, []string{`{"a":1}`}, got, "frames before %q", text)
			t.Rule(anError)
			require.Error(t, err, "the error of Read at %q", text)
			require.NotErrorIs(t, err, io.EOF, "the error of Read at %q", text)
		}
	})
}

func TestTask1_Close_closes_the_source(t *testing.T) {
	guard.Test(t, "Close closes the source: the frame reader owns the body.", func(t *guard.T) {
		s := pieces("{}")
		t.Did("Close")
		require.NoError(t, watchstream.NewFrameReader(s).Close(), "the error of Close")
		require.Equal(t, 1, s.closed, "calls of the source's Close")
	})
}
