package watchstream_test

// Task 2: events. Frames that are too large, and the memory of a decoder.

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/guard"
)

// framed is a frame reader that returns these frames.
type framed struct {
	frames []frame
	// most is the size of the largest buffer of a Read.
	most int
}

// frame is a text, followed by more zero bytes. If err is set, it replaces the frame's end.
type frame struct {
	text string
	more int
	err  error
}

func (f *framed) Read(p []byte) (int, error) {
	f.most = max(f.most, len(p))
	if len(f.frames) == 0 {
		return 0, io.EOF
	}
	next := &f.frames[0]
	n := copy(p, next.text)
	next.text = next.text[n:]
	rest := min(len(p)-n, next.more)
	next.more -= rest
	if n += rest; next.text != "" || next.more > 0 {
		return n, io.ErrShortBuffer
	}
	err := next.err
	f.frames = f.frames[1:]
	return n, err
}

func (f *framed) Close() error {
	f.frames = []frame{{err: io.ErrClosedPipe}}
	return nil
}

func decodeFrames(t *guard.T, f *framed) notedDecoder {
	return notedDecoder{watchstream.NewDecoder(f, watchstream.Objects()), t}
}

func TestTask2_16_MiB_are_an_event(t *testing.T) {
	guard.Test(t, "A frame may have up to 16 MiB.", func(t *guard.T) {
		t.Did("an event of exactly 16 MiB arrives, nearly all of it white space")
		text := event("ADDED", "web", "1")
		text = strings.TrimSuffix(text, "}") + strings.Repeat(" ", 16<<20-len(text)) + "}"
		require.Equal(t, "ADDED web@1", decodeFrames(t, &framed{frames: []frame{{text: text}}}).next(), "result of Decode")
		t.Did("an event of 5 MiB arrives, nearly all of it an annotation")
		d := decodeFrames(t, &framed{frames: []frame{{text: large(5 << 20)}}})
		require.Equal(t, "ADDED web@5242880", d.next(), "result of Decode of a large annotation")
	})
}

func TestTask2_More_than_16_MiB_is_too_large(t *testing.T) {
	const (
		tooLarge = "For a larger frame, Decode returns streaming.ErrObjectTooLarge, once. Without a limit, " +
			"one server can exhaust the memory of all its clients."
		behind = "The next Decode returns the event after it: the rest of the large frame is not an event, " +
			"however long it is."
	)
	guard.Test(t, tooLarge, func(t *guard.T) {
		for _, size := range []int{17 << 20, 16<<20 + 1, 32 << 20, 40 << 20, 100 << 20} {
			giant, small := frame{more: size}, frame{text: event("ADDED", "web", "1")}
			f := &framed{frames: []frame{giant, small, giant, giant, small}}
			d := decodeFrames(t, f)
			t.Did("a frame of %d bytes, an event, two more such frames, and an event", size)
			for i, isLarge := range []bool{true, false, true, true, false} {
				if isLarge {
					t.Rule(tooLarge)
					t.Did("Decode")
					_, _, err := d.Decode()
					require.ErrorIs(t, err, streaming.ErrObjectTooLarge, "the error of Decode %d", i+1)
				} else {
					t.Rule(behind)
					require.Equal(t, "ADDED web@1", d.next(), "result of Decode %d", i+1)
				}
			}
			t.Rule(tooLarge)
			require.LessOrEqual(t, f.most, 16<<20, "bytes of the largest buffer")
		}
	})
}

func TestTask2_Stream_ends_in_a_frame_that_is_too_large(t *testing.T) {
	guard.Test(t, "The next Decode returns the event after it, or the error that the frame reader returns before "+
		"that event.", func(t *guard.T) {
		for _, end := range []error{io.ErrUnexpectedEOF, io.EOF, errors.New("the connection is gone")} {
			d := decodeFrames(t, &framed{frames: []frame{{more: 40 << 20, err: end}}})
			t.Did("the stream ends after 40 MiB of a frame: %v", end)
			t.Did("Decode")
			_, _, err := d.Decode()
			require.ErrorIs(t, err, streaming.ErrObjectTooLarge, "the error of the 1st Decode")
			t.Did("Decode")
			_, _, err = d.Decode()
			require.Equal(t, end.Error(), asItIs(err, end), "the error of the 2nd Decode")
		}
	})
}

