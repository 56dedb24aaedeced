package reflector

// This file is the resync: every now and then the store is told to go over everything again, though nothing has
// happened.

import (
	"context"
)

// resync calls the store's Resync when resyncPeriod has passed since the last one has ended, if ShouldResync agrees,
// until the context ends. With a period of 0 it does nothing. An error of the store goes to failed, and ends it.
//
//workshop:task 5
func (r *Reflector) resync(ctx context.Context, failed chan<- error) {
	for r.resyncPeriod > 0 {
		timer := r.clock.NewTimer(r.resyncPeriod)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if r.ShouldResync != nil && !r.ShouldResync() {
			continue
		}
		if err := r.store.Resync(); err != nil {
			failed <- err
			return
		}
	}
}
