package watchstream_test

// Task 3: the receive loop.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Events_come_in_order(t *testing.T) {
	guard.Apart(t, "Each event is sent once, in the order of decoding. An old state after a newer one takes the "+
		"cache back in time.", func(t *guard.T) {
		var steps []step
		want := []string{}
		types := []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error, "FUTURE"}
		for i := range 50 {
			obj := named(fmt.Sprint("web-", i))
			obj.ResourceVersion = strconv.Itoa(100 - i)
			next := watch.Event{Type: types[i%len(types)], Object: obj}
			steps = append(steps, step{event: next})
			want = append(want, describe(next))
		}
		t.Did("the decoder has 50 events of all types, each with a smaller version than the one before")
		s := newScript(steps...)
		w := running(t, s)
		require.Equal(t, append(want, nothing), all(w), "events received")
		t.Rule("After an error of the decoder, the watcher closes the decoder once, and then the channel. Go panics if " +
			"a channel is closed twice, and the program ends.")
		t.Did("the decoder returns io.EOF")
		s.steps <- fails(io.EOF)
		require.Equal(t, []string{theEnd}, all(w), "events received after io.EOF")
	})
}

func TestTask3_Event_is_sent_at_once(t *testing.T) {
	guard.Test(t, "An event is sent as soon as it is decoded, and the watch goes on.", func(t *guard.T) {
		s := newScript(added("web"))
		w := running(t, s)
		t.Did("the decoder has one event, and then it waits")
		require.Equal(t, []string{"ADDED web@1", nothing}, all(w), "events received")
		t.Did("another event arrives")
		s.steps <- added("db")
		require.Equal(t, []string{"ADDED db@1", nothing}, all(w), "events received after another event arrived")
	})
}

func TestTask3_Next_event_is_not_decoded_early(t *testing.T) {
	guard.Test(t, "The channel has no buffer: the next event is decoded when this one has been received. Events "+
		"that are decoded early use memory, and look as if the consumer had received them.", func(t *guard.T) {
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

func TestTask3_End_of_the_stream_is_not_an_event(t *testing.T) {
	const (
		isNoEvent = "The end of the stream is not an event. Servers end watches all the time, connections " +
			"break, and the consumer watches again."
		which = "Each error for which utilnet.IsProbableEOF or utilnet.IsTimeout returns true is the end of " +
			"the stream, io.EOF among them."
		isClosed = "After an error of the decoder, the watcher closes the decoder once, and then the " +
			"channel. Otherwise the connection stays open."
	)
	guard.Test(t, isNoEvent, func(t *guard.T) {
		reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
		for i, end := range []error{
			io.EOF, io.ErrUnexpectedEOF, reset, context.DeadlineExceeded, os.ErrDeadlineExceeded,
			&url.Error{Op: "Get", URL: "/apis", Err: io.EOF}, &url.Error{Op: "Get", URL: "/apis", Err: reset},
			&net.DNSError{Err: "i/o timeout", IsTimeout: true}, fmt.Errorf("read: %w", os.ErrDeadlineExceeded),
			&net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed},
			errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1999, ErrCode=NO_ERROR"),
			errors.New("http: can't write HTTP request on broken connection"),
			errors.New("stream error: connection reset by peer"), errors.New("tls: use of closed network connection"),
		} {
			s := newScript(added("web"), fails(end))
			w := running(t, s)
			t.Did("the decoder has one event, and then: %v", end)
			if t.Rule(isNoEvent); i > 0 {
				t.Rule(which)
			}
			require.Equal(t, []string{"ADDED web@1", theEnd}, all(w), "events of a stream that ends with: %v", end)
			t.Rule(isClosed)
			require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close, after: %v", end)
		}
	})
}

func TestTask3_Other_errors_are_one_ERROR_and_the_end(t *testing.T) {
	const (
		inOrder = "Each event is sent once, in the order of decoding, before an error too."
		becomes = "Any other error of the decoder becomes one ERROR event. Without it, the watch ends, and " +
			"the consumer does not know why (#73937)."
		reported = "The reporter makes its object from an error whose text contains the decoder's error."
		closes   = "After an error of the decoder, the watcher closes the decoder once, and then the " +
			"channel. An event may be lost, so later ones must not be sent."
	)
	guard.Test(t, inOrder, func(t *guard.T) {
		for _, failure := range []error{
			errors.New("no kind is set"), streaming.ErrObjectTooLarge, context.Canceled,
			fmt.Errorf("unable to decode: %w", io.EOF), errors.New("unexpected EOF in a string"),
			errors.New("http2: client connection lost"), io.ErrClosedPipe,
			errors.New("the field timeout has a wrong type"), os.NewSyscallError("connect", syscall.ECONNREFUSED),
			fmt.Errorf("unable to decode: %w", io.ErrUnexpectedEOF), os.NewSyscallError("write", syscall.EPIPE),
			errors.New("http2: Transport received Server's graceful shutdown GOAWAY"),
			errors.New("no kind \"Web\" is registered\nfor version v9"), apierrors.NewTimeoutError("busy", 1),
			apierrors.NewTooManyRequests("busy", 1),
			errors.New("no kind is set in " + strings.Repeat("x", 2000)), apierrors.NewResourceExpired("too old"),
			errors.New("etcdserver: request timed out"), errors.New("the quota is used to 100%: no kind is set"),
			errors.New("rpc error: code = DeadlineExceeded desc = context deadline exceeded"),
			http.ErrBodyReadAfterClose, io.ErrNoProgress, &net.DNSError{Err: "server misbehaving", IsTemporary: true},
			&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.EHOSTUNREACH)},
		} {
			half := step{event: added("half").event, err: failure}
			s := newScript(added("web"), half, added("db"))
			w := running(t, s)
			t.Did("the decoder has one event, then an error, and would have another event: %v", failure)
			t.Rule(inOrder)
			require.Equal(t, "ADDED web@1", receive(w), "the 1st event")
			failed := receive(w)
			t.Rule(becomes)
			require.Contains(t, failed, "ERROR ", "the 2nd event")
			t.Rule(reported)
			require.Contains(t, failed, "ERROR reported: ", "the 2nd event")
			require.Contains(t, failed, failure.Error(), "the 2nd event")
			t.Rule(closes)
			require.Equal(t, theEnd, receive(w), "the 3rd event")
			require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close")
		}
		t.Did("the decoder fails, and the reporter makes a Deployment of the error")
		w := watchstream.NewStreamWatcher(newScript(fails(errors.New("no kind is set"))), reporting{named("failed")})
		t.Rule(reported)
		require.Equal(t, []string{"ERROR failed@1", theEnd}, all(w), "events received")
	})
}

