package controller_test

// This file has the helpers that stop the informer at a moment which otherwise lasts an instant, and those that fail
// it: at a write of the store, at a look into the store, and at the end of the first list.

import (
	"errors"
	"runtime"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
)

// writes holds the writes of one object. An index function does it, since client-go's informer, which does not take the
// layers that it is given, calls that too: at each write, with the indexer's lock held.
type writes struct {
	lock    sync.Mutex
	of      string
	door    gate.Gate
	reached bool
}

// newWorldOfWrites makes a world whose writes can be held.
func newWorldOfWrites(t *guard.T, names ...string) (*world, *writes) {
	w, held := newWorld(t, names...), &writes{}
	indexers := cache.Indexers{"held": func(obj any) ([]string, error) {
		held.wait(obj.(*appsv1.Deployment).Name)
		return nil, nil
	}}
	w.informer = controller.NewSharedIndexInformerOn(below, w.source(), &appsv1.Deployment{},
		cache.SharedIndexInformerOptions{Indexers: indexers})
	return w, held
}

// hold holds the writes of an object until the gate is opened.
func (h *writes) hold(t *guard.T, name string) gate.Gate {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.of, h.door, h.reached = name, gate.New(t), false
	return h.door
}

func (h *writes) wait(name string) {
	h.lock.Lock()
	door, reached := h.door, h.of == name
	h.reached = h.reached || reached
	h.lock.Unlock()
	if reached {
		door.Wait()
	}
}

// isHolding reports whether a write has come to the gate. Client-go's informer stores a list in one go, in which
// nothing is written of an object that is missing.
func (h *writes) isHolding() bool {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.reached
}

// overIndexer and overQueue put something of the test over the indexer or the queue that the layers make.
func overIndexer(below layers.Layers, over func(made cache.Indexer) cache.Indexer) layers.Layers {
	makes := below.NewIndexer
	below.NewIndexer = func(keys cache.KeyFunc, indexers cache.Indexers) cache.Indexer {
		return over(makes(keys, indexers))
	}
	return below
}

func overQueue(below layers.Layers, over func(made cache.Queue) cache.Queue) layers.Layers {
	makes := below.NewDeltaFIFO
	below.NewDeltaFIFO = func(options cache.DeltaFIFOOptions) cache.Queue { return over(makes(options)) }
	return below
}

// pausingIndexer starts a goroutine after a change of the store, or after a look at all of it, and gives it far more
// turns than it needs if no lock is in its way. It does so on one processor, so that the goroutine gets every turn that
// is given up, however busy the machine is.
type pausingIndexer struct {
	cache.Indexer
	t            *guard.T
	change, list func() // nil as long as no goroutine is to start
}

func (p *pausingIndexer) under(below layers.Layers) layers.Layers {
	return overIndexer(below, func(made cache.Indexer) cache.Indexer { p.Indexer = made; return p })
}

// pause runs a function once, on a goroutine of its own.
func (p *pausingIndexer) pause(do *func()) {
	if *do == nil {
		return
	}
	first := *do
	*do = nil
	headStart(p.t, first)
}

// headStart starts a goroutine, and returns when it has ended or waits, even if it waits for a lock.
func headStart(t *guard.T, do func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	t.Go(do)
	yield(1_000)
}

func yield(turns int) {
	for range turns {
		runtime.Gosched()
	}
}

func (p *pausingIndexer) changed(err error) error {
	p.pause(&p.change)
	return err
}

func (p *pausingIndexer) Add(obj any) error    { return p.changed(p.Indexer.Add(obj)) }
func (p *pausingIndexer) Update(obj any) error { return p.changed(p.Indexer.Update(obj)) }
func (p *pausingIndexer) Delete(obj any) error { return p.changed(p.Indexer.Delete(obj)) }

func (p *pausingIndexer) List() []any {
	defer p.pause(&p.list)
	return p.Indexer.List()
}

func (p *pausingIndexer) ListKeys() []string {
	defer p.pause(&p.list)
	return p.Indexer.ListKeys()
}

