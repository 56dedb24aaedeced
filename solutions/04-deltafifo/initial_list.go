package deltafifo

// This file counts the first list of a queue down, until all of it has been processed. Both queues embed it.
//
//workshop:file omit

// initialList is the first list of a queue. The queue's lock guards it.
type initialList struct {
	// populated is true if the first list has come, or an event before it.
	populated bool
	// initial counts the items of the first list that have not been processed yet: keys of a DeltaFIFO.
	initial int
	// synced is closed when the first list has been processed. Closing it needs the lock, reading from it does not.
	synced chan struct{}
}

// begin sets the first list's number of items. If the first list has come already, or an event before it, it does
// nothing.
func (l *initialList) begin(items int) {
	if l.populated {
		return
	}
	l.populated, l.initial = true, items
	if items == 0 {
		close(l.synced)
	}
}

// processed counts one item as processed.
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
