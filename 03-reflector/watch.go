package reflector

// This file is the watch: it applies every change after the list to the store, and chooses the next step when a watch
// ends.

import (
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
)

// again reports whether a watch that could not start can start later, at the same version: the server refuses
// connections, or has too much to do (429). The error may be wrapped.
func again(err error) bool {
	panic(todo.Task(4, "again"))
}

// applyBookmark passes the version of a bookmark to a store that implements cache.ReflectorBookmarkStore. It returns
// the store's error.
func applyBookmark(store cache.ReflectorBookmarkStore, version string) error {
	panic(todo.Task(6, "applyBookmark"))
}
