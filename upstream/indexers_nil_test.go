package upstream

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Promise: "If unset/unspecified, no indexers are configured." (SharedIndexInformerOptions,
// tools/cache/shared_informer.go:470)
//
// Defect: an informer or a store without indexers keeps the nil map, and its AddIndexers writes to it
// (tools/cache/thread_safe_store.go, addIndexers).
//
// Impact: AddIndexers panics with "assignment to entry in nil map", far from the call that passed nil.
//
// Upstream: no report found.
//
// Repair: copy the map in NewThreadSafeStore; a copy of nil is an empty map.
func TestAddIndexers_panics_if_the_informer_was_made_without(t *testing.T) {
	informer := cache.NewSharedIndexInformer(server{}, &corev1.Pod{}, time.Duration(0), nil)
	panicked := func() (panicked bool) {
		defer func() { panicked = recover() != nil }()
		_ = informer.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		return false
	}()
	present(t, panicked, "AddIndexers adds the index")
}
