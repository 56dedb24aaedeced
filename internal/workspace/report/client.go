package report

// This file sends reports, on a goroutine of its own. It never makes the live view wait.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	// Every is the time between two reports if nothing changes. The board calls a learner away after three of them.
	Every = 30 * time.Second
	// soonest is the least time between two reports.
	soonest = time.Second
	// patience is how long one report may take.
	patience = 5 * time.Second
	// firstWait and longestWait are the back-off.
	firstWait, longestWait = 5 * time.Second, 2 * time.Minute
)

// Client sends reports to one board.
type Client struct {
	consent Consent
	place   func() Report // reads the learner's place; see NewClient
	dial    func(context.Context) (net.Conn, error)

	begun sync.Once
	news  chan struct{}
	mu    sync.Mutex
	notes []string // for the learner, until Notes takes them
}

// NewClient returns a client that sends the result of place, with the consent's name and ID. It sends nothing before
// Begin. place is called on a goroutine of the client's.
func NewClient(c Consent, place func() Report) *Client {
	return &Client{consent: c, place: place, news: make(chan struct{}, 1),
		dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(c.URL, "http://"))
		},
		notes: []string{fmt.Sprintf("The instructor's board, %s, shows where you are, as %s; never code. "+
			"To end it: go tool workshop watch --report off", c.URL, c.Name)}}
}

// Begin starts to send, until ctx ends. Only the first call has an effect.
func (c *Client) Begin(ctx context.Context) { c.begun.Do(func() { go c.run(ctx) }) }

// Changed says that the place may have changed. It does not block.
func (c *Client) Changed() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// Notes returns what the learner has to know, each note once.
func (c *Client) Notes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	notes := c.notes
	c.notes = nil
	return notes
}

// run sends a report at each change and every 30 seconds. After an error it waits, twice as long each time; a change
// does not end that wait.
func (c *Client) run(ctx context.Context) {
	said := false
	for wait := time.Duration(0); ctx.Err() == nil; {
		r := c.place()
		r.ID, r.Name = c.consent.ID, c.consent.Name
		err := c.send(ctx, "POST", r)
		if err == nil {
			wait = 0
			if sleep(ctx, soonest, nil) {
				sleep(ctx, Every-soonest, c.news)
			}
			continue
		}
		if !said && ctx.Err() == nil {
			said = true
			c.mu.Lock()
			c.notes = append(c.notes, fmt.Sprintf("The board does not answer (%v). The workshop tries again by itself.", err))
			c.mu.Unlock()
		}
		wait = min(max(2*wait, firstWait), longestWait)
		sleep(ctx, wait, nil)
	}
}

// sleep waits for some time, news or the end of ctx. It reports whether the time is over.
func sleep(ctx context.Context, d time.Duration, news <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-news:
	case <-ctx.Done():
	}
	return false
}

// Withdraw asks the board to forget the learner. It takes five seconds at most.
func (c *Client) Withdraw(ctx context.Context) error {
	return c.send(ctx, "DELETE", Report{ID: c.consent.ID, Name: c.consent.Name})
}

// send sends one request. It writes HTTP itself: net/http would be a fifth of what a learner compiles before the first
// screen. HTTP/1.0 has neither chunks nor kept connections. Proxies in the environment are not used.
func (c *Client) send(ctx context.Context, method string, r Report) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	host := strings.TrimPrefix(c.consent.URL, "http://")
	var request bytes.Buffer
	fmt.Fprintf(&request, "%s %s HTTP/1.0\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, Path, host, len(body), body)
	if _, err := conn.Write(request.Bytes()); err != nil {
		return fmt.Errorf("send a report to %s: %w", host, err)
	}
	answer := bufio.NewReader(io.LimitReader(conn, LargestBody))
	status, err := answer.ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", host, err)
	}
	if fields := strings.Fields(status); len(fields) < 2 || !strings.HasPrefix(fields[0], "HTTP/") || fields[1] != "204" {
		rest, _ := io.ReadAll(answer)
		_, why, _ := strings.Cut(string(rest), "\r\n\r\n")
		return fmt.Errorf("%s answers %.60q %.200q", host, strings.TrimSpace(status), strings.TrimSpace(why))
	}
	return nil
}
