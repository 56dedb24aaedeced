package pipeline

// This file is the state of the workqueue: its sets, the waiting keys with their times, and the failures.
//
// A worker records Get some time after it has the key, and other calls can be recorded in between. Their lengths of the
// real queue show that a key is gone: then it was the first one. If Get names another key, the state follows it.

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// WorkQueue is a workqueue. A key is in Queue, in Processing, or in Processing and Again.
type WorkQueue struct {
	Queue      []string                 // in order
	queued     map[string]bool          // the same keys
	Processing map[string]time.Duration // since when a worker has the key
	Again      map[string]bool          // keys that were added while they are processed
	Waiting    map[string]time.Duration // when the key is due
	Waits      map[string]time.Duration // how long a key waits in all; it stays when the key has come
	Failures   map[string]int
	Down       bool // it shuts down
	Differs    string

	Taken   []string      // keys in Processing whose Get is not recorded yet
	LastDue time.Duration // when a waiting key came last
}

func (q *WorkQueue) clone() WorkQueue {
	c := *q
	c.Queue, c.queued = slices.Clone(q.Queue), maps.Clone(q.queued)
	c.Processing, c.Again = maps.Clone(q.Processing), maps.Clone(q.Again)
	c.Taken = slices.Clone(q.Taken)
	c.Waiting, c.Waits, c.Failures = maps.Clone(q.Waiting), maps.Clone(q.Waits), maps.Clone(q.Failures)
	return c
}

func (q *WorkQueue) add(key string) {
	if _, busy := q.Processing[key]; busy {
		q.Again[key] = true
	} else if !q.queued[key] {
		q.Queue, q.queued[key] = append(q.Queue, key), true
	}
}

// tolerance is how far the clocks of the queue and the log may differ.
const tolerance = 50 * time.Millisecond

func (q *WorkQueue) nearlyDue(now time.Duration) bool {
	for _, due := range q.Waiting {
		if due-now < tolerance {
			return true
		}
	}
	return false
}

// advance adds the keys whose time has come, the earliest first.
func (q *WorkQueue) advance(now time.Duration) {
	if len(q.Waiting) == 0 {
		return
	}
	var due []string
	for key, at := range q.Waiting {
		if at <= now && q.Waits[key] >= 0 {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b string) int { return int(q.Waiting[a] - q.Waiting[b]) })
	for _, key := range due {
		q.LastDue = q.Waiting[key]
		delete(q.Waiting, key)
		if !q.Down {
			q.add(key)
		}
	}
}

// fit moves keys until the queue is as long as the real one.
func (q *WorkQueue) fit(length int64, now time.Duration) {
	if q.LastDue > 0 && now-q.LastDue < tolerance || q.nearlyDue(now) {
		return // a waiting key may be on its way
	}
	for len(q.Queue) > 0 && int64(len(q.Queue)) > length {
		key := q.Queue[0]
		q.Queue = q.Queue[1:]
		delete(q.queued, key)
		q.Processing[key] = now
		q.Taken = append(q.Taken, key)
	}
	for int64(len(q.Queue)) < length && len(q.Taken) > 0 {
		q.putBack(len(q.Taken) - 1)
	}
}

// putBack returns a key that was not taken after all.
func (q *WorkQueue) putBack(at int) {
	key := q.Taken[at]
	q.Taken = slices.Delete(q.Taken, at, at+1)
	delete(q.Processing, key)
	delete(q.Again, key)
	q.Queue, q.queued[key] = slices.Insert(q.Queue, 0, key), true
}

func (q *WorkQueue) apply(step *Step) {
	switch step.Verb {
	case Add:
		q.fit(int64(step.Code), step.At)
		defer func() { q.fit(step.Count, step.At) }()
	}
	switch step.Verb {
	case Add:
		if !q.Down {
			q.add(step.Key)
		}
	case Get:
		q.get(step)
	case Done:
		delete(q.Processing, step.Key)
		again := q.Again[step.Key]
		delete(q.Again, step.Key)
		// Get and Add at the same instant can be recorded in the wrong order. Len of the real queue decides, unless a
		// waiting key may have come just now.
		if again || step.Count == int64(len(q.Queue))+1 && !q.Down && !q.nearlyDue(step.At) {
			q.add(step.Key)
		}
		if again {
			q.fit(step.Count, step.At) // the key is with a worker already, or lost: the next look tells
		}
	case AddRateLimited, AddAfter:
		if step.Verb == AddRateLimited {
			q.Failures[step.Key]++
		}
		q.wait(step)
	case Forget:
		delete(q.Failures, step.Key)
		delete(q.Waits, step.Key)
	case ShutDown:
		q.Down = true
		clear(q.Waiting)
	case Looked:
		q.Differs = step.Error
		for _, key := range q.Taken {
			delete(q.Processing, key)
		}
		q.Taken = nil
		for len(q.Queue) > 0 && int64(len(q.Queue)) > step.Count { // the real queue has lost them
			delete(q.queued, q.Queue[0])
			q.Queue = q.Queue[1:]
		}
	}
}

func (q *WorkQueue) wait(step *Step) {
	due, waits := q.Waiting[step.Key]
	switch {
	case q.Down:
	case step.Wait < 0: // the limiter could not be asked
		q.Waiting[step.Key], q.Waits[step.Key] = step.At, step.Wait
	case step.Wait == 0:
		q.add(step.Key)
	case !waits || step.At+step.Wait < due:
		q.Waiting[step.Key], q.Waits[step.Key] = step.At+step.Wait, step.Wait
	}
}

func (q *WorkQueue) get(step *Step) {
	if at := slices.Index(q.Taken, step.Key); at >= 0 {
		q.Taken = slices.Delete(q.Taken, at, at+1)
		return
	}
	if len(q.Taken) > 0 { // the first key was not the one
		q.putBack(0)
	}
	if !q.queued[step.Key] {
		// The key's time has come a moment before the clock of the log says so.
		if due, waits := q.Waiting[step.Key]; !waits || due-step.At > tolerance {
			q.Differs = fmt.Sprintf("Get returns %s, which is not in the queue", step.Key)
		}
		delete(q.Waiting, step.Key)
	} else {
		q.Queue = remove(q.Queue, slices.Index(q.Queue, step.Key))
		delete(q.queued, step.Key)
	}
	if _, busy := q.Processing[step.Key]; busy {
		q.Differs = fmt.Sprintf("Get returns %s, which another worker has", step.Key)
	}
	q.Processing[step.Key] = step.At
}

// complete makes what a new queue lacks, or one of a file.
func (q *WorkQueue) complete() {
	makeMap(&q.Processing)
	makeMap(&q.Again)
	makeMap(&q.Waiting)
	makeMap(&q.Waits)
	makeMap(&q.Failures)
	q.queued = map[string]bool{}
	for _, key := range q.Queue {
		q.queued[key] = true
	}
}
