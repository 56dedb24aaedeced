package main

// This file has the clients of the stress test. A watch requires that no event is missing: only Deployments change, so
// each event has the version after that of the event before.

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// load is clients of one server.
type load struct {
	*testing.T
	deployments string // the URL of all of them
	template    string
	client      http.Client

	requests, events, expired, changes atomic.Int64

	mu   sync.Mutex
	open []*watch // the oldest first
}

// watch is one of all deployments.
type watch struct {
	at    atomic.Int64 // the version of the last event
	end   context.CancelFunc
	ended chan struct{}
}

func newLoad(t *testing.T, url string) *load {
	template, err := os.ReadFile("testdata/deployment.json")
	require.NoError(t, err)
	l := &load{T: t, deployments: url + "/apis/apps/v1/namespaces/default/deployments", template: string(template),
		client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}}
	t.Cleanup(func() {
		for len(l.open) > 0 {
			l.endOldest()
		}
	})
	return l
}

func (l *load) object(n int) string { return fmt.Sprintf("%s/web-%d", l.deployments, n) }

// manifest returns an object that differs from the one before.
func (l *load) manifest(n int) io.Reader {
	return strings.NewReader(strings.NewReplacer("NAME", fmt.Sprintf("web-%d", n),
		"CHANGE", fmt.Sprint(l.changes.Add(1))).Replace(l.template))
}

// send sends a request, reads the answer to its end, and checks its code.
func (l *load) send(code int, method, url string, body io.Reader) []byte {
	req, err := http.NewRequest(method, url, body)
	require.NoError(l, err)
	resp, err := l.client.Do(req)
	if !assert.NoError(l, err) {
		return nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	assert.NoError(l, err)
	assert.Equal(l, code, resp.StatusCode, "%s %s: %.300s", method, url, text)
	l.requests.Add(1)
	return text
}

func (l *load) read(url string) []byte { return l.send(http.StatusOK, http.MethodGet, url, nil) }

func (l *load) create(n int) {
	l.send(http.StatusCreated, http.MethodPost, l.deployments, l.manifest(n))
}

func (l *load) get(rng *rand.Rand) { l.read(l.object(rng.IntN(objects))) }

func (l *load) page(*rand.Rand) { l.read(l.deployments + "?limit=500") }

func (l *load) list(*rand.Rand) { l.read(l.deployments + "?resourceVersion=0") }

func (l *load) update(rng *rand.Rand) {
	n := rng.IntN(objects)
	l.send(http.StatusOK, http.MethodPut, l.object(n), l.manifest(n))
}

// replace deletes the only object that is not among the others, and creates it again.
func (l *load) replace(*rand.Rand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.create(objects)
	l.send(http.StatusOK, http.MethodDelete, l.object(objects), nil)
}

// each calls do with each number, from several clients.
func (l *load) each(all []int, do func(int)) {
	queue := make(chan int)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for n := range queue {
				do(n)
			}
		})
	}
	for _, n := range all {
		queue <- n
	}
	close(queue)
	group.Wait()
}

// repeat sends requests from several clients for some time, and returns how many they sent.
func (l *load) repeat(request func(*rand.Rand), length time.Duration) int {
	began, sent := time.Now(), atomic.Int64{}
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			for rng := rand.New(rand.NewPCG(0, uint64(i))); time.Since(began) < length; sent.Add(1) {
				request(rng)
			}
		})
	}
	group.Wait()
	return int(sent.Load())
}

var version = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

func versionIn(text []byte) int64 {
	found := version.FindSubmatch(text)
	if found == nil {
		return 0
	}
	n, _ := strconv.ParseInt(string(found[1]), 10, 64)
	return n
}

// newest returns the version of the server.
func (l *load) newest() int64 { return versionIn(l.read(l.deployments + "?limit=1")) }

// watch opens a watch of all deployments.
func (l *load) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{end: cancel, ended: make(chan struct{})}
	w.at.Store(l.newest())
	l.mu.Lock()
	l.open = append(l.open, w)
	l.mu.Unlock()
	go func() {
		defer close(w.ended)
		for ctx.Err() == nil {
			l.follow(ctx, w)
		}
	}()
}

// follow reads the events of a watch until it ends. If the server has forgotten its version, the next follow begins at
// the newest.
func (l *load) follow(ctx context.Context, w *watch) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("%s?watch=1&resourceVersion=%d", l.deployments, w.at.Load()), nil)
	require.NoError(l, err)
	resp, err := l.client.Do(req)
	if err != nil {
		assert.Error(l, ctx.Err(), "a watch is refused: %v", err)
		return
	}
	defer resp.Body.Close()
	for lines := bufio.NewReaderSize(resp.Body, 1<<14); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		if bytes.Contains(line, []byte(`"code":410`)) {
			l.expired.Add(1)
			w.at.Store(l.newest())
			return
		}
		now := versionIn(line)
		assert.Equal(l, w.at.Load()+1, now, "the version of the next event")
		w.at.Store(now)
		l.events.Add(1)
	}
}

func (l *load) endOldest() {
	l.mu.Lock()
	w := l.open[0]
	l.open = l.open[1:]
	l.mu.Unlock()
	w.end()
	<-w.ended
}

// caughtUp waits until each watch has the newest event.
func (l *load) caughtUp() {
	newest := l.newest()
	for _, w := range l.open {
		require.Eventually(l, func() bool { return w.at.Load() == newest }, time.Minute, 10*time.Millisecond,
			"a watch has no event of version %d", newest)
	}
}
