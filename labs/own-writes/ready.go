package ownwrites

// This file decides whether the caches have seen an owner's writes.

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"client-go-workshop/internal/testkit/todo"
)

// ConsistencyError reports a cache that is behind a write.
type ConsistencyError struct {
	ReadRV, WroteRV string // the version of the cache, and that of the write
	GroupResource   schema.GroupResource
}

func (e *ConsistencyError) Error() string {
	return fmt.Sprintf("the cache of %s is at version %s, before the write at version %s",
		e.GroupResource, e.ReadRV, e.WroteRV)
}

// EnsureReady returns nil if each cache is at least as new as the owner's writes to its resource. It then forgets the
// owner's record, so that memory does not grow. Otherwise the record stays, and the error is a *ConsistencyError with
// the resource and both versions.
//
// A write does not count if its resource has no cache, if the cache has no version, or if the two versions cannot be
// compared: it would block its owner forever. It is forgotten with the others. EnsureReady may run beside WroteAt for
// the same owner: it forgets no version that WroteAt records meanwhile.
func (s *RealConsistencyStore) EnsureReady(owner types.NamespacedName) error {
	panic(todo.Task(3, "RealConsistencyStore.EnsureReady"))
}
