// A server reports an error, but its Status has no kind.
//
// Question: What does Decode return?
//
// Wrong: status-without-kind-hangs
//
// Story: An API server once sent such a Status, and clients waited forever for the event after it
// ([#46446](https://github.com/kubernetes/kubernetes/issues/46446)). The wrong version replaces the Status by an empty
// one. So the code 410 is lost, and the consumer does not know that it must list again.
package main

import (
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	stream := `{"type":"ERROR","object":{"status":"Failure","code":410}}`
	frames := watchstream.NewFrameReader(io.NopCloser(strings.NewReader(stream)))
	decoder := watchstream.NewDecoder(frames, watchstream.Objects())
	eventType, obj, err := decoder.Decode()
	fmt.Printf("type: %q\n", eventType)
	if status, ok := obj.(*metav1.Status); ok {
		fmt.Println("code:", status.Code)
	}
	fmt.Println("is an error:", err != nil)
}
