package watchstream_test

// This file has the helpers of chapter 02's tests: streams that arrive in pieces, decoders that follow a script, and
// consumers that may be slow. Tests use exported names only, so they run over your code, the solution and client-go.
//
// A test runs in a bubble (package synctest), in which time passes only when all goroutines wait. synctest.Wait returns
// when all other goroutines wait. An event that has not arrived by then does not arrive later without a new cause.

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/guard"
)

// source is a stream that arrives in these pieces, and ends with err, or with io.EOF if err is nil.
type source struct {
	pieces []string
	err    error
	// together makes Read return the error together with the last piece, as a Reader may.
	together bool
	reads    int
	closed   int
	closeErr error
}

func pieces(all ...string) *source { return &source{pieces: all} }

func (s *source) end() error {
	if s.err != nil {
		return s.err
	}
	return io.EOF
}

func (s *source) Read(p []byte) (int, error) {
	s.reads++
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

func (s *source) Close() error { s.closed++; return s.closeErr }

// bytewise cuts a text into single bytes.
func bytewise(text string) *source { return pieces(strings.Split(text, "")...) }

// frames reads all frames with a buffer of this many bytes. It returns them, and the error after them. With a buffer of
// no bytes it reads once.
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
			if buffer == 0 {
				return all, err
			}
		default:
			return all, err
		}
	}
	return all, errors.New("no end after 10,000 reads")
}

// event returns an event about a Deployment, as a server writes it.
func event(eventType, name, version string) string {
	const format = `{"type":%q,"object":{"kind":"Deployment","apiVersion":"apps/v1",` +
		`"metadata":{"name":%q,"resourceVersion":%q}}}`
	return fmt.Sprintf(format, eventType, name, version)
}

// notedDecoder is a decoder that records each call as a step of the test.
type notedDecoder struct {
	watch.Decoder
	t *guard.T
}

// decode returns a decoder of a stream, and closes it when the test is over.
func decode(t *guard.T, s io.ReadCloser) notedDecoder {
	d := watchstream.NewDecoder(watchstream.NewFrameReader(s), watchstream.Objects())
	t.Cleanup(d.Close)
	return notedDecoder{d, t}
}

// next describes the result of Decode: the event, "the end of the stream: " and the error, or "error: " and the error.
func (d notedDecoder) next() string {
	d.t.Did("Decode")
	eventType, obj, err := d.Decode()
	event := watch.Event{Type: eventType, Object: obj}
	switch {
	case err != nil && (obj != nil || eventType != ""):
		return "an error, and " + describe(event)
	case utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err):
		return fmt.Sprint("the end of the stream: ", err)
	case err != nil:
		return fmt.Sprint("error: ", err)
	}
	return describe(event)
}

// requireError asserts that Decode returns an error and no event. The end of the stream is not such an error.
func (d notedDecoder) requireError(what string) {
	d.t.Helper()
	result, _, _ := strings.Cut(d.next(), ": ")
	require.Equal(d.t, "error", result, "result of Decode for "+what)
}

// describe returns an event as text: "ADDED web@1".
func describe(e watch.Event) string {
	switch obj := e.Object.(type) {
	case *appsv1.Deployment:
		return fmt.Sprintf("%s %s@%s", e.Type, obj.Name, obj.ResourceVersion)
	case *metav1.Status:
		return fmt.Sprintf("%s %s", e.Type, obj.Message)
	}
	return fmt.Sprintf("%s %T", e.Type, e.Object)
}

// script is a watch.Decoder that returns one step after another. Without a step it waits until it is closed.
type script struct {
	steps  chan step
	once   sync.Once
	closed chan struct{}
	// gate, if set, blocks Close until gate is closed. deaf makes Decode ignore Close.
	gate chan struct{}
	deaf bool

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
	closed := s.closed
	if s.deaf {
		closed = nil
	}
	select {
	case step := <-s.steps:
		return step.event.Type, step.event.Object, step.err
	case <-closed:
		return "", nil, errors.New("use of a closed stream")
	}
}

func (s *script) Close() {
	s.lock.Lock()
	s.closes++
	s.lock.Unlock()
	if s.gate != nil {
		<-s.gate
	}
	s.once.Do(func() { close(s.closed) })
}

// timesClosed returns how often Close was called.
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

// reporter makes a Status from an error. It implements watch.Reporter. gate, if set, blocks it until gate is closed.
type reporter struct{ gate chan struct{} }

func (r reporter) AsObject(err error) runtime.Object {
	if r.gate != nil {
		<-r.gate
	}
	return &metav1.Status{Message: "reported: " + err.Error()}
}

// watching starts a StreamWatcher on a script, and stops it when the test is over.
func watching(t *guard.T, s *script) watch.Interface {
	w := watchstream.NewStreamWatcher(s, reporter{})
	t.Cleanup(func() {
		t.Rule("One goroutine decodes and sends. It ends with the stream, or after Stop.")
		w.Stop()
	})
	return w
}

// running starts a StreamWatcher on a script, for tests of tasks before Stop is written. When the test is over, the
// stream ends, and the remaining events are received.
func running(t *guard.T, s *script) watch.Interface {
	w := watchstream.NewStreamWatcher(s, reporter{})
	t.Cleanup(func() {
		s.steps <- fails(io.EOF)
		all(w)
	})
	return w
}

const (
	nothing = "nothing, the channel is open"
	theEnd  = "the end"
)

// receive returns the next result of the channel as text: an event, theEnd, or nothing.
func receive(w watch.Interface) string {
	synctest.Wait()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			return theEnd
		}
		return describe(e)
	default:
		return nothing
	}
}

// all receives until the end, or until no event arrives.
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
