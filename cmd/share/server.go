package main

// This file is the HTTP server: it counts attendees, requests and bytes.

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"client-go-workshop/internal/testkit/deadline"
	"client-go-workshop/internal/testkit/failure"
)

// statistics is a handler that counts what another one serves. Each client address is one attendee.
type statistics struct {
	handler   http.Handler
	connected func(attendee string) // called once for each attendee, one call at a time

	mu        sync.Mutex
	attendees map[string]bool
	requests  int
	bytes     atomic.Int64
}

func newStatistics(handler http.Handler, connected func(attendee string)) *statistics {
	return &statistics{handler: handler, connected: connected, attendees: map[string]bool{}}
}

func (s *statistics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	attendee, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		attendee = r.RemoteAddr
	}
	s.mu.Lock()
	s.requests++
	if !s.attendees[attendee] {
		s.attendees[attendee] = true
		s.connected(attendee)
	}
	s.mu.Unlock()
	s.handler.ServeHTTP(countingWriter{w, &s.bytes}, r)
}

// String returns the sums, such as "2 attendees, 1 request, 19 B".
func (s *statistics) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%s, %s, %s", failure.Count(len(s.attendees), "attendee"), failure.Count(s.requests, "request"),
		size(s.bytes.Load()))
}

// countingWriter counts the bytes of a response. It is not an io.ReaderFrom, because then it could not count.
type countingWriter struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (c countingWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// longestPause is how long a client may send nothing of a body, or read nothing of an answer.
const longestPause = 30 * time.Second

// serve serves on listener until ctx ends. That ends requests which are under way.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		// No WriteTimeout, because a hundred megabytes take long in a full room.
		Handler:           deadline.Handler(handler, longestPause),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    1 << 14,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); ctx.Err() == nil {
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
	return nil
}
