package rewritingproxy

// This file rewrites a watch: an answer that does not end. It reads a frame of chapter 02, rewrites it, and writes it.

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
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
//
//workshop:task 4 Proxy.watch
func (p *Proxy) watch(w http.ResponseWriter, resp *http.Response) error {
	if err := checkJSON(resp); err != nil {
		return err
	}
	resp.Header.Del("Content-Length")
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(w, 32<<10)
	// Events that have come together leave together, before the proxy waits for more.
	frames := newFrames(p.config.NewFrameReader(&eachRead{resp.Body, func() error {
		return cmp.Or(out.Flush(), http.NewResponseController(w).Flush())
	}}))
	var c columns
	for {
		frame, err := frames.next()
		if err != nil {
			out.Flush()
			if err == io.EOF {
				return nil
			}
			// An event may have come together with the error.
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler) // the only way to break off an answer
		}
		shown, err := p.config.View.appendEvent(out.AvailableBuffer(), frame, &c) // so the next Write copies nothing
		if err != nil {
			out.Write(errorEvent(err))
			out.Flush()
			return nil
		}
		out.Write(append(shown, '\n')) // if the client has gone, the next flush returns the error
	}
}

// appendEvent appends an event to a buffer, as the client sees it.
//
//workshop:omit
func (v View) appendEvent(to, frame []byte, c *columns) ([]byte, error) {
	eventType, err := field(frame, "type")
	if err != nil || string(eventType) == `"ERROR"` {
		return append(to, frame...), err
	}
	kind, err := field(frame, "object", "kind")
	if err != nil {
		return nil, err
	}
	isTable := string(kind) == `"Table"`
	switch {
	case string(eventType) == `"BOOKMARK"` && isTable:
		table, err := field(frame, "object")
		if err != nil {
			return nil, err
		}
		return append(to, frame...), c.learn(table)
	case string(eventType) == `"BOOKMARK"`:
		return append(to, frame...), nil
	case isTable:
		shown, err := replaceField(frame, func(table []byte) ([]byte, error) { return v.showTable(table, c) }, "object")
		return append(to, shown...), err
	}
	// An API server encodes a Go struct, so no key is there twice. The search ends at the first one, in the middle of the
	// event.
	start, end, err := find(frame, "object", "spec", "replicas")
	if err != nil || end == 0 {
		return append(to, frame...), err
	}
	shown, err := v.multiply(frame[start:end])
	return append(append(append(to, frame[:start]...), shown...), frame[end:]...), err
}

// errorEvent returns an ERROR event with the Status of an error.
//
//workshop:omit
func errorEvent(err error) []byte {
	_, status := statusOf(badGateway("rewrite an event of the API server: %w", err))
	return fmt.Appendf(nil, `{"type":"ERROR","object":%s}`+"\n", status)
}
