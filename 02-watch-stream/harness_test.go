package watchstream_test

// This file is what the tests of chapter 02 are written with: streams that come in pieces, decoders that say what they are
// told to, and consumers that may be slow. Tests see exported names only, so they run over your code, the solution and
// client-go.
//
// A test runs in a bubble (package synctest), in which time passes only when everybody waits. synctest.Wait returns when
// all others wait, so what has not happened by then never will by itself.

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/guard"
)

// source is a stream that comes in these pieces, and ends with err, or io.EOF.
type source struct {
	pieces []string
	err    error
	// together returns the error along with the last piece, as a Reader may.
	together bool
	closed   int
}

func pieces(all ...string) *source { return &source{pieces: all} }

func (s *source) end() error {
	if s.err != nil {
		return s.err
	}
	return io.EOF
}

func (s *source) Read(p []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, s.end()
	}
	n := copy(p, s.pieces[0])
	if s.pieces[0] = s.pieces[0][n:]; s.pieces[0] == "" {
		s.pieces = s.pieces[1:]
	}
	if len(s.pieces) == 0 && s.together {
		return n, s.end()
	}
	return n, nil
}

func (s *source) Close() error { s.closed++; return nil }

// bytewise cuts a text into single bytes.
func bytewise(text string) *source { return pieces(strings.Split(text, "")...) }

// frames reads all frames, and how it ended. It never reads more than is good for a test.
func frames(r io.Reader, buffer int) (all []string, err error) {
	all = []string{}
	frame := ""
	for range 10_000 {
		p := make([]byte, buffer)
		n, err := r.Read(p)
		frame += string(p[:n])
		switch err {
		case nil:
			all, frame = append(all, frame), ""
		case io.ErrShortBuffer:
		default:
			return all, err
		}
	}
	return all, errors.New("it never ends")
}

// event is an event about a Deployment, as it comes over the wire.
func event(kind, name, version string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":%q,"resourceVersion":%q}}}`, kind, name, version)
}

// told is a decoder, and notes what is done with it.
type told struct {
	watch.Decoder
	t *guard.T
}

// decode makes a decoder of a stream.
func decode(t *guard.T, s io.ReadCloser) told {
	return told{watchstream.NewDecoder(watchstream.NewFrameReader(s), watchstream.Objects()), t}
}

// next says what Decode returns: the event, or the error.
func (d told) next() string {
	d.t.Did("Decode")
	kind, obj, err := d.Decode()
	if err != nil {
		return "error"
	}
	return say(watch.Event{Type: kind, Object: obj})
}

// say writes an event down.
func say(e watch.Event) string {
	switch obj := e.Object.(type) {
	case *appsv1.Deployment:
		return fmt.Sprintf("%s %s@%s", e.Type, obj.Name, obj.ResourceVersion)
	case *metav1.Status:
		return fmt.Sprintf("%s %s", e.Type, obj.Message)
	}
	return fmt.Sprintf("%s %T", e.Type, e.Object)
}

// script is a watch.Decoder that returns one step after another, and waits when there are none, until it is closed.
type script struct {
	steps  chan step
	once   sync.Once
	closed chan struct{}

	lock   sync.Mutex
	closes int
}

type step struct {
	event watch.Event
	err   error
}

func newScript(steps ...step) *script {
	s := &script{steps: make(chan step, 100), closed: make(chan struct{})}
	for _, step := range steps {
		s.steps <- step
	}
	return s
}

func (s *script) Decode() (watch.EventType, runtime.Object, error) {
	select {
	case step := <-s.steps:
		return step.event.Type, step.event.Object, step.err
	default:
	}
	select {
	case step := <-s.steps:
		return step.event.Type, step.event.Object, step.err
	case <-s.closed:
		return "", nil, errors.New("use of a closed stream")
	}
}

func (s *script) Close() {
	s.lock.Lock()
	s.closes++
	s.lock.Unlock()
	s.once.Do(func() { close(s.closed) })
}

// timesClosed is how often Close was called.
func (s *script) timesClosed() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.closes
}

func added(name string) step { return step{event: watch.Event{Type: watch.Added, Object: named(name)}} }
func fails(err error) step   { return step{err: err} }

func named(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}}
}

// reporter makes a Status of an error. It implements watch.Reporter.
type reporter struct{}

func (reporter) AsObject(err error) runtime.Object { return &metav1.Status{Message: err.Error()} }

// watching starts a StreamWatcher on a script. When the test is over it is stopped.
func watching(t *guard.T, s *script) watch.Interface {
	w := watchstream.NewStreamWatcher(s, reporter{})
	t.Cleanup(w.Stop)
	return w
}

// running starts a StreamWatcher on a script, for tests that come before Stop is written: when the test is over the stream
// ends, and whatever is still told is taken.
func running(t *guard.T, s *script) watch.Interface {
	w := watchstream.NewStreamWatcher(s, reporter{})
	t.Cleanup(func() {
		s.steps <- fails(io.EOF)
		all(w)
	})
	return w
}

const (
	nothing = "nothing: it waits"
	theEnd  = "the end"
)

// receive says what comes next: an event, the end, or nothing.
func receive(w watch.Interface) string {
	synctest.Wait()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			return theEnd
		}
		return say(e)
	default:
		return nothing
	}
}

// all receives until the end, or until nothing comes any more.
func all(w watch.Interface) []string {
	var events []string
	for range 1000 {
		e := receive(w)
		events = append(events, e)
		if e == theEnd || e == nothing {
			break
		}
	}
	return events
}