func TestTask3_Error_with_a_whole_object_keeps_its_text(t *testing.T) {
	guard.Test(t, "The reporter makes its object from an error whose text contains the decoder's error, however "+
		"long. For an object without a kind, apimachinery's error contains the whole object.", func(t *guard.T) {
		for _, size := range []int{10 << 10, 100 << 10, 2 << 20} {
			failure := runtime.NewMissingKindErr(`{"data":"` + strings.Repeat("x", size) + `"}`)
			w := running(t, newScript(fails(failure)))
			t.Did("the decoder has an error with a text of %d bytes", len(failure.Error()))
			failed := receive(w)
			require.True(t, strings.Contains(failed, failure.Error()),
				"a text of %d bytes contains the decoder's error of %d bytes", len(failed), len(failure.Error()))
		}
	})
}

// reporting is a reporter that makes this object from each error.
type reporting struct{ object runtime.Object }

func (r reporting) AsObject(error) runtime.Object { return r.object }

func TestTask3_ERROR_of_the_server_does_not_end_the_watch(t *testing.T) {
	guard.Test(t, "An ERROR event of the decoder is an event like any other: the consumer decides what it "+
		"means.", func(t *guard.T) {
		failed := func(message string, reason metav1.StatusReason, code int32) step {
			status := &metav1.Status{Status: metav1.StatusFailure, Message: message, Reason: reason, Code: code}
			return step{event: watch.Event{Type: watch.Error, Object: status}}
		}
		expired := failed("too old", metav1.StatusReasonExpired, 410)
		gone, busy := failed("gone", metav1.StatusReasonGone, 410), failed("busy", metav1.StatusReasonInternalError, 500)
		bookmark := step{event: watch.Event{Type: watch.Bookmark, Object: named("")}}
		t.Did("the decoder has three ERRORs of the server, a BOOKMARK, an event, and then it waits")
		s := newScript(expired, gone, busy, bookmark, added("web"))
		w := running(t, s)
		want := []string{"ERROR too old", "ERROR gone", "ERROR busy", "BOOKMARK @1", "ADDED web@1", nothing}
		require.Equal(t, want, all(w), "events received")
		require.Equal(t, 0, s.timesClosed(), "calls of the decoder's Close")
	})
}

