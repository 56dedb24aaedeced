package reflector

// This file is the resync: once each period, the store goes over all its objects again. No request is sent. watch.go
// starts and ends it.

import (
	"context"
)

// resync calls the store's Resync once each resyncPeriod, until the context ends. The next period starts when a resync
// has ended. With a period of 0 there is no resync. ShouldResync is called before each resync, which is skipped if
// it returns false.
//
// An error of Resync ends the resyncs and makes a list due. The error goes to failed.
//
//workshop:task 5
func (r *Reflector) resync(ctx context.Context, failed chan<- error) {
	for {
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
			failed <- err // does not block, because failed has room for one error
			return
		}
	}
}
