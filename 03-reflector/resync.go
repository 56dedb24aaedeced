package reflector

// This file is the resync: every now and then the store is told to go over everything again, though nothing has
// happened.

import (
	"context"

	"client-go-workshop/internal/testkit/todo"
)

// resync calls the store's Resync when resyncPeriod has passed since the last one has ended, if ShouldResync agrees,
// until the context ends. With a period of 0 it does nothing. An error of the store goes to failed, and ends it.
func (r *Reflector) resync(ctx context.Context, failed chan<- error) {
	panic(todo.Task(5, "Reflector.resync"))
}
