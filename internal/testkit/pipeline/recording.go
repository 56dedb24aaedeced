package pipeline

// This file writes a log to a file and reads it: JSON lines, the first of them with the version of the format.

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// format is the version of the file. A reader refuses any other one.
const format = 1

// longestLine is the most bytes that a line may have: a list of a million objects has fewer. Without a bound, a file of
// one line would need several times its size in memory.
const longestLine = 64 << 20

// Recording is a log with what is known about its run.
type Recording struct {
	Log   *Log
	Title string
	Wrong Wrong
}

// Wrong is what went wrong in a run. Its zero value means that nothing did, as far as is known.
type Wrong struct {
	Text string `json:"text,omitempty"`
	Key  string `json:"key,omitempty"`  // of the object in question
	Step int64  `json:"step,omitempty"` // at which it went wrong, if that is known
}

// heading is the first line of a recording. First is the state before the first step. A file can have several
// recordings, one after the other.
type heading struct {
	Workshop string `json:"workshop"` // "recording"
	Format   int    `json:"format"`
	Title    string `json:"title"`
	Wrong    Wrong  `json:"wrong,omitzero"`
	First    *State `json:"first"`
}

// Write writes the recording. Calls one after the other make a file with several recordings.
func (r Recording) Write(w io.Writer) error {
	l := r.Log
	l.mu.Lock()
	first, steps := l.first.Clone(), make([]Step, 0, l.n-l.first.N)
	for n := l.first.N; n < l.n; n++ {
		steps = append(steps, *l.step(n + 1))
	}
	l.mu.Unlock()
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	err := encoder.Encode(heading{"recording", format, r.Title, r.Wrong, first})
	for i := 0; i < len(steps) && err == nil; i++ {
		err = encoder.Encode(steps[i])
	}
	if err := cmp.Or(err, buffered.Flush()); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	return nil
}

// ReadRecordings reads the recordings of a file, at least one. Its error says why a file is not one.
func ReadRecordings(r io.Reader) (all []Recording, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	n := 1
	for ; lines.Scan(); n++ {
		var line struct {
			heading
			Step
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("read line %d of the recording: %w", n, err)
		}
		if line.Workshop != "" || n == 1 {
			l, err := line.heading.log()
			if err != nil {
				return nil, err
			}
			all = append(all, Recording{l, unprintable.ReplaceAllString(line.Title, "\uFFFD"), line.Wrong})
		} else if l := all[len(all)-1].Log; line.N != l.n+1 {
			return nil, fmt.Errorf("read the recording: step %d follows step %d", line.N, l.n)
		} else {
			l.append(&line.Step) // a long log forgets meanwhile
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read line %d of the recording: %w", n, err)
	}
	if len(all) == 0 {
		return nil, errors.New("the recording is empty")
	}
	return all, nil
}

// unprintable are the characters of a title that would change how a terminal prints.
var unprintable = regexp.MustCompile(`[^\pL\pM\pN\pP\pS ]`)

// log returns the log that a heading begins.
func (h heading) log() (*Log, error) {
	switch {
	case h.Workshop != "recording":
		return nil, errors.New("this file is not a recording of the workshop")
	case h.Format != format:
		return nil, fmt.Errorf("the recording has format %d, and this program reads format %d", h.Format, format)
	}
	l := NewLog(Limit)
	if h.First != nil {
		l.first = h.First.Clone()
	}
	l.n, l.origin = l.first.N, l.first.N
	return l, nil
}
