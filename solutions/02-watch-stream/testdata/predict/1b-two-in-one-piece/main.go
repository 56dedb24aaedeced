// A server sends two events quickly, and they arrive in one piece.
//
// Question: What does each Read return?
//
// Wrong: piece-is-a-frame
//
// Story: On a quiet cluster each event arrives in its own piece, so code that takes a piece for a frame works for
// months. Then a rollout changes ten objects in a second, and several events arrive together. The decoder cannot decode
// two objects in one frame, and the watch fails when the cluster is busy.
package main

import (
	"fmt"
	"io"
	"strings"

	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	stream := `{"event":1}` + "\n" + `{"event":2}` + "\n"
	frames := watchstream.NewFrameReader(io.NopCloser(strings.NewReader(stream)))
	p := make([]byte, 100)
	for {
		n, err := frames.Read(p)
		fmt.Printf("%q, error: %v\n", p[:n], err)
		if err != nil {
			return
		}
	}
}
