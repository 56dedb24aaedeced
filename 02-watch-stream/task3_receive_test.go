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
	guard.Test(t, "The channel has each event once, in the order in which they were decoded: an older state after a "+
		"newer one takes the cache back in time.", func(t *guard.T) {
		var steps []step
		want := []string{}
		for i := range 50 {
			steps = append(steps, added(fmt.Sprint("web-", i)))
			want = append(want, fmt.Sprintf("ADDED web-%d@1", i))
		}
		t.Did("the decoder has 50 events, and then io.EOF")
		w := running(t, newScript(append(steps, fails(io.EOF))...))
		require.Equal(t, append(want, theEnd), all(w), "events received")
	})
}

func TestTask3_Event_comes_when_it_is_there(t *testing.T) {
	guard.Test(t, "An event is sent as soon as it is decoded, and the watch goes on.", func(t *guard.T) {
		s := newScript(added("web"))
		w := running(t, s)
		t.Did("the decoder has one event, and then it waits")
		require.Equal(t, []string{"ADDED web@1", nothing}, all(w), "events received")
		t.Did("another event comes")
		s.steps <- added("db")
		require.Equal(t, []string{"ADDED db@1", nothing}, all(w), "events received after another one came")
	})
}

func TestTask3_Nobody_receives_and_nothing_more_is_read(t *testing.T) {
	guard.Test(t, "The channel has no room: the next event is decoded when this one has been taken. Events that are "+
		"read too early fill the memory, and look as if they had been received.", func(t *guard.T) {
		s := newScript(added("a"), added("b"), added("c"))
		w := running(t, s)
		t.Did("the decoder has three events, and no consumer receives")
		synctest.Wait()
		require.Equal(t, 2, len(s.steps), "events left in the decoder before the 1st receive")
		t.Did("receive")
		require.Equal(t, "ADDED a@1", receive(w), "the 1st event")
		synctest.Wait()
		require.Equal(t, 1, len(s.steps), "events left in the decoder after the 1st receive")
	})
}

func TestTask3_End_of_the_stream_is_no_event(t *testing.T) {
	const (
		isNoEvent = "The end of a stream is not an error, and not an event: servers end watches all the time, " +
			"connections break, and the consumer watches again."
		isClosed = "At the end of the stream the decoder is closed, once. Otherwise its connection stays open."
	)
	guard.Test(t, isNoEvent, func(t *guard.T) {
		reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
		for _, end := range []error{
			io.EOF, io.ErrUnexpectedEOF, reset, context.DeadlineExceeded, os.ErrDeadlineExceeded,
		} {
			s := newScript(added("web"), fails(end))
			w := running(t, s)
			t.Did("the decoder has one event, and then: %v", end)
			t.Rule(isNoEvent)
			require.Equal(t, []string{"ADDED web@1", theEnd}, all(w), "events of a stream that ends with: %v", end)
			t.Rule(isClosed)
			require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close, after: %v", end)
		}
	})
}

func TestTask3_Other_errors_are_one_ERROR_and_the_end(t *testing.T) {
	guard.Test(t, "The events before an error are sent.", func(t *guard.T) {
		s := newScript(added("web"), fails(errors.New("no kind is set")), added("db"))
		w := running(t, s)
		t.Did("the decoder has one event, then an error, and would have another event")
		require.Equal(t, "ADDED web@1", receive(w), "the 1st event")
		failed := receive(w)
		t.Rule("An error other than the end of the stream becomes one event of type ERROR, whose object the reporter " +
			"makes of it. If it is swallowed, the watch ends for no reason (#73937).")
		require.Contains(t, failed, "ERROR ", "the 2nd event")
		require.Contains(t, failed, "no kind is set", "the 2nd event")
		t.Rule("After an error the channel is closed: events may be lost, so a later one cannot be trusted.")
		require.Equal(t, theEnd, receive(w), "the 3rd event")
		t.Rule("After an error the decoder is closed, once. Otherwise its connection stays open.")
		require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close")
	})
}

func TestTask3_ERROR_of_the_server_does_not_end_the_watch(t *testing.T) {
	guard.Test(t, "An event of type ERROR is an event like any other for this layer: the consumer decides what it "+
		"means.", func(t *guard.T) {
		expired := step{event: watch.Event{Type: watch.Error, Object: &metav1.Status{Message: "too old"}}}
		bookmark := step{event: watch.Event{Type: watch.Bookmark, Object: named("")}}
		t.Did("the decoder has an ERROR of the server, a BOOKMARK, an event, and then io.EOF")
		w := running(t, newScript(expired, bookmark, added("web"), fails(io.EOF)))
		require.Equal(t, []string{"ERROR too old", "BOOKMARK @1", "ADDED web@1", theEnd}, all(w), "events received")
	})
}

func TestTask3_ResultChan_is_always_the_same(t *testing.T) {
	guard.Test(t, "ResultChan returns the same channel each time: a loop may call it in each round.", func(t *guard.T) {
		w := running(t, newScript(added("web")))
		t.Did("ResultChan, twice")
		first, second := w.ResultChan(), w.ResultChan()
		require.True(t, first == second, "the 2nd ResultChan returns the channel of the 1st")
	})
}

func TestTask3_Channel_stays_closed(t *testing.T) {
	guard.Test(t, "The channel is closed after the last event, so that every receive sees the end.", func(t *guard.T) {
		w := running(t, newScript(fails(io.EOF)))
		t.Did("the decoder has io.EOF, and the consumer receives three times")
		require.Equal(t, []string{theEnd, theEnd, theEnd}, []string{receive(w), receive(w), receive(w)},
			"results of three receives")
	})
}
