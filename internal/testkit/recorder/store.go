package recorder

// This file records the queue of deltas and the Indexer.

import (
	"slices"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/pipeline"
)

// fifo records a queue of deltas. A write is recorded before it, so that no Pop can overtake it in the log.
type fifo struct {
	cache.Queue
	rec      *Recorder
	kind     string
	replaced cache.DeltaType
	popping  atomic.Bool // an object is being processed
	waits    atomic.Bool // Pop waits for an object
}

func (f *fifo) step(verb string) pipeline.Step {
	return pipeline.Step{Seam: pipeline.Delta, Verb: verb, Kind: f.kind, By: "reflect"}
}

// write records a delta, and whether the call had to wait for the queue's lock.
func (f *fifo) write(verb cache.DeltaType, obj any, write func(any) error) error {
	step := Of(f.step(string(verb)), obj)
	f.rec.Gate.wait(&step)
	waits := f.popping.Load()
	if waits {
		step.Count = 1
	}
	f.rec.Log.Append(step)
	err := write(obj)
	step.Count = 0
	if waits {
		step.Verb = pipeline.Entered
		f.rec.Log.Append(step)
	}
	if err != nil {
		step.Verb, step.Error = pipeline.Failed, err.Error()
		f.rec.Log.Append(step)
	}
	return err
}

func (f *fifo) Add(obj any) error    { return f.write(cache.Added, obj, f.Queue.Add) }
func (f *fifo) Update(obj any) error { return f.write(cache.Updated, obj, f.Queue.Update) }
func (f *fifo) Delete(obj any) error { return f.write(cache.Deleted, obj, f.Queue.Delete) }

func (f *fifo) Replace(list []any, version string) error {
	step := f.step(pipeline.Replace)
	step.Version = version
	step.List = make([]pipeline.Ref, len(list))
	for i, obj := range list {
		step.List[i] = ref(f.replaced, obj)
	}
	f.rec.pass(&step)
	return f.Queue.Replace(list, version)
}

func (f *fifo) Resync() error {
	step := f.step(pipeline.Resync)
	step.By = "resync"
	f.rec.pass(&step)
	return f.Queue.Resync()
}

func (f *fifo) Close() {
	f.rec.Log.Append(f.step("Close"))
	f.Queue.Close()
}

func (f *fifo) Pop(process cache.PopProcessFunc) (any, error) {
	f.rec.Consumer.wait()
	f.waits.Store(true)
	defer f.waits.Store(false)
	return f.Queue.Pop(func(obj any, inInitialList bool) error {
		f.waits.Store(false)
		f.popping.Store(true)
		defer f.popping.Store(false)
		step := f.step(pipeline.Pop)
		step.By = "popAll"
		deltas, _ := obj.(cache.Deltas) // a wrong queue may hand out something else
		for _, d := range deltas {
			step.List = append(step.List, ref(d.Type, d.Object))
		}
		if len(step.List) > 0 {
			step.Key = step.List[len(step.List)-1].Key
		}
		f.rec.pass(&step)
		err := process(obj, inInitialList)
		step.Verb, step.List, step.Error = pipeline.Processed, nil, text(err)
		f.rec.Log.Append(step)
		return err
	})
}

// indexer records an Indexer. A write is recorded after it, with the entry that the Indexer then has.
type indexer struct {
	cache.Indexer
	rec    *Recorder
	kind   string
	size   atomic.Int64
	unread atomic.Bool // there were more than readIndexes objects
}

// readIndexes is up to how many objects the index tables are read after each write.
const readIndexes = 100

func (r *Recorder) indexer(below cache.Indexer, kind string) *indexer {
	i := &indexer{Indexer: below, rec: r, kind: kind}
	i.note(below.GetIndexers())
	r.look(i.looked)
	return i
}

// note records the names of indexes.
func (i *indexer) note(indexers cache.Indexers) {
	for name := range indexers {
		i.rec.Log.Append(pipeline.Step{Seam: pipeline.Store, Verb: pipeline.AddIndexers, Kind: i.kind, Text: name,
			List: []pipeline.Ref{{Type: name}}})
	}
}

func (i *indexer) AddIndexers(indexers cache.Indexers) error {
	err := i.Indexer.AddIndexers(indexers)
	if err == nil {
		i.note(indexers)
	}
	return err
}

// write holds the goroutine, writes, and records the object that is there afterwards.
func (i *indexer) write(verb string, obj any, write func(any) error) error {
	step := Of(pipeline.Step{Seam: pipeline.Store, Verb: verb, Kind: i.kind, By: "popAll"}, obj)
	i.rec.Gate.wait(&step)
	old, existed, _ := i.Indexer.GetByKey(step.Key)
	err := write(obj)
	now, exists, _ := i.Indexer.GetByKey(step.Key)
	if exists {
		step = Of(step, now)
		step.Text, step.Count = NoteOf(now), 1
	}
	step.Error = text(err)
	if exists && !existed && i.size.Add(1) > readIndexes {
		i.unread.Store(true)
	} else if existed && !exists {
		i.size.Add(-1)
	}
	if i.unread.Load() {
		step.Code = pipeline.NotRead
	} else {
		step.List = i.entries(step.Key, old, now)
	}
	i.rec.Log.Append(step)
	return err
}

func (i *indexer) Add(obj any) error    { return i.write(pipeline.Add, obj, i.Indexer.Add) }
func (i *indexer) Update(obj any) error { return i.write(pipeline.Update, obj, i.Indexer.Update) }
func (i *indexer) Delete(obj any) error { return i.write(pipeline.Delete, obj, i.Indexer.Delete) }

// entries returns the places of a key in the real indexes, under its old and new values.
func (i *indexer) entries(key string, old, now any) (entries []pipeline.Ref) {
	for name, valuesOf := range i.GetIndexers() {
		var values []string
		for _, obj := range []any{old, now} {
			if obj != nil {
				found, _ := valuesOf(obj) // an object that cannot be indexed has no place
				values = append(values, found...)
			}
		}
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			if keys, err := i.Indexer.IndexKeys(name, value); err == nil && slices.Contains(keys, key) {
				entries = append(entries, pipeline.Ref{Type: name, Key: key, Version: value})
			}
		}
	}
	return entries
}
