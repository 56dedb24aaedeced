package watchstream

// This file makes a channel of events of a decoder, and sees to it that it ends: for the consumer, when the stream
// does; and for the stream, when the consumer has had enough. It mirrors apimachinery's watch/streamwatcher.go.
//
//workshop:file task 3

import (
	"errors"
	"fmt"
	"io"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
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
	w := &StreamWatcher{source: d, reporter: r, result: make(chan watch.Event), done: make(chan struct{})}
	go w.receive()
	return w
}

// ResultChan returns the channel of events, in the order in which they were decoded. It has no room: the next event is
// decoded when this one has been taken. It is closed after the last one: when the stream has ended, after an error, and
// after Stop.
//
// The end of the stream (io.EOF, io.ErrUnexpectedEOF, a time-out, and what else utilnet.IsProbableEOF means) is no
// event: watches end all the time. Any other error of the decoder is told as one event of type ERROR, whose object the
// reporter makes of it. Either way the decoder is closed. Mirrors watch.StreamWatcher.ResultChan.
func (w *StreamWatcher) ResultChan() <-chan watch.Event { return w.result }

// Stop closes the decoder, once however often it is called, and ends the channel. Nobody has to receive what is still
// to be sent: an event, or an error, that is being offered is dropped. Who still receives may get one more of them
// before the end, even the error that Decode returns because it was closed. Stop may be called while others call it.
// Mirrors watch.StreamWatcher.Stop.
//
//workshop:task 4
func (w *StreamWatcher) Stop() {
	w.stop.Do(func() {
		close(w.done)
		w.source.Close()
	})
}

// receive decodes and sends until there is nothing more, or nobody.
func (w *StreamWatcher) receive() {
	defer close(w.result)
	defer w.Stop()
	for {
		eventType, obj, err := w.source.Decode()
		if err != nil {
			if !ended(err) {
				err = fmt.Errorf("unable to decode an event from the watch stream: %w", err)
				w.send(watch.Event{Type: watch.Error, Object: w.reporter.AsObject(err)})
			}
			return
		}
		if !w.send(watch.Event{Type: eventType, Object: obj}) {
			return
		}
	}
}

// send offers an event, and says whether anybody may want another one.
func (w *StreamWatcher) send(e watch.Event) bool {
	select {
	case w.result <- e:
		return true
	case <-w.done:
		return false
	}
}

// ended says whether an error is the way in which a stream ends.
func ended(err error) bool {
	return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err)
}
