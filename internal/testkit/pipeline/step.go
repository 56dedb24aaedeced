// Package pipeline is a run of an informer and its controller as data: a log of steps, and the state that the steps
// lead to.
//
//		recorder ──Step──▶ Log ──▶ State.Apply ──▶ View ──▶ the page of `workshop show`
//
//	  - step.go, this one: a step.
//	  - sentence.go: a step as a sentence.
//	  - state.go: the state after some steps; informer.go, handlers.go and queue.go have its parts.
//	  - view.go: the state as the page draws it, with at most so many rows.
//	  - facts.go: how far the layers are behind the server, and what is known about client-go's own informer.
//	  - axis.go: the run as a time axis. timeline.go: the run of one key as lines of text.
//	  - log.go: the steps of a run, and the state at any of them.
//	  - recording.go: a log as a file.
//
// The state comes from the steps alone. So a recording shows the same as the run did, at each of its steps.
//
// Left out: the objects. A step has an object's kind, name, version and a short note, so no data of a Secret is here.
package pipeline

import "time"

// Seam is the place between two layers at which a step was recorded.
type Seam string

// The seams, in the order in which a change passes them.
const (
	Server    Seam = "server"    // the API server: its objects and its faults
	Request   Seam = "request"   // chapter 01: a request and its answer
	Stream    Seam = "stream"    // chapter 02: the bytes of a watch
	Event     Seam = "event"     // chapter 02: an event of a watch
	Reflector Seam = "reflector" // chapter 03: lists and watches
	Delta     Seam = "delta"     // chapter 04: the queue of deltas
	Store     Seam = "store"     // chapter 05: the Indexer
	Handler   Seam = "handler"   // chapter 07: event handlers
	Queue     Seam = "queue"     // chapter 06: the workqueue
	Worker    Seam = "worker"    // chapter 07: the workers of the controller
	Note      Seam = "note"      // an error that the code reported, or a function that is not written
)

// Seams are the seams at which a goroutine can be held.
var Seams = []Seam{Request, Stream, Event, Reflector, Delta, Store, Handler, Queue, Worker}

// The verbs of steps. Deltas and events have their types as verbs.
const (
	// Server. A written object has Key and Version. Did has a text, and a key if it is about the next change of an object.
	Wrote   = "wrote"
	Removed = "removed"
	Did     = "did"
	// Request: Count is its number, Text the method and path. Code is that of the answer.
	Sent     = "sent"
	Answered = "answered"
	// Stream: Count is the number of the request. Bytes is what arrived, Frames how many ended in it.
	Read  = "read"
	Ended = "ended"
	// Reflector: Version is the one that it asks for, or has received.
	List     = "list"
	Listed   = "listed"
	Watch    = "watch"
	Watching = "watching"
	Unwatch  = "stopped" // the watch has ended
	Run      = "run"     // ListAndWatch begins
	Returned = "returned"
	// Delta: List has the objects of Replace and the deltas of Pop.
	Replace   = "Replace"
	Resync    = "Resync"
	Pop       = "Pop"
	Processed = "processed"
	Failed    = "failed"
	Depth     = "depth"   // Count is how many deltas client-go's own queue has; Wait of its Processed is the time for one
	Entered   = "entered" // a call that had to wait for the queue's lock has returned
	// Store: List has the entry of the object after the call, and its places in the indexes.
	Add         = "Add"
	Update      = "Update"
	Delete      = "Delete"
	AddIndexers = "AddIndexers"
	Closed      = "closed" // the Indexer and the queue cannot be seen; the handlers say what is there
	Looked      = "looked" // a count of the real structures
	NotRead     = -1       // Code of a write: the index tables were not read
	// Handler: By is its name.
	Joined   = "joined"
	Left     = "left"
	OnAdd    = "OnAdd"
	OnUpdate = "OnUpdate"
	OnDelete = "OnDelete"
	// Queue: Wait is that of the limiter.
	Get            = "Get"
	Done           = "Done"
	Forget         = "Forget"
	AddRateLimited = "AddRateLimited"
	AddAfter       = "AddAfter"
	ShutDown       = "ShutDown"
	Queued         = 1 // Code of a Done after which the queue has the key again
	// Worker: By is its name.
	Waits  = "waits"
	Begins = "begins" // to reconcile Key
	Writes = "writes" // Text is create, update or delete; Answered follows
	Says   = "says"   // an Event
	// Note.
	Error     = "error"
	Unwritten = "unwritten"
)

// Step is one thing that happened. The zero value of a field means that the step does not have it.
type Step struct {
	N       int64         `json:"n"`  // its place in the log, from 1
	At      time.Duration `json:"at"` // since the start of the log
	Seam    Seam          `json:"seam"`
	Verb    string        `json:"verb"`
	Kind    string        `json:"kind,omitempty"` // of the object; it also names the informer
	Key     string        `json:"key,omitempty"`  // namespace/name
	Version string        `json:"version,omitempty"`
	By      string        `json:"by,omitempty"` // the goroutine's role: "reflect", "popAll", "handler 1", "worker 2"
	Text    string        `json:"text,omitempty"`
	Error   string        `json:"error,omitempty"`
	Wait    time.Duration `json:"wait,omitempty"`
	Count   int64         `json:"count,omitempty"`
	Bytes   int           `json:"bytes,omitempty"`
	Frames  int           `json:"frames,omitempty"`
	Code    int           `json:"code,omitempty"`
	List    []Ref         `json:"list,omitempty"`
}

// Ref is an object in the list of a step.
type Ref struct {
	Type    string `json:"type,omitempty"` // of a delta; of an entry in an index, the index
	Key     string `json:"key"`
	Version string `json:"version,omitempty"` // of an entry in an index, the indexed value
}