func TestTask3_ResultChan_is_always_the_same(t *testing.T) {
	guard.Test(t, "ResultChan returns the channel of events, the same one each time. A loop may call it for each "+
		"event.", func(t *guard.T) {
		w := running(t, newScript(added("web")))
		t.Did("ResultChan, twice")
		first, second := w.ResultChan(), w.ResultChan()
		require.True(t, first == second, "the 2nd ResultChan returns the channel of the 1st")
	})
}

func TestTask3_Decoder_is_closed_before_the_channel(t *testing.T) {
	guard.Test(t, "After an error of the decoder, the watcher closes the decoder once, and then the channel. So "+
		"a consumer that sees the end and watches again does not have two connections.", func(t *guard.T) {
		s := newScript(fails(io.EOF))
		s.gate = make(chan struct{})
		w := watchstream.NewStreamWatcher(s, reporter{})
		t.Did("the decoder has io.EOF, and its Close takes a while")
		got := receive(w)
		close(s.gate)
		end := receive(w)
		require.Equal(t, nothing, got, "result of receive while the decoder is being closed")
		require.Equal(t, theEnd, end, "result of receive after the decoder is closed")
	})
}

func TestTask3_Decoding_starts_at_once(t *testing.T) {
	guard.Test(t, "It starts to decode at once, without a receiver: the server must not wait for the client.",
		func(t *guard.T) {
			s := newScript(added("web"))
			t.Did("NewStreamWatcher")
			w := running(t, s)
			synctest.Wait()
			require.Equal(t, 0, len(s.steps), "events left in the decoder")
			require.Equal(t, "ADDED web@1", receive(w), "the event received")
		})
}

func TestTask3_A_quiet_week(t *testing.T) {
	guard.Test(t, "A watcher waits for the decoder and for the consumer as long as it takes. A watch may be "+
		"quiet, and a consumer may be slow.", func(t *guard.T) {
		s := newScript()
		w := running(t, s)
		t.Did("no event arrives for three days")
		before := wakeUps()
		time.Sleep(3 * 24 * time.Hour)
		require.Equal(t, nothing, receive(w), "result of receive after three days")
		t.Did("an event arrives, and the consumer receives it four days later")
		s.steps <- added("web")
		time.Sleep(4 * 24 * time.Hour)
		require.Equal(t, []string{"ADDED web@1", nothing}, all(w), "events received")
		require.Equal(t, 0, s.timesClosed(), "calls of the decoder's Close")
		t.Did("the decoder fails, and the consumer receives the error a day later")
		s.steps <- fails(errors.New("no kind is set"))
		time.Sleep(24 * time.Hour)
		require.Contains(t, receive(w), "ERROR ", "the event received a day after the error")
		t.Rule("While it waits, no goroutine wakes up: a program may have hundreds of quiet watches.")
		require.Less(t, wakeUps()-before, uint64(500), "wake-ups of goroutines in a week")
	})
}

// wakeUps returns about an eighth of how often a goroutine of this process has started to run. The runtime counts only
// every eighth time.
func wakeUps() (n uint64) {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	for _, count := range sample[0].Value.Float64Histogram().Counts {
		n += count
	}
	return n
}

func TestTask3_Received_events_are_not_kept(t *testing.T) {
	guard.Test(t, "The watcher does not keep events that were received: in a week, a watch receives "+
		"gigabytes.", func(t *guard.T) {
		s := newScript()
		w := running(t, s)
		var received []weak.Pointer[appsv1.Deployment]
		t.Did("100 events arrive and are received")
		t.Go(func() { // its own stack, which keeps no object
			for range 100 {
				s.steps <- added("web")
				e := <-w.ResultChan()
				received = append(received, weak.Make(e.Object.(*appsv1.Deployment)))
			}
		})
		synctest.Wait()
		require.Equal(t, 0, inMemory(received), "objects of 100 events that are still in memory")
	})
}
