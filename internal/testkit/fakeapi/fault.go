package fakeapi

// This file has the scripted failures. A Fault is between the connection and the server; it answers one request itself,
// or damages the answer:
//
//	api.Script("watch", fakeapi.Answer(429, "1"), fakeapi.Cut(100))
//
// makes the next watch fail with 429 and the one after it break after 100 bytes; all others succeed. Failures of
// connections are methods: Cut, Down and Up, EndWatches.

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault handles one request. Next is the server without the fault; a Fault may call it or not.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// scripted is a fault for the next request of one kind.
type scripted struct {
	kind  string
	fault Fault
}

// Script gives each of the next requests of a kind the next of these faults, in turn. Kind is get, list, watch, create,
// update, patch, delete or deletecollection, or one of them with a resource, as in "watch deployments", or "" for any
// request. A script that was given earlier comes first.
func (s *Server) Script(kind string, faults ...Fault) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, fault := range faults {
		s.scripted = append(s.scripted, scripted{kind, fault})
	}
}

// ClearScripts ends all scripts.
func (s *Server) ClearScripts() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.scripted = nil
}

// nextFault removes and returns the next fault for the call. Without one it returns a fault that does nothing.
func (c *call) nextFault() Fault {
	c.lock.Lock()
	defer c.lock.Unlock()
	for i, next := range c.scripted {
		onResource := c.res != nil && next.kind == c.verb+" "+c.res.gvr.Resource
		if next.kind == "" || next.kind == c.verb || onResource {
			c.scripted = slices.Delete(c.scripted, i, i+1)
			return next.fault
		}
	}
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }
}

// Times returns n times the same fault.
func Times(n int, fault Fault) []Fault { return slices.Repeat([]Fault{fault}, n) }

// Answer refuses with a status code and the Status that a real server sends with it, and with Retry-After if that is
// not empty.
func Answer(code int, retryAfter string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
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
		return apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	case http.StatusUnauthorized:
		return apierrors.NewUnauthorized("Unauthorized")
	}
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", http.StatusText(code), seconds, false)
}

// Text answers with a code and a body that is not a Status, as a proxy does.
func Text(code int, body string) Fault { return reply(code, "text/plain; charset=utf-8", body) }

// Body answers 200 with a body of your own, in one write.
func Body(contentType, body string) Fault { return reply(http.StatusOK, contentType, body) }

func reply(code int, contentType, body string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// Event makes a watch start with an ERROR event, as the real server does if it finds an error after it has answered
// 200.
func Event(code int) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		stream, err := newStream(w, r, nil)
		if err != nil {
			writeError(w, r, err)
			return
		}
		stream.send("ERROR", statusOfError(statusFor(code, "")))
	}
}

// Cut breaks the connection after so many bytes of the answer's body.
func Cut(after int) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(shortened(w, after), r)
		panic(http.ErrAbortHandler)
	}
}

// End ends the answer after so many bytes without an error: the client reads the end of the body.
func End(after int) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(shortened(w, after), r)
	}
}

// writer is an answer whose body goes through a function, and through flush if it is not nil.
type writer struct {
	http.ResponseWriter
	write func(b []byte) (int, error)
	flush func()
}

func (w *writer) Write(b []byte) (int, error) { return w.write(b) }

// Flush implements http.Flusher.
func (w *writer) Flush() {
	if w.flush != nil {
		w.flush()
		return
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// shortened returns w for a body of so many bytes: the write of the last one sends them and returns an error.
func shortened(w http.ResponseWriter, left int) http.ResponseWriter {
	short := &writer{ResponseWriter: w}
	short.write = func(b []byte) (int, error) {
		n, err := w.Write(b[:min(len(b), left)])
		if left -= n; left == 0 {
			short.Flush()
			err = io.ErrShortWrite
		}
		return n, err
	}
	return short
}

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
		slow := &writer{ResponseWriter: w}
		slow.write = func(b []byte) (written int, err error) {
			for piece := range slices.Chunk(b, size) {
				if !pause(r, d) {
					return written, r.Context().Err()
				}
				n, err := w.Write(piece)
				if written += n; err != nil {
					return written, err
				}
				slow.Flush()
			}
			return written, nil
		}
		next.ServeHTTP(slow, r)
	}
}

// Late sends each piece of the answer's body after a delay. The pieces stay in order, and are on their way at the same
// time: a late watch has the throughput of any other.
func Late(delay func() time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		type piece struct {
			data []byte // without any, the piece only sends what was written
			due  time.Time
		}
		pieces := make(chan piece, 1000)
		add := func(p piece) error {
			select {
			case pieces <- p:
				return nil
			case <-r.Context().Done():
				return r.Context().Err()
			}
		}
		var sending sync.WaitGroup
		defer sending.Wait()
		defer close(pieces)
		sending.Go(func() {
			for p := range pieces {
				if !pause(r, time.Until(p.due)) {
					return
				}
				if _, err := w.Write(p.data); err != nil {
					return
				}
				(&writer{ResponseWriter: w}).Flush()
			}
		})
		next.ServeHTTP(&writer{
			ResponseWriter: w,
			write: func(b []byte) (int, error) {
				return len(b), add(piece{slices.Clone(b), time.Now().Add(delay())})
			},
			flush: func() { _ = add(piece{}) },
		}, r)
	}
}

// pause waits, and reports whether the client is still there.
func pause(r *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

// Silent sends nothing of the answer's body: a watch is open, and brings no event until it ends.
func Silent(w http.ResponseWriter, r *http.Request, next http.Handler) {
	silent := &writer{ResponseWriter: w, write: func(b []byte) (int, error) { return len(b), nil }}
	next.ServeHTTP(silent, r)
}

// Reset breaks the connection instead of answering. If done is set, the server carries out the request first.
func Reset(done bool) Fault {
	return func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		if done {
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			reset(c)
		}
		panic(http.ErrAbortHandler)
	}
}

type connKey struct{}

// EndWatches ends all watches without an error, as a server does when it shuts down.
func (s *Server) EndWatches() { s.wake(&s.endWatches) }

// SendBookmarks makes each watch that allows bookmarks send one now.
func (s *Server) SendBookmarks() { s.wake(&s.bookmarks) }

// wake closes a channel, and replaces it.
func (s *Server) wake(c *chan struct{}) {
	s.lock.Lock()
	defer s.lock.Unlock()
	close(*c)
	*c = make(chan struct{})
}

// Restart acts like a new process: connections break, and a watch or a page that needs the old history gets 410 Gone.
func (s *Server) Restart() {
	s.Compact()
	s.Cut()
}
