package todaysinformer

// This file replaces the content of the store by a list. A queue with atomic events does not know the store, so it
// cannot find the objects that a list no longer has. The consumer finds them here. It mirrors the second half of
// client-go's tools/cache/controller.go.

import (
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
)

// ReplaceAll makes a list the whole content of the store, and reports each difference to the handler. For readers of
// the store ReplaceAll is one step: they see the old content or the new one, and never half a list. The store's version
// becomes that of the list. The store changes first, then the handler is called: it finds the whole list in the store.
//
// A stored object that the list does not have is a deletion. The handler receives a tombstone with the key and the
// stored object. An object whose key the store has is an update, from the stored object to the listed one, even if
// nothing changed. Every other object is an addition, with isInInitialList. Deletions come first, in any order;
// additions and updates follow in the order of the list.
//
// If an object of the list has no key, the error is a cache.KeyError that carries the object. If the store refuses the
// list, ReplaceAll returns the error. After an error the store is the same as before, and the handler receives nothing.
//
// ReplaceAll does not change the objects or the list.
//
// It mirrors cache.processReplacedAllInfo.
func ReplaceAll(
	handler cache.ResourceEventHandler, store cache.Store, list cache.ReplacedAllInfo, isInInitialList bool,
) error {
	panic(todo.Task(1, "ReplaceAll"))
}
