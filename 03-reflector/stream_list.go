package reflector

// This file is the bonus: a list that comes as a watch. The server sends its objects as ADDED, one by one, and then a
// bookmark that ends the list. Neither server nor client holds the whole list in its encoded form. client-go tries this
// first, since 0.35.

import (
	"context"

	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/todo"
)

// streamList starts a watch that begins with the objects that exist, collects them up to the bookmark that ends them,
// and replaces the store's contents. It returns the watch, which goes on from there. It returns errStopped if the
// context ends. Any other error means that this server cannot stream a list, or that the store has failed; a list may
// succeed.
//
// It asks for the store's version, or for none. If the connection breaks before the bookmark, or the server refuses
// connections or has too much to do, it starts again; if the server refuses the version, without one. An attempt that
// did not reach its bookmark leaves nothing in the store, and none of its versions counts as seen: its events have no
// order. If Replace fails, streamList stops the watch and returns the error.
//
// ListAndWatchWithContext calls it first, on every call, if r.streams; an earlier failure means nothing.
func (r *Reflector) streamList(ctx context.Context) (watch.Interface, error) {
	panic(todo.Task(7, "Reflector.streamList"))
}
