// An annotation contains a quoted brace.
//
// Question: What does each Read return?
//
// Wrong: escapes-are-not-seen
//
// Story: Annotations contain any text: templates, regular expressions, and the JSON that `kubectl apply` stores. Such
// text has escaped quotes. A reader that takes one for the end of the string counts the brackets after it. Its tests
// with small objects pass. In a real cluster one object breaks the watch, and it breaks every new watch in the same
// way.
package main

import (
	"fmt"
	"io"
	"strings"

	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	stream := `{"annotations":{"note":"end with \"}\""}}` + "\n" + `{"next":true}`
	frames := watchstream.NewFrameReader(io.NopCloser(strings.NewReader(stream)))
	p := make([]byte, 100)
	for range 3 {
		n, err := frames.Read(p)
		fmt.Printf("%s, error: %v\n", p[:n], err)
	}
}
