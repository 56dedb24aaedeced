package pipeline

// This file writes a log to a file and reads it: JSON lines, the first of them with the version of the format.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// format is the version of the file. A reader refuses any other one.
const format = 1

// heading is the first line of a recording. First is the state before the first step.
type heading struct {
	Workshop string `json:"workshop"` // "recording"
	Format   int    `json:"format"`
	Title    string `json:"title"`
	First    *State `json:"first"`
}

// Write writes a recording.
func (l *Log) Write(w io.Writer, title string) error {
	l.mu.Lock()
	first, n := l.first.Clone(), l.n
	l.mu.Unlock()
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	if err := encoder.Encode(heading{"recording", format, title, first}); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	for _, step := range l.since(first.N, n) {
		if err := encoder.Encode(step); err != nil {
			return fmt.Errorf("write step %d of the recording: %w", step.N, err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	return nil
}

// ReadLog reads a recording. Its error says why a file is not one.
func ReadLog(r io.Reader) (l *Log, title string, err error) {
	decoder := json.NewDecoder(bufio.NewReader(r))
	h := heading{First: NewState()}
	if err := decoder.Decode(&h); err != nil {
		return nil, "", fmt.Errorf("read the first line of the recording: %w", err)
	}
	if h.Workshop != "recording" {
		return nil, "", errors.New("this file is not a recording of the workshop")
	}
	if h.Format != format {
		return nil, "", fmt.Errorf("the recording has format %d, and this program reads format %d", h.Format, format)
	}
	l = NewLog()
	l.first, l.n = h.First, h.First.N
	l.first.Queue.restore()
	for {
		var step Step
		if err := decoder.Decode(&step); errors.Is(err, io.EOF) {
			return l, h.Title, nil
		} else if err != nil {
			return nil, "", fmt.Errorf("read the recording after step %d: %w", l.n, err)
		}
		if step.N != l.n+1 {
			return nil, "", fmt.Errorf("read the recording: step %d follows step %d", step.N, l.n)
		}
		l.append(step)
	}
}
