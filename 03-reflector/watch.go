package reflector

// This file is the watch: what happens after the list, told to the store event by event, and what is to be done when it
// ends. Most of a Reflector's life is here.

import (
	"errors"
	"time"

	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/todo"
)

// errStopped is why a watch ended when the context did.
var errStopped = errors.New("stop requested")

// again says whether a watch is to be begun again after the back-off, from the version that the store has: the server
// refuses connections, or has too much to do (429). The error may be wrapped.
func again(err error) bool {
	panic(todo.Task(4, "again"))
}

// consuming is what there is to know of one watch.
type consuming struct {
	start time.Time
	// inOrder says that each event's version is larger than the one's before it, from the first event on.
	inOrder bool
	// failed brings the error of a resync.
	failed <-chan error
	// initial ends it with the bookmark that ends the initial events, and leaves the watch open. No version before that one
	// is the Reflector's.
	initial bool
}

// tellBookmark tells a store that wants to know, which is one with the methods of cache.ReflectorBookmarkStore, of a
// bookmark. For other stores a bookmark is nothing.
func tellBookmark(store cache.ReflectorStore, version string) error {
	panic(todo.Task(6, "tellBookmark"))
}
