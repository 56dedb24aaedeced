package fakeapi

// This file bounds what a server holds that runs for days, whatever its clients do.

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"client-go-workshop/internal/testkit/deadline"
)

const (
	// longestPause is how long a client may send nothing of a request, or read nothing of an answer. It is a real API
	// server's limit for headers.
	longestPause = 32 * time.Second
	// large is the size from which a body or an answer counts, and mostHeld the sum of those that wait for clients.
	large, mostHeld = 64 << 10, 128 << 20
)

// Bound makes the server fit to run for days. It remembers no requests, and of the history the latest changes only, as
// if it were compacted again and again. It ends requests of clients that send or read nothing, and refuses large
// requests and answers with code 429 while slow clients hold up too many others. Call it before Listen.
func (s *Server) Bound() {
	s.bounded.Store(true)
	s.http.ReadHeaderTimeout = longestPause
	s.http.Handler = deadline.Handler(http.HandlerFunc(s.serveBounded), longestPause)
	s.store.lock.Lock()
	s.store.longest = 10_000
	s.store.lock.Unlock()
}

// held counts the bytes of large bodies and answers.
type held struct {
	most     int64
	bytes    atomic.Int64
	encoding chan struct{} // has room for as many large answers as there are processors
}

// take reports whether there is room for n bytes. If so, the caller must call release when they are gone.
func (h *held) take(n int64) (release func(), ok bool) {
	if n <= large {
		return func() {}, true
	}
	if h.bytes.Add(n) > h.most {
		h.bytes.Add(-n)
		return nil, false
	}
	return func() { h.bytes.Add(-n) }, true
}

// serveBounded serves a request if there is room for its body, whose size may be unknown.
func (s *Server) serveBounded(w http.ResponseWriter, r *http.Request) {
	size := r.ContentLength
	if size < 0 || size > maxBody {
		size = maxBody
	}
	release, ok := s.held.take(size)
	if !ok {
		writeError(w, r, statusFor(http.StatusTooManyRequests, "1"))
		return
	}
	defer release()
	s.ServeHTTP(w, r)
}

// admit refuses a list of objects if there is no room for its answer, or waits for its turn to be made: as few large
// answers are made at a time as are useful, so that what is made is bounded too. The turn ends with the call.
func (c *call) admit(objs []runtime.Object) error {
	least := leastSize(objs)
	if !c.bounded.Load() || least <= large {
		return nil
	}
	c.held.encoding <- struct{}{}
	c.endTurn = sync.OnceFunc(func() { <-c.held.encoding })
	if c.held.bytes.Load()+least > c.held.most {
		return statusFor(http.StatusTooManyRequests, "1")
	}
	return nil
}

// leastSize returns about how many bytes the objects have at least: as protobuf, which no custom resource has.
func leastSize(objs []runtime.Object) (sum int64) {
	for _, obj := range objs {
		size := 1 << 10
		if sized, ok := obj.(interface{ Size() int }); ok {
			size = sized.Size()
		}
		sum += int64(size)
	}
	return sum
}

// hold counts an answer until release, and refuses it if there is no room.
func (c *call) hold(body []byte) (release func(), err error) {
	if !c.bounded.Load() {
		return func() {}, nil
	}
	release, ok := c.held.take(int64(len(body)))
	if !ok {
		return nil, statusFor(http.StatusTooManyRequests, "1")
	}
	return release, nil
}
