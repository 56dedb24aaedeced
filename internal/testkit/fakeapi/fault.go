package fakeapi

// This file has the scripted failures. A Fault is between the connection and the server; it answers one request itself,
// or damages the answer:
//
//	api.Script("watch", fakeapi.Answer(429, "1"), fakeapi.Cut(100))
//
// makes the next watch fail with 429 and the one after it break after 100 bytes; all others succeed. Failures of
// connections are methods: Cut, Down and Up, EndWatches.

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault handles one request. Next is the server without the fault; a Fault may call it or not.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// script has the remaining faults for requests of one verb.
type script struct {
	verb   string
	faults []Fault
}

// Script gives each of the next requests of a kind the next of these faults, in turn. Verb is get, list, watch, create,
// update, patch, delete, deletecollection, or "" for any request. A script that was given earlier comes first.
func (s *Server) Script(verb string, faults ...Fault) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.scripts = append(s.scripts, &script{verb, faults})
}

// ClearScripts ends all scripts.
func (s *Server) ClearScripts() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.scripts = nil
}

// nextFault removes and returns the next fault for a request, nil if there is none.
func (s *Server) nextFault(verb string) Fault {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, script := range s.scripts {
		if len(script.faults) == 0 || script.verb != "" && script.verb != verb {
			continue
		}
		fault := script.faults[0]
		script.faults = script.faults[1:]
		return fault
	}
	return nil
}

// Times returns n times the same fault.
func Times(n int, fault Fault) []Fault {
	faults := make([]Fault, n)
	for i := range faults {
		faults[i] = fault
	}
	return faults
}

// None returns a Fault that does nothing: the request succeeds.
func None() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }
}

// Answer refuses with a status code and the Status that a real server sends with it, and with Retry-After if that is
// not empty.
func Answer(code int, retryAfter string) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		writeError(w, r, statusFor(code, retryAfter))
	}
}

// statusFor returns the error that a real server sends with a code.
func statusFor(code int, retryAfter string) *apierrors.StatusError {
	seconds, _ := strconv.Atoi(retryAfter)
	switch code {
	case http.StatusTooManyRequests:
		return apierrors.NewTooManyRequests("too many requests, please try again later", seconds)
	case http.StatusGone:
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	case http.StatusServiceUnavailable:
		return apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
	case http.StatusInternalServerError:
		return apierrors.NewInternalError(fmt.Errorf("etcdserver: request timed out"))
	case http.StatusUnauthorized:
		return apierrors.NewUnauthorized("Unauthorized")
	}
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", http.StatusText(code), seconds, false)
}

// Text answers with a code and a body that is not a Status, as a proxy does.
func Text(code int, body string) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

// Body answers 200 with a body of your own, in one write.
func Body(contentType, body string) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	}
}

// Event makes a watch start with an ERROR event, as the real server does if it finds an error after it has answered
// 200.
func Event(code int) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		status := statusFor(code, "").ErrStatus
		stream, err := newStream(w, r, nil)
		if err != nil {
			writeError(w, r, err)
			return
		}
		stream.send("ERROR", &status)
	}
}

// Cut breaks the connection after so many bytes of the answer's body.
func Cut(after int) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&cutWriter{ResponseWriter: w, left: after}, r)
		panic(http.ErrAbortHandler)
	}
}

// End ends the answer after so many bytes without an error: the client reads the end of the body.
func End(after int) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler {
				panic(v)
			}
		}()
		next.ServeHTTP(&cutWriter{ResponseWriter: w, left: after}, r)
	}
}

// cutWriter lets so many bytes through, and then aborts the handler.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(b []byte) (int, error) {
	n := min(len(b), w.left)
	w.ResponseWriter.Write(b[:n])
	w.left -= n
	if w.left == 0 {
		w.Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

func (w *cutWriter) Flush() { http.NewResponseController(w.ResponseWriter).Flush() }

// Slow waits before the answer.
func Slow(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if pause(r, d) {
			next.ServeHTTP(w, r)
		}
	}
}

// SlowBody waits before each piece of the answer's body, pieces being of the given size.
func SlowBody(size int, d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&slowWriter{ResponseWriter: w, r: r, size: size, pause: d}, r)
	}
}

type slowWriter struct {
	http.ResponseWriter
	r     *http.Request
	size  int
	pause time.Duration
}

func (w *slowWriter) Write(b []byte) (int, error) {
	for written := 0; written < len(b); {
		n := min(w.size, len(b)-written)
		if !pause(w.r, w.pause) {
			return written, w.r.Context().Err()
		}
		if _, err := w.ResponseWriter.Write(b[written : written+n]); err != nil {
			return written, err
		}
		w.Flush()
		written += n
	}
	return len(b), nil
}

func (w *slowWriter) Flush() { http.NewResponseController(w.ResponseWriter).Flush() }

// pause waits, and reports whether the client is still there.
func pause(r *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

// Hang never answers.
func Hang() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) { <-r.Context().Done() }
}

// Reset breaks the connection instead of answering. If done is set, the server carries out the request first.
func Reset(done bool) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if done {
			next.ServeHTTP(&discard{header: http.Header{}}, r)
		}
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			c.reset()
		}
		panic(http.ErrAbortHandler)
	}
}

type connKey struct{}

// discard is an answer that is not sent.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// EndWatches ends all watches without an error, as a server does when it shuts down.
func (s *Server) EndWatches() {
	s.lock.Lock()
	defer s.lock.Unlock()
	close(s.endWatches)
	s.endWatches = make(chan struct{})
}

// SendBookmarks makes each watch that allows bookmarks send one now.
func (s *Server) SendBookmarks() {
	s.lock.Lock()
	defer s.lock.Unlock()
	close(s.bookmarks)
	s.bookmarks = make(chan struct{})
}

// Restart acts like a new process: connections break, and a watch or a page that needs the old history gets 410 Gone.
func (s *Server) Restart() {
	s.Compact()
	s.Cut()
}
