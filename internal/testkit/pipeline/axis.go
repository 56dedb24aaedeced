package pipeline

// This file is a run as a time axis: how many steps each station had in each column, and marks for what went wrong.

import "time"

// The signs of marks.
const (
	markError   = "error"
	markRelist  = "relist"
	markBackOff = "back-off"
)

// Axis is a part of a run. All times are milliseconds.
type Axis struct {
	From  int64             `json:"from"`
	To    int64             `json:"to"`
	Steps []int64           `json:"steps"` // the last step of each column; 0 for a column without steps
	Lanes map[Seam][]int    `json:"lanes"` // how many steps a station had in each column
	Marks map[Seam][]string `json:"marks"` // in each column, at most one
}

// Axis returns the part of the run between two times in so many columns. If to is 0, it goes to the end.
func (l *Log) Axis(from, to time.Duration, columns int) Axis {
	begin, last := l.Range()
	ends := append(l.since(begin, begin+1), l.Steps(last, 1)...)
	if len(ends) < 2 || columns < 1 {
		return Axis{}
	}
	if from = max(from, ends[0].At); to <= from {
		to = ends[1].At
	}
	a := Axis{From: from.Milliseconds(), To: to.Milliseconds(), Steps: make([]int64, columns),
		Lanes: map[Seam][]int{}, Marks: map[Seam][]string{}}
	width := max(1, (to-from)/time.Duration(columns)+1)
	lists := map[string]int{}
	for s := range l.each(begin, last) {
		mark := s.mark(lists)
		if s.At < from || s.At > to {
			continue
		}
		column, seam := int((s.At-from)/width), s.Seam
		if seam == Event {
			seam = Stream
		}
		if a.Lanes[seam] == nil {
			a.Lanes[seam], a.Marks[seam] = make([]int, columns), make([]string, columns)
		}
		a.Steps[column] = s.N
		a.Lanes[seam][column]++
		if old := a.Marks[seam][column]; mark != "" && (old == "" || old == markBackOff) {
			a.Marks[seam][column] = mark
		}
	}
	return a
}

// mark returns the sign of a step, "" for most of them. It counts the lists of each kind.
func (s *Step) mark(lists map[string]int) string {
	failed := s.Error != "" && s.Verb != Ended && s.Verb != Looked || s.Verb == Answered && s.Code >= 400
	switch {
	case s.lists():
		if lists[s.Kind]++; lists[s.Kind] > 1 {
			return markRelist
		}
	case s.Seam == Reflector && (s.Verb == Unwatch || s.Verb == Returned || s.Verb == Watching && failed),
		s.Seam == Queue && s.Verb == AddRateLimited:
		return markBackOff
	case failed || s.Verb == "ERROR" || s.Seam == Note:
		return markError
	}
	return ""
}
