package ownwrites

// EnsureReady of this design asks the caches without its lock. It is correct because it then forgets an entry only if the
// entry is still the one that it has compared.

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

type ConsistencyError struct {
	ReadRV, WroteRV string
	GroupResource   schema.GroupResource
}

func (e *ConsistencyError) Error() string {
	return fmt.Sprintf("the cache of %s is at %s, the write at %s", e.GroupResource, e.ReadRV, e.WroteRV)
}

func (s *RealConsistencyStore) EnsureReady(owner types.NamespacedName) error {
	seen := s.of(owner)
	for at, entry := range seen {
		cache, ok := s.caches[at.resource]
		if !ok {
			continue
		}
		read := cache.LastStoreSyncResourceVersion()
		if order, err := CompareResourceVersion(entry.version, read); err == nil && order > 0 {
			return &ConsistencyError{ReadRV: read, WroteRV: entry.version, GroupResource: at.resource}
		}
	}
	s.forget(seen)
	return nil
}

func (s *RealConsistencyStore) of(owner types.NamespacedName) map[place]written {
	s.lock.RLock()
	defer s.lock.RUnlock()
	found := map[place]written{}
	for at, entry := range s.entries {
		if at.owner == owner {
			found[at] = entry
		}
	}
	return found
}

func (s *RealConsistencyStore) forget(seen map[place]written) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for at, entry := range seen {
		if s.entries[at] == entry {
			delete(s.entries, at)
		}
	}
}
