package reflector

// This file is the watch: it applies every change after the list to the store, and chooses the next step when a watch
// ends.

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
)

// errStopped reports that a watch or a list has ended because the context has.
var errStopped = errors.New("stop requested")

// again reports whether the next watch can start from the store's version after the back-off: the server refuses
// connections, or has too much to do (429). The error may be wrapped.
func again(err error) bool {
	panic(todo.Task(4, "again"))
}

// session is one watch.
type session struct {
	watch.Interface
	start time.Time
	// events counts the events that were of the expected type.
	events int
	// inOrder is true if each event has a larger version than the one before it, from the first event on.
	inOrder bool
	// failed brings the error of a resync. Nil never does.
	failed <-chan error
}

// applyBookmark passes a bookmark's version to a store that has the methods of cache.ReflectorBookmarkStore, and
// returns the store's error. It does nothing for other stores.
func applyBookmark(store cache.ReflectorStore, version string) error {
	panic(todo.Task(6, "applyBookmark"))
}
