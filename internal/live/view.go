package live

// This file draws the screen: three rows above, one below, and between them the body, which scrolls when it is longer.
// What the body shows is laid out anew whenever anything changes, for the size that the terminal has then.

import (
	"fmt"
	"regexp"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"client-go-workshop/internal/paint"
	"client-go-workshop/internal/progress"
	"client-go-workshop/internal/report"
	"client-go-workshop/internal/saves"
	"client-go-workshop/internal/trial"
)

var fileLine = regexp.MustCompile(`^(?:\./)?(\S+\.go:\d+)`)

const (
	rowsAbove = 3
	rowsBelow = 2
)

// View is bubbletea's.
func (m *Model) View() tea.View {
	rows := []string{m.header(), m.strip(), paint.Faint(strings.Repeat("─", m.width))}
	rows = append(rows, strings.Split(m.body.View(), "\n")...)
	rows = append(rows, paint.Faint(strings.Repeat("─", m.width)), m.footer())
	for i, row := range rows {
		rows[i] = ansi.Truncate(row, m.width, "…")
	}
	v := tea.NewView(strings.Join(rows, "\n"))
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "workshop " + m.chapter.Dir
	return v
}

// header says where one is and what goes on.
func (m *Model) header() string {
	t := m.current()
	left := paint.Strong(m.chapter.Dir) + fmt.Sprintf("  task %d of %d: %s", t.Number, len(m.chapter.Tasks), t.Title)
	if t.Bonus {
		left += paint.Faint(" (bonus)")
	}
	right := ""
	switch {
	case m.running:
		right = paint.Warn(fmt.Sprintf("running %d", m.ended))
	case m.failed != nil:
		right = paint.Bad("no verdict")
	case m.verdict != nil:
		right = paint.Faint(fmt.Sprintf("%.1fs", m.verdict.Took.Seconds()))
	}
	if m.race {
		right = paint.Key("-race ") + right
	}
	return spread(left, right, m.width)
}

// strip shows all chapters by their tasks' marks.
func (m *Model) strip() string {
	var parts []string
	for _, c := range m.all {
		marks := ""
		for _, t := range c.Tasks {
			if t.Bonus {
				continue
			}
			marks += paint.Mark(m.state(c, t))
		}
		number := fmt.Sprintf("%02d", c.Number)
		if c.Dir == m.chapter.Dir {
			number = paint.Key(number)
		} else {
			number = paint.Faint(number)
		}
		parts = append(parts, number+" "+marks)
	}
	return strings.Join(parts, "  ")
}

// state is a task's state; that of the verdict on the screen comes first, which the book may not have yet.
func (m *Model) state(c progress.Chapter, t progress.TaskState) trial.State {
	if c.Dir == m.chapter.Dir && m.verdict != nil && len(m.verdict.Build) == 0 {
		for _, v := range m.verdict.Tasks {
			if v.Number == t.Number {
				return v.State
			}
		}
	}
	return t.State
}

func spread(left, right string, width int) string {
	room := width - lipgloss.Width(right) - 1
	left = ansi.Truncate(left, max(room, 0), "…")
	return left + strings.Repeat(" ", max(0, width-lipgloss.Width(left)-lipgloss.Width(right))) + right
}

func (m *Model) footer() string {
	switch {
	case m.confirm != "":
		return paint.Warn(m.confirm)
	case m.message != "":
		return paint.Warn(strings.ReplaceAll(m.message, "\n", " "))
	}
	keys := "h hint  a all  n/p task  o open  r race  l list  s solution  ? keys  q quit"
	if m.page != pageNow {
		keys = "esc back  ↑/↓ scroll  ? keys  q quit"
	}
	right := ""
	if more := m.body.TotalLineCount() - m.body.Height(); more > 0 {
		right = fmt.Sprintf("%d%%", int(m.body.ScrollPercent()*100))
	}
	return spread(paint.Faint(keys), paint.Faint(right), m.width)
}

// draw lays the body out.
func (m *Model) draw() {
	m.body.SetWidth(m.width)
	m.body.SetHeight(max(m.height-rowsAbove-rowsBelow, 1))
	var lines []string
	switch m.page {
	case pageNow:
		lines = m.now(m.body.Height())
	case pageAll:
		lines = m.everything()
	case pageList:
		lines = m.list()
	case pageHelp:
		lines = m.help()
	default:
		lines = m.lines
	}
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, m.width, "…")
	}
	m.body.SetContentLines(lines)
}