// failingIndexer fails one of its methods for the Deployment named bad.
type failingIndexer struct {
	cache.Indexer
	method string
	panics bool
	failed int
}

func (f *failingIndexer) under(below layers.Layers) layers.Layers {
	return overIndexer(below, func(made cache.Indexer) cache.Indexer { f.Indexer = made; return f })
}

func (f *failingIndexer) fails(method string, obj any) error {
	if d, ok := obj.(*appsv1.Deployment); ok && d.Name == "bad" && method == f.method {
		f.failed++
		if f.panics {
			panic("the store is on fire")
		}
		return errors.New("the store is on fire")
	}
	return nil
}

func (f *failingIndexer) Get(obj any) (any, bool, error) {
	if err := f.fails("Get", obj); err != nil {
		return nil, false, err
	}
	return f.Indexer.Get(obj)
}

func (f *failingIndexer) Add(obj any) error {
	if err := f.fails("Add", obj); err != nil {
		return err
	}
	return f.Indexer.Add(obj)
}

func (f *failingIndexer) Update(obj any) error {
	if err := f.fails("Update", obj); err != nil {
		return err
	}
	return f.Indexer.Update(obj)
}

func (f *failingIndexer) Delete(obj any) error {
	if err := f.fails("Delete", obj); err != nil {
		return err
	}
	return f.Indexer.Delete(obj)
}

// lateSynced is a queue whose first list is through when the test opens the gate.
type lateSynced struct {
	cache.Queue
	door gate.Gate
}

func (l lateSynced) under(below layers.Layers) layers.Layers {
	return overQueue(below, func(made cache.Queue) cache.Queue { return lateSynced{made, l.door} })
}

func (l lateSynced) HasSynced() bool                     { return cache.IsDone(l) && l.Queue.HasSynced() }
func (l lateSynced) HasSyncedChecker() cache.DoneChecker { return l }
func (l lateSynced) Name() string                        { return "the queue" }
func (l lateSynced) Done() <-chan struct{}               { return l.door }

// slowFirst is a queue that gives nothing out until the test opens the gate. Changes join the items of the first list.
type slowFirst struct {
	cache.Queue
	door gate.Gate
}

func (s slowFirst) under(below layers.Layers) layers.Layers {
	return overQueue(below, func(made cache.Queue) cache.Queue { return slowFirst{made, s.door} })
}

func (s slowFirst) Pop(process cache.PopProcessFunc) (any, error) {
	s.door.Wait()
	return s.Queue.Pop(process)
}

// slowAnswer is a queue that answers HasSynced when the test opens the gate.
type slowAnswer struct {
	cache.Queue
	door  gate.Gate
	asked bool
}

func (s *slowAnswer) under(below layers.Layers) layers.Layers {
	return overQueue(below, func(made cache.Queue) cache.Queue { s.Queue = made; return s })
}

func (s *slowAnswer) HasSynced() bool {
	s.asked = true
	s.door.Wait()
	return s.Queue.HasSynced()
}

// fedQueue is a queue whose consumer the test feeds: once there is a function, the next Pop calls it, and it passes
// deltas to the consumer as fast as it likes. This file's other helpers are too slow to meet a wait of an instant.
type fedQueue struct {
	cache.Queue
	feed func(process func(...cache.Delta))
	fed  bool // false if the informer does not take the layers that it is given, as client-go's
}

func (q *fedQueue) under(below layers.Layers) layers.Layers {
	return overQueue(below, func(made cache.Queue) cache.Queue { q.Queue = made; return q })
}

func (q *fedQueue) Pop(process cache.PopProcessFunc) (any, error) {
	feed := q.feed
	if feed == nil {
		return q.Queue.Pop(process)
	}
	q.feed, q.fed = nil, true
	var failed error
	feed(func(deltas ...cache.Delta) { failed = errors.Join(failed, process(cache.Deltas(deltas), false)) })
	return nil, failed
}
