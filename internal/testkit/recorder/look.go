package recorder

// This file looks at the real structures, and records where they differ from the state of the log. It looks only while
// nothing happens, so a difference is one of the code and not one of timing. A queue of deltas and a handler's ring
// cannot be read; but if their consumer waits, they are empty.

import (
	"fmt"
	"slices"

	"client-go-workshop/internal/testkit/pipeline"
)

// look registers a function that compares one structure with the state. It returns a step to record, if there is one.
func (r *Recorder) look(f func(*pipeline.State) (pipeline.Step, bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookers = append(r.lookers, f)
}

// Look compares the real structures with state, which must be that of the end of the log, and records the differences.
// It records nothing if a step was made meanwhile, or if a goroutine was held until now. It calls the layers, so it
// blocks if they do.
func (r *Recorder) Look(state *pipeline.State) {
	if !r.Gate.openFor(pipeline.InTime) {
		return
	}
	r.mu.Lock()
	lookers := slices.Clone(r.lookers)
	r.mu.Unlock()
	found := state.Overdue()
	for _, f := range lookers {
		if step, differs := f(state); differs {
			found = append(found, step)
		}
	}
	if _, last := r.Log.Range(); last != state.N {
		return
	}
	for _, step := range found {
		r.Log.Append(step)
	}
}

// looked empties the state of the queue if Pop waits, and has had the time to take what went in.
func (f *fifo) looked(state *pipeline.State) (pipeline.Step, bool) {
	step := pipeline.Step{Seam: pipeline.Delta, Verb: pipeline.Looked, Kind: f.kind}
	known := state.Informers[f.kind]
	last := f.rec.Log.Steps(state.N, 1)
	if known == nil || !f.waits.Load() || len(last) == 0 || state.At-last[0].At < pipeline.InTime {
		return step, false
	}
	step.Count = int64(len(known.FIFO.Keys))
	return step, step.Count > 0
}

// looked compares the keys of the Indexer.
func (i *indexer) looked(state *pipeline.State) (pipeline.Step, bool) {
	step := pipeline.Step{Seam: pipeline.Store, Verb: pipeline.Looked, Kind: i.kind}
	keys := i.Indexer.ListKeys()
	step.Count = int64(len(keys))
	known := state.Informers[i.kind]
	if known == nil {
		return step, false
	}
	if len(keys) != len(known.Store.Objects) {
		step.Error = fmt.Sprintf("it has %d keys, and its calls left %d", len(keys), len(known.Store.Objects))
	}
	for _, key := range keys {
		if _, ok := known.Store.Objects[key]; !ok {
			step.Error = fmt.Sprintf("it lists %s, which no call has left there", key)
		}
	}
	return step, step.Error != known.Store.Differs
}

// looked compares the length of the queue.
func (q *queue[T]) looked(state *pipeline.State) (pipeline.Step, bool) {
	step := pipeline.Step{Seam: pipeline.Queue, Verb: pipeline.Looked}
	q.mu.Lock()
	n := q.Len()
	q.mu.Unlock()
	step.Count = int64(n)
	shown := state.Queue.Queue
	if n < len(shown) || n > len(shown) && len(state.Queue.Waiting) == 0 {
		step.Error = fmt.Sprintf("its length is %d, and its calls left %d: %q", n, len(shown), shown[:min(3, len(shown))])
	}
	return step, n < len(shown) || step.Error != state.Queue.Differs
}