// now is the one thing to look at, in rows rows if that can be done.
func (m *Model) now(rows int) (out []string) {
	out = append(out, m.notes()...)
	if m.cheer != "" {
		out = append(out, paint.Good(m.cheer))
	}
	v := m.verdict
	switch {
	case m.failed != nil:
		return append(out, report.Wrap(m.failed.Error(), m.width)...)
	case v == nil && m.running:
		return append(out, m.first()...)
	case v == nil:
		return append(out, "No test has run yet: press t.")
	case len(v.Build) > 0:
		return append(out, paint.Build(v.Build, m.width, rows-len(out))...)
	case v.Stopped != "":
		out = append(out, paint.Bad(fmt.Sprintf("Stopped: %s. Is there a loop that never ends?", v.Stopped)))
	}
	task, ok := v.First(m.task)
	if !ok {
		return append(out, paint.Good("Every test of this chapter passes."), "", "  w  what to take away", "  s  how the solution differs from yours", "  N  the next chapter")
	}
	if task.Number != m.task { // the learner looks at one that has passed
		return append(out, paint.Good(fmt.Sprintf("Task %d passes.", m.task)), "", fmt.Sprintf("  n/p  other tasks; task %d is the first that does not pass", task.Number))
	}
	passed, n := task.Count()
	out = append(out, paint.Faint(fmt.Sprintf("%d of %d tests pass", passed, n)))
	f, ok := task.Matters()
	if !ok {
		return append(out, m.crash()...)
	}
	out = append(out, paint.Strong(f.Test))
	out = append(out, paint.Failure(f, m.width, max(rows-len(out), 12))...)
	if f.Hole != nil {
		out = append(out, m.toWrite()...)
	}
	return out
}

// toWrite lists what the task has left to write.
func (m *Model) toWrite() (out []string) {
	for _, h := range m.verdict.Holes {
		if h.Task == fmt.Sprint(m.task) {
			out = append(out, fmt.Sprintf("  %-36s %s", h.Symbol, paint.Faint(h.At)))
		}
	}
	if len(out) < 2 {
		return nil
	}
	return append([]string{"", "To write in this task:"}, out...)
}

// first is for the seconds before the first verdict.
func (m *Model) first() []string {
	t := m.current()
	return append([]string{fmt.Sprintf("Running %s. The first time, Go compiles client-go, which takes a minute.", t.Command), ""},
		report.Wrap("Read "+m.chapter.Dir+"/README.md#"+t.Anchor+" meanwhile.", m.width)...)
}

func (m *Model) crash() (out []string) {
	if m.verdict.Crash == "" {
		return []string{"This task's tests did not run. t runs them again."}
	}
	out = append(out, paint.Bad("The test binary ended in the middle:"))
	for line := range strings.Lines(m.verdict.Crash) {
		out = append(out, report.Wrap(strings.TrimRight(line, "\n"), m.width)...)
	}
	return out
}

func (m *Model) notes() (out []string) {
	for _, note := range m.noted {
		for _, row := range report.Wrap(note, m.width) {
			out = append(out, paint.Warn(row))
		}
	}
	return out
}

// everything is all failures of the chapter.
func (m *Model) everything() (out []string) {
	if m.verdict == nil || len(m.verdict.Build) > 0 {
		return m.now(0)
	}
	holes := 0
	for _, t := range m.verdict.Tasks {
		for _, f := range t.Failures() {
			if f.Hole != nil {
				holes++
				continue
			}
			out = append(out, paint.Strong(f.Test))
			out = append(out, paint.Failure(f, m.width, 0)...)
			out = append(out, "")
		}
	}
	if holes > 0 {
		out = append(out, paint.Faint(fmt.Sprintf("%d tests fail because something is not written yet.", holes)))
	}
	if len(out) == 0 {
		out = append(out, paint.Good("Nothing fails."))
	}
	return out
}

func (m *Model) list() (out []string) {
	for _, c := range m.all {
		out = append(out, paint.Strong(c.Dir)+paint.Faint(fmt.Sprintf("  %d min", c.Minutes())))
		for _, t := range c.Tasks {
			at := "  "
			if c.Dir == m.chapter.Dir && t.Number == m.task {
				at = paint.Key("▸ ")
			}
			out = append(out, fmt.Sprintf("  %s%s %d  %s%s", at, paint.Mark(m.state(c, t)), t.Number, t.Title, paint.Faint(fmt.Sprintf("  %d min", t.Minutes))))
		}
	}
	return append(out, "", paint.Faint(paint.Legend))
}

func (m *Model) help() []string {
	how := "events: a save is noticed at once"
	if m.by == saves.Looks {
		how = "polling: this system sends no events for these files, so they are read five times a second"
	}
	return append([]string{
		"A save runs the tests of the chapter. A newer save cancels what runs.", "",
		"  h    the next hint for this task",
		"  a    all failures             enter, esc  back to the one that matters",
		"  n p  next and previous task   N P  next and previous chapter",
		"  t    run the tests again      r    with the race detector, on and off",
		"  o    open the place in your editor (VISUAL, EDITOR)",
		"  l    list of all chapters and tasks",
		"  s    how the solution differs from your code",
		"  w    what to take away, when the chapter is green",
		"  x    start the chapter anew (your code is kept in a backup)",
		"  ↑ ↓ pgup pgdn   scroll        q    quit", "",
	}, report.Wrap("Saves are noticed by "+how+".", m.width)...)
}
