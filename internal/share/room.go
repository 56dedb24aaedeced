package share

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Room is who has come: each client address is one attendee.
type Room struct {
	shelf http.Handler
	came  func(attendee string)

	mu       sync.Mutex
	seen     map[string]bool
	requests int
	bytes    int64
}

// NewRoom serves what shelf has, and calls came for each attendee once, one at a time.
func NewRoom(shelf http.Handler, came func(attendee string)) *Room {
	return &Room{shelf: shelf, came: came, seen: map[string]bool{}}
}

func (room *Room) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	attendee := r.RemoteAddr
	if host, _, err := net.SplitHostPort(attendee); err == nil {
		attendee = host
	}
	room.mu.Lock()
	room.requests++
	if !room.seen[attendee] {
		room.seen[attendee] = true
		room.came(attendee)
	}
	room.mu.Unlock()
	counted := &counter{ResponseWriter: w}
	defer func() {
		room.mu.Lock()
		defer room.mu.Unlock()
		room.bytes += counted.n
	}()
	room.shelf.ServeHTTP(counted, r)
}

// String sums up, for the end.
func (room *Room) String() string {
	room.mu.Lock()
	defer room.mu.Unlock()
	were := "were"
	if len(room.seen) == 1 {
		were = "was"
	}
	return fmt.Sprintf("There %s %s, %s, %s", were, count(len(room.seen), "attendee"), count(room.requests, "request"),
		Size(room.bytes))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// counter counts what is written. It is no io.ReaderFrom: to count is worth more here than to copy fast.
type counter struct {
	http.ResponseWriter
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n += int64(n)
	return n, err
}

// Serve answers on listener until ctx ends. Who is in the middle of something then has three seconds to finish it.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    1 << 14,
		// No WriteTimeout: in a full room, a hundred megabytes take as long as they take.
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
