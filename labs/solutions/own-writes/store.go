package ownwrites

// This file remembers writes: for each owner and resource the newest version. It mirrors the package
// pkg/controller/util/consistency of k8s.io/kubernetes.

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ConsistencyStore remembers what a controller has written, until its caches have seen it.
type ConsistencyStore interface {
	WroteAt(owner types.NamespacedName, ownerUID types.UID, resource schema.GroupResource, version string)
	Clear(owner types.NamespacedName, ownerUID types.UID)
	EnsureReady(owner types.NamespacedName) error
}

// LastSyncRVGetter is a cache that knows its version. A cache.Store is one.
type LastSyncRVGetter interface {
	LastStoreSyncResourceVersion() string
}

// RealConsistencyStore implements ConsistencyStore. NewConsistencyStore makes one.
type RealConsistencyStore struct {
	caches map[schema.GroupResource]LastSyncRVGetter
	lock   sync.Mutex // guards the fields below
	writes map[types.NamespacedName]record
}

// record has the newest versions that were written for one owner.
type record struct {
	uid      types.UID
	versions map[schema.GroupResource]string
}

// NewConsistencyStore returns a store that compares writes with these caches. The caches must not change afterwards.
func NewConsistencyStore(caches map[schema.GroupResource]LastSyncRVGetter) *RealConsistencyStore {
	return &RealConsistencyStore{caches: caches, writes: map[types.NamespacedName]record{}}
}

// WroteAt records the version of a write, unless a newer one of the same owner and resource is recorded. A version that
// cannot be compared changes nothing. If the record is of another UID, the owner was deleted and created again: WroteAt
// then replaces the whole record.
//
//workshop:task 2 RealConsistencyStore.WroteAt
func (s *RealConsistencyStore) WroteAt(owner types.NamespacedName, ownerUID types.UID, resource schema.GroupResource,
	version string) {
	if _, err := CompareResourceVersion(version, version); err != nil {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	known, ok := s.writes[owner]
	if !ok || known.uid != ownerUID {
		known = record{ownerUID, map[schema.GroupResource]string{}}
		s.writes[owner] = known
	}
	if before, ok := known.versions[resource]; ok {
		if order, err := CompareResourceVersion(before, version); err == nil && order >= 0 {
			return
		}
	}
	known.versions[resource] = version
}

// Clear forgets the record of an owner. If ownerUID is not empty, Clear keeps a record of another UID.
//
//workshop:task 2 RealConsistencyStore.Clear
func (s *RealConsistencyStore) Clear(owner types.NamespacedName, ownerUID types.UID) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if ownerUID == "" || s.writes[owner].uid == ownerUID {
		delete(s.writes, owner)
	}
}

// Written returns the version that is recorded for an owner and a resource, or the empty string.
//
//workshop:task 2 RealConsistencyStore.Written
func (s *RealConsistencyStore) Written(owner types.NamespacedName, resource schema.GroupResource) string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.writes[owner].versions[resource]
}

// Owners returns the number of owners that have a record.
//
//workshop:task 2 RealConsistencyStore.Owners
func (s *RealConsistencyStore) Owners() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.writes)
}

// NoopConsistencyStore remembers nothing, and is always ready. It makes the same controller without the store.
type NoopConsistencyStore struct{}

// WroteAt does nothing.
func (NoopConsistencyStore) WroteAt(types.NamespacedName, types.UID, schema.GroupResource, string) {}

// Clear does nothing.
func (NoopConsistencyStore) Clear(types.NamespacedName, types.UID) {}

// EnsureReady returns nil.
func (NoopConsistencyStore) EnsureReady(types.NamespacedName) error { return nil }
