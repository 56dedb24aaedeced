// A consumer stops its watch, and the server sends one more event.
//
// Question: Which error does the server's write return?
//
// Wrong: stop-keeps-the-source
//
// Story: If Stop ends only its own goroutine, the connection stays open. The server encodes each event and sends it to
// a client that no longer reads. One such watch is harmless. A program that starts a watch for each of its requests
// leaves thousands of them, and the API server must write to all of them.
package main

import (
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	const event = `{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1"}}`
	body, server := io.Pipe()
	decoder := watchstream.NewDecoder(watchstream.NewFrameReader(body), watchstream.Objects())
	w := watchstream.NewStreamWatcher(decoder, apierrors.NewClientErrorReporter(http.StatusInternalServerError, "", ""))
	io.WriteString(server, event)
	fmt.Println("received:", (<-w.ResultChan()).Type)
	w.Stop()
	_, err := io.WriteString(server, event)
	fmt.Println("the server's write:", err)
}
