package reflector

// This file is the resync: once each period, the store goes over all its objects again. No request is sent. watch.go
// starts and ends it.

import (
	"context"

	"client-go-workshop/internal/testkit/todo"
)

// resync calls the store's Resync once each resyncPeriod, until the context ends. The next period starts when a resync
// has ended. With a period of 0 there is no resync. ShouldResync is called before each resync, which is skipped if
// it returns false.
//
// An error of Resync ends the resyncs and makes a list due. The error goes to failed.
func (r *Reflector) resync(ctx context.Context, failed chan<- error) {
	panic(todo.Task(5, "Reflector.resync"))
}
