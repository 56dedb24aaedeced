package watchstream

// This file makes a channel of events of a decoder, and sees to it that it ends: for the consumer, when the stream
// does; and for the stream, when the consumer has had enough. It mirrors apimachinery's watch/streamwatcher.go.

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/todo"
)

// StreamWatcher implements watch.Interface. One goroutine decodes and sends; it ends when the stream does, or after
// Stop. Its methods may be called from any goroutine.
type StreamWatcher struct {
	source   watch.Decoder
	reporter watch.Reporter
	// result has no room: an event that nobody takes must not look as if it had been told.
	result chan watch.Event
	// done is closed by Stop. Whoever sends also waits for it.
	done chan struct{}
	stop sync.Once
}

var _ watch.Interface = (*StreamWatcher)(nil)

// NewStreamWatcher returns a watcher that owns d and tells its events at once. Mirrors watch.NewStreamWatcher.
func NewStreamWatcher(d watch.Decoder, r watch.Reporter) *StreamWatcher {
	panic(todo.Task(3, "NewStreamWatcher"))
}

// ResultChan returns the channel of events, in the order in which they were decoded. It has no room: the next event is
// decoded when this one has been taken. It is closed after the last one: when the stream has ended, after an error, and
// after Stop.
//
// The end of the stream (io.EOF, io.ErrUnexpectedEOF, a time-out, and what else utilnet.IsProbableEOF means) is no
// event: watches end all the time. Any other error of the decoder is told as one event of type ERROR, whose object the
// reporter makes of it. Either way the decoder is closed. Mirrors watch.StreamWatcher.ResultChan.
func (w *StreamWatcher) ResultChan() <-chan watch.Event {
	panic(todo.Task(3, "StreamWatcher.ResultChan"))
}

// Stop closes the decoder, once however often it is called, and ends the channel. Nobody has to receive what is still
// to be sent: an event, or an error, that is being offered is dropped. Who still receives may get one more of them
// before the end, even the error that Decode returns because it was closed. Stop may be called while others call it.
// Mirrors watch.StreamWatcher.Stop.
func (w *StreamWatcher) Stop() {
	panic(todo.Task(4, "StreamWatcher.Stop"))
}
