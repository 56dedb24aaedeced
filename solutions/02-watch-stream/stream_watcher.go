package watchstream

// This file sends the events of a decoder on a channel. The channel ends with the stream, and the stream ends at Stop.
// It mirrors apimachinery's watch/streamwatcher.go.
//
//workshop:file task 3

import (
	"fmt"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
)

// StreamWatcher implements watch.Interface. One goroutine decodes and sends. It ends with the stream, or after Stop.
// Any goroutine may call the methods.
type StreamWatcher struct {
	source   watch.Decoder
	reporter watch.Reporter
	result   chan watch.Event
	// done is closed at the end. Each send also waits for it.
	//
	//workshop:omit
	done chan struct{}
	// stop makes sure that only one goroutine closes done and the decoder.
	//
	//workshop:omit
	stop sync.Once
}

var _ watch.Interface = (*StreamWatcher)(nil)

// NewStreamWatcher returns a watcher of d's events, and owns d. It starts to decode at once, without a receiver.
//
// It mirrors watch.NewStreamWatcher.
func NewStreamWatcher(d watch.Decoder, r watch.Reporter) *StreamWatcher {
	w := &StreamWatcher{source: d, reporter: r, result: make(chan watch.Event), done: make(chan struct{})}
	go w.receive()
	return w
}

// ResultChan returns the channel of events, the same one each time. Each event is sent once, in the order of decoding.
// An event is sent as soon as it is decoded. An ERROR event of the decoder is an event like any other.
//
// The channel has no buffer: the next event is decoded when this one has been received. The watcher does not keep
// events that were received. A watcher waits for the decoder and for the consumer as long as it takes. While it waits,
// no goroutine wakes up.
//
// The end of the stream is not an event. Each error for which utilnet.IsProbableEOF or utilnet.IsTimeout returns true
// is the end of the stream, io.EOF among them. Any other error of the decoder becomes one ERROR event. The reporter
// makes its object from an error whose text contains the decoder's error. After an error of the decoder, the watcher
// closes the decoder once, and then the channel.
//
// It mirrors watch.StreamWatcher.ResultChan.
func (w *StreamWatcher) ResultChan() <-chan watch.Event { return w.result }

// Stop ends the watch: when it returns, the decoder is closed, and the channel will close. It ends a Decode that waits
// for bytes, and a send that no consumer receives, of an event or of an error. It waits for nothing except the
// decoder's Close.
//
// Several goroutines may call Stop, more than once, and while the stream ends. The decoder is closed once. A call that
// does not close it may return while another one does. After Stop, a consumer that still receives may receive events
// that were read before, even the error of the closed stream.
//
// It mirrors watch.StreamWatcher.Stop.
//
//workshop:task 4
func (w *StreamWatcher) Stop() { w.end() }

// end closes the decoder and ends a send, once. The receive loop calls it too, at the end of the stream.
func (w *StreamWatcher) end() {
	w.stop.Do(func() {
		close(w.done)
		w.source.Close()
	})
}

// receive decodes and sends until the stream ends or Stop is called. Only this goroutine sends on the channel, so only
// it closes the channel.
func (w *StreamWatcher) receive() {
	defer close(w.result)
	defer w.end()
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

// send sends an event, unless Stop comes first, and reports whether the consumer has received it.
func (w *StreamWatcher) send(e watch.Event) bool {
	select {
	case w.result <- e:
		return true
	case <-w.done:
		return false
	}
}

// ended reports whether an error means the end of the stream.
func ended(err error) bool {
	return utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err)
}
