// Package deadline ends requests of clients that neither send nor read. A client that makes progress has all the time
// that it needs, for an answer of any size.
package deadline

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// piece is how much of an answer a client must read within the limit.
const piece = 64 << 10

// Handler returns a handler that calls next. A request ends if its client sends nothing of its body for as long as
// limit, or reads less than 64 KiB of a waiting answer in that time. Limit does not count while next itself waits.
func Handler(next http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l := &limited{http.NewResponseController(w), limit, r.ProtoMajor > 1}
		if r.Body != nil && r.Body != http.NoBody {
			l.reading(true) // net/http reads what next leaves
			r.Body = &body{r.Body, l}
		}
		l.writing()
		next.ServeHTTP(&writer{w, l}, r)
		l.writing() // net/http writes what is buffered
	})
}

// limited sets the deadlines of a request.
type limited struct {
	*http.ResponseController
	limit time.Duration
	// multiplexed says that an expired deadline ends the request even if nothing waits, as in HTTP/2.
	multiplexed bool
}

// reading sets the deadline of the next read, or removes it.
func (l *limited) reading(on bool) {
	at := time.Time{}
	if on {
		at = time.Now().Add(l.limit)
	}
	_ = l.SetReadDeadline(at) // a connection without deadlines has no limit
}

// writing sets the deadline of the next write.
func (l *limited) writing() { _ = l.SetWriteDeadline(time.Now().Add(l.limit)) }

// written removes the deadline if it would end a request that waits for its next write.
func (l *limited) written() {
	if l.multiplexed {
		_ = l.SetWriteDeadline(time.Time{})
	}
}

// body is a request's body.
type body struct {
	io.ReadCloser
	*limited
}

func (b *body) Read(p []byte) (int, error) {
	b.reading(true)
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.reading(false) // net/http reads on, to notice that the client goes
	}
	return n, err
}

// writer is an answer.
type writer struct {
	http.ResponseWriter
	*limited
}

func (w *writer) Write(p []byte) (n int, err error) {
	defer w.written()
	for len(p) > 0 && err == nil {
		w.writing()
		var m int
		m, err = w.ResponseWriter.Write(p[:min(len(p), piece)])
		n, p = n+m, p[m:]
	}
	return n, err
}

// FlushError is for http.ResponseController.
func (w *writer) FlushError() error {
	defer w.written()
	w.writing()
	return w.limited.Flush()
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
