// Package launcher starts the programs of a cluster in order, remembers them
// between commands, says how they are, and stops them.
//
//	component.go   what it needs to know about a program: the Plan
//	state.go       state.json, the memory between one command and the next
//	found.go       finding the programs without it
//	probe.go       asking a program over HTTPS whether it is well
//	start.go       Start and Restart
//	stop.go        Stop, and what is thrown away
//	status.go      Status
//	logs.go        reading and following logs
//	failure.go     saying in one sentence what went wrong
//
// There is no supervisor: `cluster up` returns to the shell and the programs
// go on by themselves. A program that dies stays dead until somebody types
// `cluster restart` or `cluster up`, and `cluster status` shows its last
// words. In a workshop that is what one wants: nothing is repaired behind the
// learner's back.
//
// The package knows nothing of Kubernetes; controlplane has all of that.
package launcher

import (
	"context"
	"time"
)

// Plan is a cluster to start.
type Plan struct {
	Server     string // address of the Kubernetes API, for people to read
	Nodes      int
	Keep       bool // Stop leaves the stored objects for the next Start
	Resumed    bool // there are such objects; a failed Start must not lose them
	Components []Component
	// Ready is asked, again and again, once every component is well; the
	// cluster is up when it returns nil. Its errors say what is missing.
	Ready func(context.Context) error
}

// Component is one program and how to run it. What state.json holds of it is
// enough to start the same program again in the same way.
type Component struct {
	Name  string   `json:"name"`
	Path  string   `json:"path"`
	Args  []string `json:"args"`
	Env   []string `json:"env"` // the whole environment
	Probe Probe    `json:"probe"`

	// Prepare does what must be done between the readiness of the component
	// before and the start of this one. May be nil. A restart skips it.
	Prepare func(context.Context) error `json:"-"`
}

// startTimeout is how long one component may take until its probe succeeds.
// The bar for all of them is ten seconds; a busy laptop gets more.
const startTimeout = 90 * time.Second
