package ownwrites

// This file has expectations, the older way: it counts the events that a controller's own writes must cause. It mirrors
// UIDTrackingControllerExpectations of k8s.io/kubernetes.

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"client-go-workshop/internal/testkit/todo"
)

// ExpectationsTimeout is how long an owner waits for events that do not come.
const ExpectationsTimeout = 5 * time.Minute

// Expectations counts, for each owner, the creations and deletions that its handlers have not received yet.
// NewExpectations makes one.
type Expectations struct {
	lock   sync.Mutex // guards the fields below
	owners map[types.NamespacedName]*expectation
}

// expectation is what one owner waits for.
type expectation struct {
	creations int
	deletions sets.Set[types.UID]
	since     time.Time
}

// NewExpectations returns Expectations without any owner.
func NewExpectations() *Expectations {
	return &Expectations{owners: map[types.NamespacedName]*expectation{}}
}

// ExpectCreations makes an owner wait for a number of creations. It replaces the owner's earlier expectations.
func (e *Expectations) ExpectCreations(owner types.NamespacedName, creations int) {
	panic(todo.Task(5, "Expectations.ExpectCreations"))
}

// ExpectDeletions makes an owner wait for the deletion of each UID. It replaces the owner's earlier expectations.
func (e *Expectations) ExpectDeletions(owner types.NamespacedName, uids ...types.UID) {
	panic(todo.Task(5, "Expectations.ExpectDeletions"))
}

// CreationObserved counts one creation of the owner's. The caller also reports a create that failed: its event never
// comes.
func (e *Expectations) CreationObserved(owner types.NamespacedName) {
	panic(todo.Task(5, "Expectations.CreationObserved"))
}

// DeletionObserved counts a deletion if the owner waits for this UID. A second report of the same UID does not count.
func (e *Expectations) DeletionObserved(owner types.NamespacedName, uid types.UID) {
	panic(todo.Task(5, "Expectations.DeletionObserved"))
}

// SatisfiedExpectations reports whether an owner waits for nothing. An owner without expectations waits for nothing.
// Expectations that are older than ExpectationsTimeout count as satisfied.
func (e *Expectations) SatisfiedExpectations(owner types.NamespacedName) bool {
	panic(todo.Task(5, "Expectations.SatisfiedExpectations"))
}

// DeleteExpectations forgets the expectations of an owner.
func (e *Expectations) DeleteExpectations(owner types.NamespacedName) {
	panic(todo.Task(5, "Expectations.DeleteExpectations"))
}
