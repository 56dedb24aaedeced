// Ten times, a program receives one event and stops the watch. Two more events are in the stream.
//
// Question: How many goroutines does the program have at the end?
//
// Wrong: send-ignores-stop
//
// Story: This is the outage of this chapter: the goroutine waits to send to a consumer that has gone. Kuberhealthy had
// hundreds of such goroutines, each with an event in its memory, and was killed every two days
// ([#98653](https://github.com/kubernetes/kubernetes/pull/98653)).
package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	const event = `{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1"}}`
	for range 10 {
		body := io.NopCloser(strings.NewReader(event + event + event))
		decoder := watchstream.NewDecoder(watchstream.NewFrameReader(body), watchstream.Objects())
		w := watchstream.NewStreamWatcher(decoder, nil)
		<-w.ResultChan()
		w.Stop()
	}
	for tries := 0; runtime.NumGoroutine() > 1 && tries < 500; tries++ {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("goroutines:", runtime.NumGoroutine())
}
