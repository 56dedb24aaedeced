// A connection breaks in the middle of an event, and the HTTP client reports io.EOF.
//
// Question: Which errors does the program print?
//
// Wrong: break-is-an-end
//
// Story: io.EOF says that the stream is complete. If a reader also returns it for half an event, its caller cannot
// distinguish a watch that the server has ended from one that broke. During an outage the logs then say that all
// watches ended normally.
package main

import (
	"fmt"
	"io"
	"strings"

	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	for _, stream := range []string{`{"event":1}`, `{"event":1}{"eve`} {
		frames := watchstream.NewFrameReader(io.NopCloser(strings.NewReader(stream)))
		p := make([]byte, 100)
		frames.Read(p)
		_, err := frames.Read(p)
		fmt.Println(stream, "ends with", err)
	}
}
