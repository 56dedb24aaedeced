// A program keeps the object of the first event, and decodes a second event.
//
// Question: Which name does each line print?
//
// Wrong: objects-point-into-the-buffer
//
// Story: A decoder that uses its buffer again is fast, and one `unsafe` conversion from bytes to a string makes it
// wrong. An informer's cache then holds objects that change when later events arrive. Nothing fails at the place of the
// mistake: a controller acts on a name that belongs to another object.
package main

import (
	"fmt"
	"io"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	watchstream "client-go-workshop/solutions/02-watch-stream"
)

const event = `{"type":"MODIFIED","object":{"kind":"Deployment","apiVersion":"apps/v1",` +
	`"metadata":{"name":"%s"}}}`

func main() {
	stream := fmt.Sprintf(event, "anna") + fmt.Sprintf(event, "otto")
	frames := watchstream.NewFrameReader(io.NopCloser(strings.NewReader(stream)))
	decoder := watchstream.NewDecoder(frames, watchstream.Objects())
	_, first, _ := decoder.Decode()
	fmt.Println("before:", first.(*appsv1.Deployment).Name)
	decoder.Decode()
	fmt.Println("after: ", first.(*appsv1.Deployment).Name)
}
