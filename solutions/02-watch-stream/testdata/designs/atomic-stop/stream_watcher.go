package watchstream

// This design stops with a context, and an atomic flag decides which Stop closes the decoder. The solution has a channel
// and a sync.Once. This design is correct because the flag changes once, and each send also waits for the context.

import (
	"context"
	"fmt"
	"sync/atomic"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
)

// StreamWatcher implements watch.Interface.
type StreamWatcher struct {
	source   watch.Decoder
	reporter watch.Reporter
	result   chan watch.Event
	ctx      context.Context
	cancel   context.CancelFunc
	stopped  atomic.Bool
}

var _ watch.Interface = (*StreamWatcher)(nil)

// NewStreamWatcher returns a watcher of d's events.
func NewStreamWatcher(d watch.Decoder, r watch.Reporter) *StreamWatcher {
	w := &StreamWatcher{source: d, reporter: r, result: make(chan watch.Event)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	go w.receive()
	return w
}

// ResultChan returns the channel of events.
func (w *StreamWatcher) ResultChan() <-chan watch.Event { return w.result }

// Stop ends the watch.
func (w *StreamWatcher) Stop() {
	if w.stopped.CompareAndSwap(false, true) {
		w.cancel()
		w.source.Close()
	}
}

func (w *StreamWatcher) receive() {
	for w.ctx.Err() == nil {
		event, last := w.next()
		if event != nil {
			w.send(*event)
		}
		if last {
			break
		}
	}
	w.Stop()
	close(w.result)
}

// next returns an event, or nil if there is none, and whether it is the last one.
func (w *StreamWatcher) next() (event *watch.Event, last bool) {
	eventType, obj, err := w.source.Decode()
	switch {
	case err == nil:
		return &watch.Event{Type: eventType, Object: obj}, false
	case utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err):
		return nil, true
	}
	err = fmt.Errorf("read the stream: %w", err)
	return &watch.Event{Type: watch.Error, Object: w.reporter.AsObject(err)}, true
}

func (w *StreamWatcher) send(e watch.Event) {
	select {
	case w.result <- e:
	case <-w.ctx.Done():
	}
}
