package ownwrites

// This file has expectations, the older way: it counts the events that a controller's own writes must cause. It mirrors
// UIDTrackingControllerExpectations of k8s.io/kubernetes.

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
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
//
//workshop:task 5 Expectations.ExpectCreations
func (e *Expectations) ExpectCreations(owner types.NamespacedName, creations int) {
	e.expect(owner, &expectation{creations: creations, since: time.Now()})
}

// ExpectDeletions makes an owner wait for the deletion of each UID. It replaces the owner's earlier expectations.
//
//workshop:task 5 Expectations.ExpectDeletions
func (e *Expectations) ExpectDeletions(owner types.NamespacedName, uids ...types.UID) {
	e.expect(owner, &expectation{deletions: sets.New(uids...), since: time.Now()})
}

//workshop:omit
func (e *Expectations) expect(owner types.NamespacedName, wanted *expectation) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.owners[owner] = wanted
}

// CreationObserved counts one creation of the owner's. The caller also reports a create that failed: its event never
// comes.
//
//workshop:task 5 Expectations.CreationObserved
func (e *Expectations) CreationObserved(owner types.NamespacedName) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if waiting, ok := e.owners[owner]; ok {
		waiting.creations--
	}
}

// DeletionObserved counts a deletion if the owner waits for this UID. A second report of the same UID does not count.
//
//workshop:task 5 Expectations.DeletionObserved
func (e *Expectations) DeletionObserved(owner types.NamespacedName, uid types.UID) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if waiting, ok := e.owners[owner]; ok {
		waiting.deletions.Delete(uid)
	}
}

// SatisfiedExpectations reports whether an owner waits for nothing. An owner without expectations waits for nothing.
// Expectations that are older than ExpectationsTimeout count as satisfied.
//
//workshop:task 5 Expectations.SatisfiedExpectations
func (e *Expectations) SatisfiedExpectations(owner types.NamespacedName) bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	waiting, ok := e.owners[owner]
	return !ok || waiting.creations <= 0 && waiting.deletions.Len() == 0 || time.Since(waiting.since) > ExpectationsTimeout
}

// DeleteExpectations forgets the expectations of an owner.
//
//workshop:task 5 Expectations.DeleteExpectations
func (e *Expectations) DeleteExpectations(owner types.NamespacedName) {
	e.lock.Lock()
	defer e.lock.Unlock()
	delete(e.owners, owner)
}
