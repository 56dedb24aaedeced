package deltafifo

// This file counts the first list of a queue down, until all of it has been processed. Both queues embed it.

// initialList is the first list of a queue. The queue's lock guards it.
type initialList struct {
	// populated is true if the first list has come, or an event before it.
	populated bool
	// initial counts the items of the first list that have not been processed yet: keys of a DeltaFIFO.
	initial int
	// synced is closed when the first list has been processed. Closing it needs the lock, reading from it does not.
	synced chan struct{}
}
