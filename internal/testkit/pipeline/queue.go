package pipeline

// This file is the state of the workqueue: its sets, the waiting keys with their times, and the failures.
//
// A worker records Get a moment after it has the key, so a call of the same instant can be recorded before it. A Get is
// therefore wrong only if another worker has the key.

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// WorkQueue is a workqueue. A key is in Queue, in Processing, or in Processing and Again.
type WorkQueue struct {
	Queue      []string                 `json:"queue"` // in order
	queued     map[string]bool          // the same keys
	Processing map[string]time.Duration `json:"processing"`      // since when a worker has the key
	Again      map[string]bool          `json:"again,omitempty"` // keys that were added while they are processed
	Waiting    map[string]time.Duration `json:"waiting"`         // when the key is due
	earliest   time.Duration            // no waiting key is due before
	Waits      map[string]time.Duration `json:"waits"` // in all; it stays when the key has come
	Failures   map[string]int           `json:"failures"`
	Down       bool                     `json:"down,omitempty"` // it shuts down
	Differs    string                   `json:"differs,omitempty"`
	// Of a View: the keys in Queue and Again, sorted, and how many keys each part has.
	Dirty  []string       `json:"dirty,omitempty"`
	Totals map[string]int `json:"totals,omitempty"`
}

func (q *WorkQueue) clone() WorkQueue {
	c := *q
	c.Queue, c.queued = slices.Clone(q.Queue), map[string]bool{}
	for _, key := range q.Queue {
		c.queued[key] = true
	}
	c.Processing, c.Again = copyMap(q.Processing), copyMap(q.Again)
	c.Waiting, c.Waits, c.Failures = copyMap(q.Waiting), copyMap(q.Waits), copyMap(q.Failures)
	return c
}

func (q *WorkQueue) add(key string) {
	if _, busy := q.Processing[key]; busy {
		q.Again[key] = true
	} else if !q.queued[key] {
		q.Queue, q.queued[key] = append(q.Queue, key), true
	}
}

// advance adds the keys whose time has come, the earliest first.
func (q *WorkQueue) advance(now time.Duration) {
	if now < q.earliest {
		return
	}
	q.earliest = math.MaxInt64
	var due []string
	for key, at := range q.Waiting {
		switch {
		case q.Waits[key] < 0: // unknown
		case at <= now:
			due = append(due, key)
		default:
			q.earliest = min(q.earliest, at)
		}
	}
	slices.SortFunc(due, func(a, b string) int { return int(q.Waiting[a] - q.Waiting[b]) })
	for _, key := range due {
		delete(q.Waiting, key)
		if !q.Down {
			q.add(key)
		}
	}
}

func (q *WorkQueue) apply(step *Step) {
	switch step.Verb {
	case Add:
		if !q.Down {
			q.add(step.Key)
		}
	case Get:
		if _, busy := q.Processing[step.Key]; busy {
			q.Differs = fmt.Sprintf("Get returns %s, which another worker has", step.Key)
		}
		if at := slices.Index(q.Queue, step.Key); at >= 0 {
			q.Queue = remove(q.Queue, at)
			delete(q.queued, step.Key)
		} else {
			delete(q.Waiting, step.Key) // its time has come a moment before the clock of the log says so
		}
		q.Processing[step.Key] = step.At
	case Done:
		delete(q.Processing, step.Key)
		if q.Again[step.Key] || step.Code == Queued {
			q.add(step.Key)
		}
		delete(q.Again, step.Key)
	case AddRateLimited:
		q.Failures[step.Key]++
		q.wait(step)
	case AddAfter:
		q.wait(step)
	case Forget:
		delete(q.Failures, step.Key)
		if _, waits := q.Waiting[step.Key]; !waits { // Forget ends no wait
			delete(q.Waits, step.Key)
		}
	case ShutDown:
		q.Down = true
		clear(q.Waiting)
	case Looked:
		q.Differs = step.Error
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
		q.earliest = min(q.earliest, step.At+step.Wait)
	}
}
