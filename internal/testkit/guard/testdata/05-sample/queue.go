package sample

import (
	"io"
	"sync"
	"time"
)

// Queue blocks in Get until there is something to get.
type Queue struct {
	lock  sync.Mutex
	cond  *sync.Cond
	items []string
	stop  chan struct{}
}

func NewQueue() *Queue {
	q := &Queue{stop: make(chan struct{})}
	q.cond = sync.NewCond(&q.lock)
	return q
}

func (q *Queue) Add(item string) {
	q.lock.Lock()
	q.items = append(q.items, item)
	q.lock.Unlock()
	q.cond.Signal()
}

func (q *Queue) Get() string {
	q.lock.Lock()
	defer q.lock.Unlock()
	for len(q.items) == 0 {
		q.cond.Wait()
	}
	item := q.items[0]
	q.items = q.items[1:]
	return item
}

// Drain starts a goroutine that is all in the standard library, and ends when from does.
func (q *Queue) Drain(from io.Reader) { go io.Copy(io.Discard, from) }

// Run starts a goroutine with a ticker, which Stop ends.
func (q *Queue) Run() { go q.loop() }

func (q *Queue) Stop() { close(q.stop) }

func (q *Queue) loop() {
	heartbeat := time.NewTicker(10 * time.Second)
	defer heartbeat.Stop()
	for {
		select {
		case <-heartbeat.C:
		case <-q.stop:
			return
		}
	}
}
