// A program stops a watch when its work is done, and a deferred Stop follows.
//
// Question: How often is the body closed?
//
// Wrong: stop-closes-again
//
// Story: Callers stop a watch at several places: after a loop, in a defer, in a handler for SIGTERM. The body of an
// HTTP response accepts a second Close, so nothing happens for a long time. Another decoder closes a channel in its
// Close. Then the second Stop panics with `close of closed channel`, in the middle of a clean shutdown.
package main

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/watch"

	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	b := &body{Reader: strings.NewReader("")}
	decoder := watchstream.NewDecoder(watchstream.NewFrameReader(b), watchstream.Objects())
	work(watchstream.NewStreamWatcher(decoder, nil))
	fmt.Println("closed:", b.closed)
}

func work(w watch.Interface) {
	defer w.Stop()
	for range w.ResultChan() {
	}
	w.Stop()
}

type body struct {
	io.Reader
	closed int
}

func (b *body) Close() error { b.closed++; return nil }
