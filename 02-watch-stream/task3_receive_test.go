package watchstream_test

// Task 3: the receive loop.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Events_come_in_order(t *testing.T) {
	guard.Test(t, "each event once, in the order of the stream: an older state after a newer one takes the cache "+
		"back in time", func(t *guard.T) {
		var steps []step
		want := []string{}
		for i := range 50 {
			steps = append(steps, added(fmt.Sprint("web-", i)))
			want = append(want, fmt.Sprintf("ADDED web-%d@1", i))
		}
		t.Did("the decoder has 50 events, and then io.EOF")
		w := running(t, newScript(append(steps, fails(io.EOF))...))
		require.Equal(t, append(want, theEnd), all(w))
	})
}

func TestTask3_Event_comes_when_it_is_there(t *testing.T) {
	guard.Test(t, "an event is told at once, and the watch goes on", func(t *guard.T) {
		s := newScript(added("web"))
		w := running(t, s)
		t.Did("the decoder has one event, and then it waits")
		require.Equal(t, []string{"ADDED web@1", nothing}, all(w))
		t.Did("another event comes")
		s.steps <- added("db")
		require.Equal(t, []string{"ADDED db@1", nothing}, all(w))
	})
}

func TestTask3_Nobody_receives_and_nothing_more_is_read(t *testing.T) {
	guard.Test(t, "events that the decoder still has: one was decoded, and is offered; what is read before "+
		"anybody wants it fills the memory, and looks as if it had been told", func(t *guard.T) {
		s := newScript(added("a"), added("b"), added("c"))
		w := running(t, s)
		t.Did("the decoder has three events, and nobody receives")
		synctest.Wait()
		require.Equal(t, 2, len(s.steps))
		t.Rule("somebody receives, and the next event is read")
		require.Equal(t, "ADDED a@1", receive(w))
		synctest.Wait()
		t.Rule("events that the decoder still has: one was told, and the next one is offered")
		require.Equal(t, 1, len(s.steps))
	})
}

func TestTask3_End_of_the_stream_is_no_event(t *testing.T) {
	guard.Test(t, "servers end watches all the time, and connections break; who watches begins again, and has "+
		"nothing to report", func(t *guard.T) {
		reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
		for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, reset, context.DeadlineExceeded, os.ErrDeadlineExceeded} {
			s := newScript(added("web"), fails(end))
			w := running(t, s)
			t.Did("the decoder has one event, and then: %v", end)
			require.Equal(t, []string{"ADDED web@1", theEnd}, all(w))
			t.Rule("the stream is closed, or its connection stays open")
			require.Equal(t, 1, s.timesClosed())
		}
	})
}

func TestTask3_Other_errors_are_one_ERROR_and_the_end(t *testing.T) {
	guard.Test(t, "what came before the error is told", func(t *guard.T) {
		s := newScript(added("web"), fails(errors.New("no kind is set")), added("db"))
		w := running(t, s)
		t.Did("the decoder has one event, then an error, and would have another event")
		require.Equal(t, "ADDED web@1", receive(w))
		failed := receive(w)
		t.Rule("an error that is swallowed is a watch that has ended for no reason (#73937)")
		require.Contains(t, failed, "ERROR ")
		t.Rule("the reporter gets the cause")
		require.Contains(t, failed, "no kind is set")
		t.Rule("nobody knows what was lost, so nothing that comes after can be trusted")
		require.Equal(t, theEnd, receive(w))
		t.Rule("the stream is closed, or its connection stays open")
		require.Equal(t, 1, s.timesClosed())
	})
}

func TestTask3_ERROR_of_the_server_does_not_end_the_watch(t *testing.T) {
	guard.Test(t, "what the server says is passed on, whatever it is; who watches decides what it means", func(t *guard.T) {
		expired := step{event: watch.Event{Type: watch.Error, Object: &metav1.Status{Message: "too old"}}}
		bookmark := step{event: watch.Event{Type: watch.Bookmark, Object: named("")}}
		t.Did("the decoder has an ERROR of the server, a BOOKMARK, an event, and then io.EOF")
		w := running(t, newScript(expired, bookmark, added("web"), fails(io.EOF)))
		require.Equal(t, []string{"ERROR too old", "BOOKMARK @1", "ADDED web@1", theEnd}, all(w))
	})
}

func TestTask3_ResultChan_is_always_the_same(t *testing.T) {
	guard.Test(t, "a loop that calls it each time round must not get another channel each time", func(t *guard.T) {
		w := running(t, newScript(added("web")))
		t.Did("ResultChan, twice")
		require.True(t, w.ResultChan() == w.ResultChan())
	})
}

func TestTask3_Channel_stays_closed(t *testing.T) {
	guard.Test(t, "a closed channel says so to everyone who asks", func(t *guard.T) {
		w := running(t, newScript(fails(io.EOF)))
		t.Did("the decoder has io.EOF, and the channel is asked three times")
		require.Equal(t, []string{theEnd, theEnd, theEnd}, []string{receive(w), receive(w), receive(w)})
	})
}
