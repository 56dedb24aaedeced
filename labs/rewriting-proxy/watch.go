package rewritingproxy

// This file rewrites a watch: an answer that does not end. It reads a frame of chapter 02, rewrites it, and writes it.

import (
	"net/http"

	"client-go-workshop/internal/testkit/todo"
)

// watch sends a watch of the API server on, event by event, until one side ends it. The client receives the head of the
// answer at once, and each event as soon as its last byte has come. If it returns an error, it has sent nothing.
//
// The object of an event is rewritten, and so is a Table in it. Only the first Table of a watch, which may be a
// BOOKMARK's, has the definitions of its columns. The types and the order of the events stay as they are. A BOOKMARK
// and an ERROR stay as they are. Each event ends with a newline, because clients in other languages read line by line.
//
// A watch that the API server ends, ends for the client. If it breaks off, the client's connection breaks off too: the
// client must not take half an answer for a whole one. An event that cannot be rewritten becomes one ERROR with the
// code 502, which ends the watch. When the client goes away, the request to the API server ends. While the client does
// not read, the proxy does not read on. It keeps one frame, of at most 16 MiB, and no goroutine of its own. A larger
// frame counts as a watch that breaks off.
func (p *Proxy) watch(w http.ResponseWriter, resp *http.Response) error {
	panic(todo.Task(4, "Proxy.watch"))
}
