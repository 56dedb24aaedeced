package deltafifo

// This file tracks how much of a queue's first list has been processed. Both queues embed it, and their lock guards it.
// Only what is exported is fixed; the rest is our choice.
//
//workshop:file omit

// initialList tracks the first list of a queue. The queue's lock guards it.
type initialList struct {
	populated bool
	initial   int
	synced    chan struct{}
}

// begin notes that the first list has come, with its number of items. An event before any list counts as an empty list.
// Later calls do nothing. synced is closed when populated is true and initial is 0, so begin and processed both check.
// Closing synced needs the lock; reading from it does not.
func (l *initialList) begin(items int) {
	if l.populated {
		return
	}
	l.populated, l.initial = true, items
	if items == 0 {
		close(l.synced)
	}
}

// processed counts one item as processed. After the first list it does nothing, so initial never goes below 0.
func (l *initialList) processed() {
	if l.initial == 0 {
		return
	}
	l.initial--
	if l.initial == 0 {
		close(l.synced)
	}
}

// isDone reports whether the first list has been processed.
func (l *initialList) isDone() bool {
	select {
	case <-l.synced:
		return true
	default:
		return false
	}
}
