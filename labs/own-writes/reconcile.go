package ownwrites

// This file has one Reconcile: may the cache be believed, which Pods are there, and which are missing?

import (
	"context"

	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
)

// Reconcile gives one Deployment the wanted number of Pods. A Deployment whose Replicas is nil wants one. Reconcile may
// run for different Deployments at once. It never changes a cached object.
//
// If EnsureReady returns an error, Reconcile writes nothing and returns that error (until Patience is over). When
// EnsureReady has returned nothing but errors for Patience (or longer), Reconcile calls Stale with the last one and
// reads the Pods from the server.
//
// After a create whose answer was lost, Reconcile reads the Pods from the server, whatever EnsureReady returns
// (Reconcile still calls it, and Patience goes on). Any error counts as a lost answer, except a status from 400 to 499.
// Only the end of Patience calls Stale. After a read from the server, the newest version of the Pods that listed
// returned replaces the Deployment's record, and Patience begins again with the next error.
//
// A Deployment that is not in the cache is gone, or the cache does not have it yet: Reconcile returns EnsureReady's
// error for it too, but after Patience it clears the record and reads nothing (so Stale is not called). It then forgets
// the Deployment (also when EnsureReady returns nil), so that memory does not grow.
//
// Reconcile creates the missing Pods, and records the version of each. A Pod that is being deleted does not count. Of
// surplus Pods it deletes the last by name, each with its UID as a precondition. It does not change their grace period.
// A Pod that is gone already is no error (a 409, because a new Pod has its name, may be returned). After an error it
// writes nothing more, and returns the error.
func (c *Controller) Reconcile(ctx context.Context, key cache.ObjectName) error {
	panic(todo.Task(4, "Controller.Reconcile"))
}
