package tui

// This file is about the lines of source behind a failure: those on the screen, and the programs that open them.

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/tui/style"
)

// sources keeps what was read for the present verdict.
type sources struct {
	places map[string][2]failure.Position // yours and the test's, by the failure
	files  map[string][]string
}

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
		f, _, ok = m.verdict.Alone()
		return f, ok
	}
	if task, open := m.verdict.First(m.task); open {
		return task.Matters()
	}
	return f, false
}

// failedEarly returns the failure of a run that continues: at once if the verdict will show the same one, otherwise
// after some seconds in which there is no verdict.
func (m *Model) failedEarly() (f failure.Failure, ok bool) {
	if !m.running || m.verdict == nil || m.vetting || m.early == nil {
		return f, false
	}
	return *m.early, m.looksAt(m.early.Task) || time.Since(m.began) > 3*time.Second
}

// looksAt reports whether a verdict on a task that fails will be about that task: the learner is at it, and has begun
// with it, or it has passed before. The tests run in the order of the tasks.
func (m *Model) looksAt(number int) bool {
	isTask := func(t runner.Task) bool { return t.Number == number }
	i := slices.IndexFunc(m.verdict.Tasks, isTask)
	if i < 0 {
		return false
	}
	before := m.verdict.Tasks[i]
	return number == m.task && !before.Untouched || !m.pinned && m.passed[before.ID]
}

// places returns your line and the test's of a failure.
func (m *Model) places(f failure.Failure) (yours, test failure.Position) {
	key := f.Test + " " + f.At.String()
	known, ok := m.sources.places[key]
	if !ok {
		yours, test = m.actions.Places(m.chapter, f)
		known = [2]failure.Position{yours, test}
		if m.sources.places == nil {
			m.sources.places = map[string][2]failure.Position{}
		}
		m.sources.places[key] = known
	}
	return known[0], known[1]
}

// file returns the lines of a file.
func (m *Model) file(name string) []string {
	lines, ok := m.sources.files[name]
	if !ok {
		lines = m.actions.Source(name)
		if m.sources.files == nil {
			m.sources.files = map[string][]string{}
		}
		m.sources.files[name] = lines
	}
	return lines
}

// failure lays a failure out. Its last part is a link to the text.
func (m *Model) failure(f failure.Failure, rows int) []string {
	out := style.Failure(f, m.width, max(rows-1, 12))
	file, _, _ := strings.Cut(f.Read, "#")
	if file == "" {
		return out
	}
	link := ansi.SetHyperlink(m.actions.URL(file)) + f.Read + ansi.ResetHyperlink()
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
	yours, test := m.places(f)
	first, second := excerpt{"the test (O)", test}, excerpt{"your code (o)", yours}
	if f.Todo != nil || f.Code.File != "" {
		first, second = second, first
	}
	share := rows
	if rows >= 3*minExcerpt {
		share = rows * 3 / 5
	}
	out = m.excerpt(first, share)
	return append(out, m.excerpt(second, rows-len(out))...)
}

// excerpt is a place, with a name for it.
type excerpt struct {
	title string
	at    failure.Position
}

func (m *Model) excerpt(e excerpt, rows int) []string {
	if e.at.File == "" || rows < minExcerpt {
		return nil
	}
	lines := style.Excerpt(m.file(e.at.File), e.at.Line, rows-2)
	if lines == nil {
		return nil
	}
	return append([]string{"", style.Faint(e.title + ": " + e.at.String())}, lines...)
}

// buildExcerpts shows the lines that do not compile, in at most rows rows.
func (m *Model) buildExcerpts(rows int) (out []string) {
	last := failure.Position{}
	for _, r := range m.verdict.BuildReports() {
		at := failure.Position{File: r.File, Line: r.Line}
		if at != last {
			out = append(out, m.excerpt(excerpt{"your code (o)", at}, min(rows-len(out), 11))...)
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
		if yours, test := m.places(f); yours.File != "" {
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
		if _, test := m.places(f); test.File != "" {
			return test
		}
	}
	return yourLine(m)
}

// edit opens a line.
func edit(line func(*Model) failure.Position) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		editor, err := m.actions.Edit(line(m))
		if err != nil {
			return showError(err)(m)
		}
		return editor.run("open the editor")
	}
}

// run starts the program. If it needs the terminal, the screen comes back when it ends.
func (e *Editor) run(attempt string) tea.Cmd {
	after := func(err error) tea.Msg {
		if err != nil {
			err = fmt.Errorf("%s: %w", attempt, err)
		}
		return showError(err)
	}
	if e.Terminal {
		return tea.Exec(&inTerminal{Cmd: e.Cmd, says: e.Says}, after)
	}
	return func() tea.Msg { return after(e.Cmd.Run()) }
}

// inTerminal is a program that has the terminal for itself. It implements tea.ExecCommand.
type inTerminal struct {
	*exec.Cmd
	says string
}

func (p *inTerminal) SetStdin(r io.Reader)  { p.Stdin = r }
func (p *inTerminal) SetStdout(w io.Writer) { p.Stdout = w }
func (p *inTerminal) SetStderr(w io.Writer) { p.Stderr = w }

func (p *inTerminal) Run() error {
	if p.says != "" {
		fmt.Fprintln(p.Stdout, p.says)
	}
	return p.Cmd.Run()
}

// debug runs the test on the screen in delve.
func (m *Model) debug() tea.Cmd {
	f, ok := m.shown()
	if !ok {
		return showError(errors.New("no failed test is on the screen"))(m)
	}
	program, err := m.actions.Debug(m.chapter, f)
	if err != nil {
		return showError(err)(m)
	}
	return program.run("run delve")
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

// text shows the text of the task.
func (m *Model) text() tea.Cmd {
	if m.page == pageText {
		return toggle(pageText)(m)
	}
	c, t, width := m.chapter, m.current(), m.width
	return m.load(pageText, func() ([]string, error) { return m.actions.Text(c, t, width) })
}
