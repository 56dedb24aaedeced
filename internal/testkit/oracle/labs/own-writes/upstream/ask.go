// Package upstream has two pieces of k8s.io/kubernetes v1.37.2, unchanged except for the package clause: the module is
// too large for the workshop's go.mod. A test in the module cluster compares them with the originals. This file lets
// tests look into them.
package upstream

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Written returns the version that is recorded for an owner and a resource, or the empty string.
func (c *RealConsistencyStore) Written(owner types.NamespacedName, resource schema.GroupResource) string {
	record := c.getWrittenRecord(owner)
	if record == nil {
		return ""
	}
	record.versionsLock.Lock()
	defer record.versionsLock.Unlock()
	return record.versions[resource]
}

// Owners returns the number of owners that have a record.
func (c *RealConsistencyStore) Owners() int {
	c.writesLock.RLock()
	defer c.writesLock.RUnlock()
	return len(c.writes)
}
