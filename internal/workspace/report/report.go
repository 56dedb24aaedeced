// Package report sends where a learner is to the instructor's board, if the learner has said yes.
//
//	report.go   what is sent, and its limits: cmd/share checks them again
//	consent.go  who said yes, to which board, under which name
//	client.go   the loop that sends, and its back-off
//
// A Report has no field for code. The place is the one in progress.json, and the rule is a sentence of the workshop's
// tests. This package leaves out who reads the place (cmd/workshop) and who shows it (cmd/share).
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Path is where a board receives reports, below the URL that the learner types.
const Path = "/board/reports"

// The limits of a report.
const (
	LongestName = 40   // columns of a terminal
	LongestRule = 600  // characters
	LargestBody = 4096 // bytes
)

// Report is where a learner is.
type Report struct {
	ID      string `json:"id"`             // random, made with the consent; tells two learners of one name apart
	Name    string `json:"name,omitempty"` // as typed
	Chapter string `json:"chapter,omitempty"`
	Task    int    `json:"task,omitempty"` // 0 if no task is left
	Hints   int    `json:"hints,omitempty"`
	Rule    string `json:"rule,omitempty"` // that the last failure of this task named
}

// Read reads a report, which must be all that body has, and checks it.
func Read(body io.Reader) (r Report, err error) {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return r, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("there is more behind it")
	}
	return r, r.Check()
}

// Check returns an error if a field is longer than it may be, or has characters that a screen does not show.
func (r Report) Check() error {
	switch {
	case len(r.ID) != idLength || strings.Trim(r.ID, idLetters) != "":
		return fmt.Errorf("the id %.40q is not one that the workshop made", r.ID)
	case r.Task < 0 || r.Hints < 0 || r.Hints > 99:
		return fmt.Errorf("task %d with %d hints does not exist", r.Task, r.Hints)
	case r.Task == 0 && (r.Chapter != "" || r.Hints > 0 || r.Rule != ""):
		return errors.New("a report without a task has a chapter, hints or a rule")
	case utf8.RuneCountInString(r.Rule) > LongestRule || !printable(r.Rule):
		return fmt.Errorf("a rule is one line of %d characters at most", LongestRule)
	}
	return checkName(r.Name)
}

// checkName returns an error unless a name is fit for the board: printable, on one line, and not larger than its row.
func checkName(name string) error {
	switch n := ansi.StringWidth(name); {
	case strings.TrimSpace(name) != name || n == 0 || !printable(name) || stacked.MatchString(name):
		return fmt.Errorf("%.80q is not a name for the board: it needs letters, on one line", name)
	case n > LongestName || utf8.RuneCountInString(name) > 2*LongestName:
		return fmt.Errorf("the name for the board has %d columns; %d are the most", n, LongestName)
	}
	return nil
}

// stacked matches a letter with so many marks that they would cover the rows around it.
var stacked = regexp.MustCompile(`\p{M}{3}`)

// printable reports whether text is one line of valid characters. Those that change the direction of the text around
// them are not printable.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
