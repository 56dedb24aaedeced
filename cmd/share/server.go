package main

// This file is the HTTP server: it counts attendees, requests and bytes, and shuts down cleanly.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// statistics is a handler that counts what another one serves. Each client address is one attendee.
type statistics struct {
	handler   http.Handler
	connected func(attendee string) // called once for each attendee, one call at a time

	mu        sync.Mutex
	attendees map[string]bool
	requests  int
	bytes     int64
}

func newStatistics(handler http.Handler, connected func(attendee string)) *statistics {
	return &statistics{handler: handler, connected: connected, attendees: map[string]bool{}}
}

func (s *statistics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	attendee := r.RemoteAddr
	if host, _, err := net.SplitHostPort(attendee); err == nil {
		attendee = host
	}
	s.mu.Lock()
	s.requests++
	if !s.attendees[attendee] {
		s.attendees[attendee] = true
		s.connected(attendee)
	}
	s.mu.Unlock()
	counted := &countingWriter{ResponseWriter: w}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bytes += counted.n
	}()
	s.handler.ServeHTTP(counted, r)
}

// String returns the sums, such as "2 attendees, 1 request, 19 B".
func (s *statistics) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%s, %s, %s", count(len(s.attendees), "attendee"), count(s.requests, "request"), size(s.bytes))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// countingWriter counts the bytes of a response. It is not an io.ReaderFrom, because then it could not count.
type countingWriter struct {
	http.ResponseWriter
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n += int64(n)
	return n, err
}

// serve serves on listener until ctx ends. Requests that are under way then have three seconds to finish.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    1 << 14,
		// No WriteTimeout, because a hundred megabytes take long in a full room.
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
		_ = server.Close()
	}
	<-ended
	return nil
}
