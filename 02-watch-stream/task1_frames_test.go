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
	guard.Test(t, "what comes together is still three events", func(t *guard.T) {
		t.Did("three objects come in one piece")
		got, err := frames(watchstream.NewFrameReader(pieces("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n")), 1000)
		require.Equal(t, []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, got)
		t.Rule("after the last frame the stream is over")
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestTask1_Nothing_needs_to_stand_between_frames(t *testing.T) {
	guard.Test(t, "JSON says itself where it ends; the new line that Kubernetes writes is a courtesy", func(t *guard.T) {
		t.Did("objects come with nothing, and with much, between them")
		got, err := frames(watchstream.NewFrameReader(pieces(" \r\n\t{}{\"a\":{}}\n\n   {}\n")), 1000)
		require.Equal(t, []string{`{}`, `{"a":{}}`, `{}`}, got)
		t.Rule("white space at the end is no frame")
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestTask1_Frames_are_whole_however_the_stream_is_cut(t *testing.T) {
	guard.Test(t, "a network cuts where it likes: also within a string, also behind a backslash", func(t *guard.T) {
		text := `{"a":"}"}{"b":["\\","\"{"]}` + "\n" + `{"c":{"d":[{}]}}`
		want := []string{`{"a":"}"}`, `{"b":["\\","\"{"]}`, `{"c":{"d":[{}]}}`}
		t.Did("a stream comes byte by byte")
		got, _ := frames(watchstream.NewFrameReader(bytewise(text)), 1000)
		require.Equal(t, want, got)
		for i := range text {
			t.Did("a stream is cut before byte %d: %q", i, text[i:])
			got, _ := frames(watchstream.NewFrameReader(pieces(text[:i], text[i:])), 1000)
			require.Equal(t, want, got)
		}
	})
}

func TestTask1_Brackets_in_strings_do_not_count(t *testing.T) {
	guard.Test(t, "a bracket in a string is a letter; and a quote behind a backslash is one, too, unless the "+
		"backslash is behind another", func(t *guard.T) {
		for _, frame := range []string{`{"a":"{{{"}`, `{"a":"}]"}`, `{"}":1}`, `{"a":"\"}"}`, `{"a":"\\"}`, `{"a":"\\\"}"}`, `{"a":"\u007d"}`, `{"a":[[],{},"]"]}`} {
			t.Did("%s", frame)
			got, _ := frames(watchstream.NewFrameReader(pieces(frame+frame)), 1000)
			require.Equal(t, []string{frame, frame}, got)
		}
	})
}

func TestTask1_Frame_is_told_as_soon_as_it_is_whole(t *testing.T) {
	guard.Test(t, "the next event may come in an hour; who waits for its first byte, or for a full buffer, tells "+
		"this one in an hour", func(t *guard.T) {
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
		require.Equal(t, `{"a":1}`, got)
	})
}

func TestTask1_Small_buffer_gets_a_frame_in_parts(t *testing.T) {
	guard.Test(t, "as much as there is room for", func(t *guard.T) {
		f := watchstream.NewFrameReader(pieces(`{"a":"0123456789"}{"b":1}`))
		p := make([]byte, 8)
		t.Did("Read with room for 8 bytes of 18")
		n, err := f.Read(p)
		require.Equal(t, `{"a":"01`, string(p[:n]))
		t.Rule("the caller has to know that there is more of this frame")
		require.ErrorIs(t, err, io.ErrShortBuffer)
		t.Did("Read with room for 8 bytes of 10")
		n, err = f.Read(p)
		t.Rule("what follows")
		require.Equal(t, `23456789`, string(p[:n]))
		t.Rule("the caller has to know that there is more of this frame")
		require.ErrorIs(t, err, io.ErrShortBuffer)
		t.Did("Read with room for 8 bytes of 2")
		n, err = f.Read(p)
		t.Rule("the rest, and nothing of the next frame")
		require.Equal(t, `"}`, string(p[:n]))
		t.Rule("the frame is whole")
		require.NoError(t, err)
		t.Did("Read with room for 7 bytes of 7")
		n, err = f.Read(p[:7])
		t.Rule("the next frame begins anew")
		require.Equal(t, `{"b":1}`, string(p[:n]))
		t.Rule("a frame that just fits does fit")
		require.NoError(t, err)
	})
}

func TestTask1_Any_buffer_will_do(t *testing.T) {
	guard.Test(t, "the parts of a frame make the frame", func(t *guard.T) {
		text := `{"a":"}","b":["\\","\"{"]}`
		for size := 1; size <= len(text)+1; size++ {
			t.Did("buffers of %d bytes, and the stream comes in one piece, in some, and byte by byte", size)
			got, _ := frames(watchstream.NewFrameReader(pieces(text+text)), size)
			require.Equal(t, []string{text, text}, got)
			for cut := 2; cut < len(text); cut++ {
				got, _ = frames(watchstream.NewFrameReader(pieces(chunks(text+text, cut)...)), size)
				t.Rule("what a piece has more than there is room for is not lost")
				require.Equal(t, []string{text, text}, got)
			}
			got, _ = frames(watchstream.NewFrameReader(bytewise(text+text)), size)
			t.Rule("the parts of a frame make the frame")
			require.Equal(t, []string{text, text}, got)
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
	guard.Test(t, "a frame is as long as it is", func(t *guard.T) {
		large := `{"a":"` + strings.Repeat("x", 1<<20) + `"}`
		t.Did("a frame of 1 MiB, a small one, and another of 1 MiB")
		got, _ := frames(watchstream.NewFrameReader(pieces(large+"{}"+large)), 2<<20)
		require.Len(t, got, 3)
		t.Rule("the bytes are those of the stream; got lengths %d, %d, %d", len(got[0]), len(got[1]), len(got[2]))
		require.True(t, got[0] == large && got[1] == "{}" && got[2] == large)
	})
}

func TestTask1_Deep_frames(t *testing.T) {
	guard.Test(t, "a schema in a CustomResourceDefinition, a manifest in an annotation: nobody said how deep they "+
		"may be", func(t *guard.T) {
		deep := `{"a":` + strings.Repeat(`[`, 1000) + strings.Repeat(`]`, 1000) + `}`
		t.Did("a frame with 1000 brackets within each other, and a small one")
		got, _ := frames(watchstream.NewFrameReader(pieces(deep+"{}")), 4000)
		require.Equal(t, []string{deep, "{}"}, got)
	})
}

func TestTask1_Stream_that_breaks_off_says_so(t *testing.T) {
	guard.Test(t, "io.EOF means that all is well, and half an event is not", func(t *guard.T) {
		whole := `{"a":{"b":"c"}}`
		for i := 1; i < len(whole); i++ {
			t.Did("the stream ends after %s", whole[:i])
			_, err := frames(watchstream.NewFrameReader(pieces(whole[:i])), 1000)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
	})
}

func TestTask1_Error_comes_after_the_frames_before_it(t *testing.T) {
	guard.Test(t, "what has come has come; a Reader may return bytes and an error at once", func(t *guard.T) {
		broken := errors.New("the connection is gone")
		for _, together := range []bool{false, true} {
			for _, end := range []error{broken, io.EOF} {
				s := pieces(`{"a":1}{"b":2}`)
				s.err, s.together = end, together
				t.Did("two frames come, and then %v; in the same Read: %t", end, together)
				got, err := frames(watchstream.NewFrameReader(s), 1000)
				require.Equal(t, []string{`{"a":1}`, `{"b":2}`}, got)
				t.Rule("the error is that of the stream")
				require.ErrorIs(t, err, end)
			}
			s := pieces(`{"a":1}{"b":`)
			s.err, s.together = broken, together
			t.Did("a frame and a half come, and then an error; in the same Read: %t", together)
			_, err := frames(watchstream.NewFrameReader(s), 1000)
			t.Rule("only io.EOF has another name within a frame: whoever watches has to know a connection that is " +
				"cancelled from one that broke")
			require.ErrorIs(t, err, broken)
		}
	})
}

func TestTask1_What_is_no_object_is_an_error(t *testing.T) {
	guard.Test(t, "what came before is whole", func(t *guard.T) {
		for _, text := range []string{`nonsense`, `<html>`, `]`, `}`, `,{}`} {
			t.Did("%s", text)
			got, err := frames(watchstream.NewFrameReader(pieces(`{"a":1}`+text)), 1000)
			require.Equal(t, []string{`{"a":1}`}, got)
			t.Rule("a proxy's page, in the middle of a stream")
			require.Error(t, err)
			t.Rule("this is not how a stream ends")
			require.NotErrorIs(t, err, io.EOF)
		}
	})
}

func TestTask1_Close_closes_the_source(t *testing.T) {
	guard.Test(t, "the source has no objection", func(t *guard.T) {
		s := pieces("{}")
		t.Did("Close")
		require.NoError(t, watchstream.NewFrameReader(s).Close())
		t.Rule("the frame reader owns the body, and nobody else can close it")
		require.Equal(t, 1, s.closed)
	})
}
