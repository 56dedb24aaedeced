package ownwrites

// This design has one map of entries, each for an owner and a resource. It is correct because an entry has the UID, too:
// a write for another UID removes the entries of the old one under the same lock.

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

type ConsistencyStore interface {
	WroteAt(owner types.NamespacedName, ownerUID types.UID, resource schema.GroupResource, version string)
	Clear(owner types.NamespacedName, ownerUID types.UID)
	EnsureReady(owner types.NamespacedName) error
}

type LastSyncRVGetter interface {
	LastStoreSyncResourceVersion() string
}

type RealConsistencyStore struct {
	caches  map[schema.GroupResource]LastSyncRVGetter
	lock    sync.RWMutex
	entries map[place]written
}

type place struct {
	owner    types.NamespacedName
	resource schema.GroupResource
}

type written struct {
	uid     types.UID
	version string
}

func NewConsistencyStore(caches map[schema.GroupResource]LastSyncRVGetter) *RealConsistencyStore {
	return &RealConsistencyStore{caches: caches, entries: map[place]written{}}
}

func (s *RealConsistencyStore) WroteAt(owner types.NamespacedName, ownerUID types.UID, resource schema.GroupResource,
	version string) {
	if _, err := CompareResourceVersion("1", version); err != nil {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for at, entry := range s.entries {
		if at.owner == owner && entry.uid != ownerUID {
			delete(s.entries, at)
		}
	}
	at := place{owner, resource}
	if newer(version, s.entries[at].version) {
		s.entries[at] = written{ownerUID, version}
	}
}

// newer reports whether a is newer than b. A version that cannot be compared is older than any.
func newer(a, b string) bool {
	order, err := CompareResourceVersion(a, b)
	return err != nil || order > 0
}

func (s *RealConsistencyStore) Clear(owner types.NamespacedName, ownerUID types.UID) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for at, entry := range s.entries {
		if at.owner == owner && (ownerUID == "" || ownerUID == entry.uid) {
			delete(s.entries, at)
		}
	}
}

func (s *RealConsistencyStore) Written(owner types.NamespacedName, resource schema.GroupResource) string {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.entries[place{owner, resource}].version
}

func (s *RealConsistencyStore) Owners() int {
	s.lock.RLock()
	defer s.lock.RUnlock()
	owners := map[types.NamespacedName]bool{}
	for at := range s.entries {
		owners[at.owner] = true
	}
	return len(owners)
}

type NoopConsistencyStore struct{}

func (NoopConsistencyStore) WroteAt(types.NamespacedName, types.UID, schema.GroupResource, string) {}

func (NoopConsistencyStore) Clear(types.NamespacedName, types.UID) {}

func (NoopConsistencyStore) EnsureReady(types.NamespacedName) error { return nil }