func TestTask2_Memory_grows_with_the_frames(t *testing.T) {
	guard.Test(t, "A decoder needs little memory until a large frame arrives: a program may have hundreds of "+
		"quiet watches.",
		func(t *guard.T) {
			before := inUse()
			d := decodeFrames(t, &framed{frames: []frame{{text: event("ADDED", "web", "1")}}})
			t.Did("an event of 0.1 kB arrives")
			require.Equal(t, "ADDED web@1", d.next(), "result of Decode")
			requireNoGrowth(t, before, "after an event of 0.1 kB")
			runtime.KeepAlive(d)
		})
}

func TestTask2_Frames_and_objects_are_not_kept(t *testing.T) {
	guard.Test(t, "It keeps no object, and no frame except the last one: in a week, a watch receives "+
		"gigabytes.", func(t *guard.T) {
		var many []frame
		for i := range 100 {
			many = append(many, frame{text: large(20_000 + i)})
		}
		d := decodeFrames(t, &framed{frames: many})
		before := inUse()
		var decoded []weak.Pointer[appsv1.Deployment]
		t.Did("100 events of 20 kB arrive")
		var failed error
		t.Go(func() { // its own stack, which keeps no object
			for range 100 {
				_, obj, err := d.Decode()
				if failed = err; failed != nil {
					return
				}
				decoded = append(decoded, weak.Make(obj.(*appsv1.Deployment)))
			}
		})
		synctest.Wait()
		require.NoError(t, failed, "the error of Decode")
		require.Equal(t, 0, inMemory(decoded), "objects of 100 events that are still in memory")
		requireNoGrowth(t, before, "after 100 events")
		runtime.KeepAlive(d)
	})
}

// meanwhile is a frame reader that calls a function before each Read returns.
type meanwhile struct {
	framed
	call func()
}

func (m *meanwhile) Read(p []byte) (int, error) {
	n, err := m.framed.Read(p)
	m.call()
	return n, err
}

func TestTask2_Decoders_share_nothing(t *testing.T) {
	guard.Test(t, "Decode returns the type and the object of the next event, whatever other decoders decode "+
		"meanwhile.", func(t *guard.T) {
		other := decodeFrames(t, &framed{frames: []frame{{text: event("DELETED", "db", "7")}}})
		frames := &meanwhile{framed: framed{frames: []frame{{text: event("ADDED", "web", "1")}}}}
		frames.call = func() { require.Equal(t, "DELETED db@7", other.next(), "result of the other decoder's Decode") }
		t.Did("while a decoder reads its frame, another one decodes an event")
		d := notedDecoder{watchstream.NewDecoder(frames, watchstream.Objects()), t}
		require.Equal(t, "ADDED web@1", d.next(), "result of Decode")
	})
}

func TestTask2_Close_while_another_goroutine_decodes(t *testing.T) {
	guard.Race(t, "Any goroutine may call Close, at any moment of a Decode: Close changes nothing that Decode uses.",
		func(t *guard.T) {
			d := watchstream.NewDecoder(&repeated{text: event("ADDED", "web", "1"), times: 1 << 30}, watchstream.Objects())
			t.Did("one goroutine decodes, and another one closes")
			guard.Storm(func(int) { d.Decode() }, func(int) { d.Close() })
		})
}

// inMemory returns how many of the objects are still in memory after a garbage collection.
func inMemory(objects []weak.Pointer[appsv1.Deployment]) (n int) {
	inUse()
	for _, p := range objects {
		if p.Value() != nil {
			n++
		}
	}
	return n
}
