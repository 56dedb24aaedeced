package reflector

// This file is the bonus: a list that comes as a watch. The server sends what there is as ADDED, one by one, and then a
// bookmark that says: that was all. It need not hold the whole list in its memory, nor need the client. It is what
// client-go does first, since 0.35.

import (
	"context"

	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/todo"
)

// streamList begins a watch that sends what there is first, and replaces what is in the store when all of it has come. It
// returns the watch, which goes on from there. It returns nil and no error when the context ends; an error means that
// this server cannot do it, and that a list may.
//
// It asks for the last version that was seen, or for none. If the connection breaks before the bookmark, or the server
// refuses connections or has too much to do, it begins anew; if the server refuses the version, without one. Nothing of an
// attempt that did not get to its bookmark gets into the store, and no version in it counts as seen: its events are in no
// order. If Replace fails, it stops the watch and returns the error.
//
// ListAndWatchWithContext calls it first, each time anew, if r.streams; that it failed the last time means nothing.
func (r *Reflector) streamList(ctx context.Context) (watch.Interface, error) {
	panic(todo.Task(7, "Reflector.streamList"))
}
