package tui

// This file is about the lines of source behind a failure: which they are, and those on the screen.

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/tui/style"
)

// minExcerpt is the fewest rows that are worth an excerpt, with its title and the blank row above.
const minExcerpt = 7

// shown returns the failure on the screen. ok is false if it shows none.
func (m *Model) shown() (f failure.Failure, ok bool) {
	if f, ok = m.failedEarly(); ok {
		return f, true
	}
	if m.verdict == nil || len(m.verdict.Build) > 0 {
		return f, false
	}
	if f, ok = m.verdict.AtTheStop(); ok {
		return f, true
	}
	if m.verdict.Only != "" {
		f, passed, ok := m.verdict.Alone()
		return f, ok && !passed
	}
	if task, open := m.verdict.First(m.task); open {
		return task.Matters()
	}
	return f, false
}

// failedEarly returns the failure of a run that continues: at once if it is of the learner's task, otherwise
// after some seconds in which there is no verdict.
func (m *Model) failedEarly() (f failure.Failure, ok bool) {
	if !m.running || m.verdict == nil || m.vetting || m.early == nil {
		return f, false
	}
	return *m.early, m.early.Task == m.task || time.Since(m.began) > 3*time.Second
}

// placesOf returns your line and the test's of a failure.
func (m *Model) placesOf(f failure.Failure) (yours, test failure.Position) {
	key := f.Test + " " + f.At.String()
	known, ok := m.places[key]
	if !ok {
		known[0], known[1] = runner.Places(m.root, m.chapter.Chapter, f)
		m.places[key] = known
	}
	return known[0], known[1]
}

// failure lays a failure out. Its last part is a link to the text.
func (m *Model) failure(f failure.Failure, rows int) []string {
	out := style.Failure(f, m.width, max(rows-1, 12))
	file, _, _ := strings.Cut(f.Read, "#")
	if file == "" {
		return out
	}
	address := url.URL{Scheme: "file", Path: path.Join("/", filepath.ToSlash(m.root), file)}
	link := ansi.SetHyperlink(address.String()) + f.Read + ansi.ResetHyperlink()
	for i, line := range out {
		if strings.HasSuffix(line, f.Read) {
			out[i] = strings.TrimSuffix(line, f.Read) + link
		}
	}
	return out
}

// alone is the page of a run of one test.
func (m *Model) alone(rows int) []string {
	f, passed, ok := m.verdict.Alone()
	switch {
	case passed:
		return []string{style.Good(m.verdict.Only + " passes."), "", "  f  run all tests again"}
	case !ok:
		return []string{m.verdict.Only + " did not run.", "", "  f  run all tests again"}
	}
	out := m.failure(f, rows)
	return append(out, m.excerpts(f, rows-len(out))...)
}

// excerpts shows the lines of source behind a failure, in at most rows rows. If there is no room for both, the place
// that the failure names comes first: a panic names your line, an assertion the test's.
func (m *Model) excerpts(f failure.Failure, rows int) (out []string) {
	if rows < minExcerpt {
		return nil
	}
	yours, test := m.placesOf(f)
	first, at, second, next := "the test (O)", test, "it calls (o)", yours // which need not be what is wrong
	if f.Todo != nil || f.Code.File != "" {
		first, at, second, next = "your code (o)", yours, first, test
	}
	share := rows
	if rows >= 3*minExcerpt {
		share = rows * 3 / 5
	}
	out = m.excerpt(first, at, share)
	return append(out, m.excerpt(second, next, rows-len(out))...)
}

// excerpt shows the lines around a place, below a title, in at most rows rows.
func (m *Model) excerpt(title string, at failure.Position, rows int) []string {
	if at.File == "" || rows < minExcerpt {
		return nil
	}
	text, _ := os.ReadFile(m.path(at.File)) // no excerpt, then
	lines := style.Excerpt(strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), at.Line, rows-2)
	if lines == nil {
		return nil
	}
	return append([]string{"", style.Faint(title + ": " + at.String())}, lines...)
}

// buildExcerpts shows the lines that do not compile, in at most rows rows.
func (m *Model) buildExcerpts(rows int) (out []string) {
	last := failure.Position{}
	for _, r := range m.verdict.BuildReports() {
		at := failure.Position{File: r.File, Line: r.Line}
		if at != last {
			out = append(out, m.excerpt("your code (o)", at, min(rows-len(out), 11))...)
		}
		last = at
	}
	return out
}

// yourLine returns the line to open in the learner's code: what does not compile, what is not written, or the function
// that a failure is about. It is the chapter's README if nothing is known.
func yourLine(m *Model) failure.Position {
	if _, early := m.failedEarly(); m.verdict != nil && !early {
		for _, r := range m.verdict.BuildReports() {
			if r.File != "" {
				return failure.Position{File: r.File, Line: r.Line}
			}
		}
	}
	if f, ok := m.shown(); ok {
		if yours, test := m.placesOf(f); yours.File != "" {
			return yours
		} else if test.File != "" {
			return test
		}
	}
	return failure.Position{File: m.chapter.Dir + "/README.md", Line: 1}
}

// testLine returns the line of the test, or as yourLine does if no test is on the screen.
func testLine(m *Model) failure.Position {
	if f, ok := m.shown(); ok {
		if _, test := m.placesOf(f); test.File != "" {
			return test
		}
	}
	return yourLine(m)
}

// filter runs only the test on the screen from now on, or all tests again.
func (m *Model) filter() tea.Cmd {
	f, ok := m.shown()
	switch {
	case m.only != "":
		m.only = ""
	case !ok:
		m.message = "No failed test is on the screen."
		return nil
	default:
		m.only, _, _ = strings.Cut(f.Test, "/")
	}
	m.open(pageNow, nil)
	return m.start()
}
