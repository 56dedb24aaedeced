package watchstream

// This file sends the events of a decoder on a channel. The channel ends with the stream, and the stream ends at Stop.
// It mirrors apimachinery's watch/streamwatcher.go.

import (
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/todo"
)

// StreamWatcher implements watch.Interface. One goroutine decodes and sends. It ends with the stream, or after Stop.
// Any goroutine may call the methods.
type StreamWatcher struct {
	source   watch.Decoder
	reporter watch.Reporter
	result   chan watch.Event
}

var _ watch.Interface = (*StreamWatcher)(nil)

// NewStreamWatcher returns a watcher of d's events, and owns d. It starts to decode at once, without a receiver.
//
// It mirrors watch.NewStreamWatcher.
func NewStreamWatcher(d watch.Decoder, r watch.Reporter) *StreamWatcher {
	panic(todo.Task(3, "NewStreamWatcher"))
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
func (w *StreamWatcher) ResultChan() <-chan watch.Event {
	panic(todo.Task(3, "StreamWatcher.ResultChan"))
}

// Stop ends the watch: when it returns, the decoder is closed, and the channel will close. It ends a Decode that waits
// for bytes, and a send that no consumer receives, of an event or of an error. It waits for nothing except the
// decoder's Close.
//
// Several goroutines may call Stop, more than once, and while the stream ends. The decoder is closed once. A call that
// does not close it may return while another one does. After Stop, a consumer that still receives may receive events
// that were read before, even the error of the closed stream.
//
// It mirrors watch.StreamWatcher.Stop.
func (w *StreamWatcher) Stop() {
	panic(todo.Task(4, "StreamWatcher.Stop"))
}
