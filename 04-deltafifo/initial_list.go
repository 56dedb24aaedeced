package deltafifo

// This file tracks how much of a queue's first list has been processed. Both queues embed it, and their lock guards it.
// Only what is exported is fixed; the rest is our choice.

// initialList tracks the first list of a queue. The queue's lock guards it.
type initialList struct {
	populated bool
	initial   int
	synced    chan struct{}
}
