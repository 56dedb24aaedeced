package tui

// This file draws the screen: three rows above, one below, and between them the body, which scrolls when it is longer.
// What the body shows is laid out anew whenever anything changes, for the size that the terminal has then.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/tui/filewatch"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

var fileLine = regexp.MustCompile(`^(?:\./)?(\S+\.go:\d+)`)

const (
	rowsAbove = 3
	rowsBelow = 2
)

// View is bubbletea's.
func (m *Model) View() tea.View {
	rows := []string{m.header(), m.strip(), style.Faint(strings.Repeat("─", m.width))}
	rows = append(rows, strings.Split(m.body.View(), "\n")...)
	rows = append(rows, style.Faint(strings.Repeat("─", m.width)), m.footer())
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
	at := fmt.Sprintf("task %d of %d", t.Number, len(m.chapter.Tasks)-bonuses(m.chapter))
	if t.Bonus {
		at = fmt.Sprintf("bonus task %d", t.Number)
	}
	left := style.Strong(m.chapter.Dir) + "  " + at + ": " + t.Title
	right := ""
	switch {
	case m.vetting:
		right = style.Good("green") + style.Faint(", looking closer")
	case m.running:
		right = style.Warn(fmt.Sprintf("running, %d tests, %ds", m.ended, int(time.Since(m.began).Seconds())))
	case m.failed != nil:
		right = style.Bad("no verdict")
	case m.verdict != nil:
		right = style.Faint(fmt.Sprintf("%.1fs", m.verdict.Took.Seconds()))
	}
	if m.race {
		right = style.Key("-race ") + right
	}
	return spread(left, right, m.width)
}

func bonuses(c progress.Chapter) (n int) {
	for _, t := range c.Tasks {
		if t.Bonus {
			n++
		}
	}
	return n
}

// strip shows all chapters by their tasks' marks. Where there is no room for all, the first make way for the current one.
func (m *Model) strip() string {
	var parts []string
	upTo := 0 // where the current chapter ends
	for _, c := range m.all {
		marks := ""
		for _, t := range c.Tasks {
			if t.Bonus {
				continue
			}
			marks += style.Mark(m.state(c, t))
		}
		number := fmt.Sprintf("%02d", c.Number)
		if c.Dir == m.chapter.Dir {
			number = style.Key(number)
		} else {
			number = style.Faint(number)
		}
		parts = append(parts, number+" "+marks)
		if c.Dir == m.chapter.Dir {
			upTo = len(parts)
		}
	}
	row := strings.Join(parts, "  ")
	for gone := 1; gone < upTo && ansi.StringWidth(strings.Join(parts[max(gone-1, 0):upTo], "  "))+2 > m.width; gone++ {
		row = "… " + strings.Join(parts[gone:], "  ")
	}
	return row
}

// state is a task's state; that of the verdict on the screen comes first, which the book may not have yet.
func (m *Model) state(c progress.Chapter, t progress.TaskState) runner.State {
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
		return style.Warn(m.confirm)
	case m.message != "" && ansi.StringWidth(m.message) <= m.width:
		return style.Warn(strings.ReplaceAll(m.message, "\n", " "))
	}
	right := ""
	if more := m.body.TotalLineCount() - m.body.Height(); more > 0 {
		right = fmt.Sprintf("%d%%", int(m.body.ScrollPercent()*100))
	}
	var keys []string
	for _, b := range bindings {
		if b.footer != "" {
			keys = append(keys, b.footer)
		}
	}
	if m.page != pageNow {
		keys = []string{"esc back", "↑/↓ scroll", "? keys", "q quit"}
	}
	for len(keys) > 2 && ansi.StringWidth(strings.Join(keys, "  "))+len(right)+1 > m.width {
		keys = slices.Delete(keys, len(keys)-3, len(keys)-2) // the help page has those that do not fit
	}
	return spread(style.Faint(strings.Join(keys, "  ")), style.Faint(right), m.width)
}

// draw lays the body out.
func (m *Model) draw() {
	m.body.SetWidth(m.width)
	m.body.SetHeight(max(m.height-rowsAbove-rowsBelow, 1))
	var lines []string
	switch m.page {
	case pageNow:
		lines = m.now(m.body.Height())
		if m.running && m.verdict != nil && !m.vetting { // of the code before this save
			for i, line := range lines {
				lines[i] = style.Faint(ansi.Strip(line))
			}
			if so := m.soFar(); so != nil {
				lines = so
			}
			lines = append(m.patience(), lines...)
		}
	case pageAll:
		lines = m.everything()
	case pageList:
		lines = m.list()
	case pageHelp:
		lines = m.help()
	default:
		lines = m.lines
	}
	var above []string
	if m.done != "" {
		above = append(above, style.Wrap(m.done, m.width)...)
	}
	if ansi.StringWidth(m.message) > m.width {
		above = append(above, style.Wrap(strings.ReplaceAll(m.message, "\n", " "), m.width)...)
	}
	lines = append(above, lines...)
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, m.width, "…")
	}
	m.body.SetContentLines(lines)
	if at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "▸") }); m.scrollToTask && m.page == pageList && at >= 0 {
		m.body.SetYOffset(max(at-m.body.Height()/2, 0))
	}
	m.scrollToTask = false
}

// now is the one thing to look at, in rows rows if that can be done.
func (m *Model) now(rows int) (out []string) {
	out = append(out, m.notes()...)
	if m.success != "" {
		out = append(out, style.Good(m.success))
	}
	v := m.verdict
	switch {
	case m.failed != nil:
		return append(out, style.Wrap(m.failed.Error(), m.width)...)
	case v == nil && m.running:
		return append(append(out, m.patience()...), m.first()...)
	case v == nil:
		return append(out, "No test has run yet: press t.")
	case len(v.Build) > 0:
		return append(out, style.Build(*v, m.width, rows-len(out))...)
	case v.Stopped != "":
		out = append(out, style.Stopped(*v))
	}
	task, ok := v.First(m.task)
	if !ok {
		out = append(out, style.Good("Every test of this chapter passes."))
		if m.pinned {
			out = append(out, m.reached(v)...)
		}
		return append(out, "", "  w  what to take away", "  s  how the solution differs from yours", "  N  the next chapter")
	}
	if task.Number != m.task { // the learner looks at one that has passed
		return append(out, style.Good(fmt.Sprintf("Task %d passes.", m.task)), "", fmt.Sprintf("  n/p  other tasks; task %d is the first that does not pass", task.Number))
	}
	passed, n := task.Count()
	out = append(out, style.Faint(fmt.Sprintf("%d of %d tests pass", passed, n)))
	f, ok := task.Matters()
	if !ok {
		return append(out, m.crash()...)
	}
	out = append(out, style.Strong(f.Test))
	out = append(out, style.Failure(f, m.width, max(rows-len(out), 12))...)
	return append(out, m.toWrite()...)
}

// reached is a task that has passed, in a chapter that is green.
func (m *Model) reached(v *runner.Verdict) []string {
	t := m.current()
	out := []string{""}
	for _, done := range v.Tasks {
		if passed, n := done.Count(); done.Number == t.Number {
			out = append(out, fmt.Sprintf("Task %d: %d of %d tests pass.", t.Number, passed, n))
		}
	}
	return append(out, style.Wrap(fmt.Sprintf("Read it again: %s/README.md#%s", m.chapter.Dir, t.Anchor), m.width)...)
}

// toWrite lists what the task has left to write.
func (m *Model) toWrite() (out []string) {
	for _, h := range m.verdict.Holes {
		if h.Task == m.task {
			out = append(out, fmt.Sprintf("  %-44s %s", h.Symbol, style.Faint(h.At.String())))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]string{"", "To write in this task:"}, out...)
}

// first is for the seconds before the first verdict.
func (m *Model) first() []string {
	text := "Running go test ./" + m.chapter.Dir + "."
	if time.Since(m.began) > 5*time.Second && m.ended == 0 {
		text += " The first time, Go compiles client-go, which takes a minute."
	}
	return append(append(style.Wrap(text, m.width), ""),
		style.Wrap("Read "+m.chapter.Dir+"/README.md#"+m.current().Anchor+" meanwhile.", m.width)...)
}

// soFar is the first failure of a run that takes its time, while the rest of it goes on.
func (m *Model) soFar() []string {
	if m.early == nil || time.Since(m.began) < 3*time.Second {
		return nil
	}
	out := []string{style.Warn("The run goes on; this has failed in it:"), style.Strong(m.early.Test)}
	return append(out, style.Failure(*m.early, m.width, max(m.body.Height()-len(out)-3, 12))...)
}

// patience is for a test that takes long: most take less than a moment, so something loops, or waits in vain.
func (m *Model) patience() []string {
	if len(m.underway) == 0 || time.Since(m.underway[0].at) < 4*time.Second {
		return nil
	}
	limit := "30s"
	if m.race {
		limit = "a minute"
	}
	longest := m.underway[0]
	text := fmt.Sprintf("%s has run for %ds. After %s it is stopped at the latest, and says where it was.", longest.name, int(time.Since(longest.at).Seconds()), limit)
	var out []string
	for _, row := range style.Wrap(text, m.width) {
		out = append(out, style.Warn(row))
	}
	return append(out, "")
}

func (m *Model) crash() []string {
	if m.verdict.Crash == "" {
		return []string{"This task's tests did not run. t runs them again."}
	}
	return style.Crash(*m.verdict, m.width)
}

func (m *Model) notes() (out []string) {
	for _, note := range m.noted {
		for _, row := range style.Wrap(note, m.width) {
			out = append(out, style.Warn(row))
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
		for _, test := range t.Tests {
			open := false
			for _, f := range test.Failures {
				if open = open || f.Hole != nil; f.Hole != nil {
					continue
				}
				out = append(out, style.Strong(f.Test))
				out = append(out, style.Failure(f, m.width, 0)...)
				out = append(out, "")
			}
			if open {
				holes++
			}
		}
	}
	if holes > 0 {
		out = append(out, style.Faint(fmt.Sprintf("%d tests fail because something is not written yet.", holes)))
	}
	if len(out) == 0 {
		out = append(out, style.Good("Nothing fails."))
	}
	return out
}

func (m *Model) list() (out []string) {
	for _, c := range m.all {
		out = append(out, style.Strong(c.Dir)+style.Faint(fmt.Sprintf("  %d min", c.Minutes())))
		for _, t := range c.Tasks {
			at := "  "
			if c.Dir == m.chapter.Dir && t.Number == m.task {
				at = style.Key("▸ ")
			}
			out = append(out, fmt.Sprintf("  %s%s %d  %s%s", at, style.Mark(m.state(c, t)), t.Number, t.Title, style.Faint(fmt.Sprintf("  %d min", t.Minutes))))
		}
	}
	return append(out, "", style.Faint(style.Legend))
}

func (m *Model) help() []string {
	how := "events: a save is noticed at once"
	if m.by == filewatch.Polling {
		how = "polling: this system sends no events for these files, so they are read five times a second"
	}
	out := append(style.Wrap("A save runs the tests of the chapter, briefly first; if all pass, once more at length, and then go vet. A newer save cancels what runs.", m.width), "")
	for _, b := range bindings {
		keys := b.Help().Key
		if keys == "" {
			continue
		}
		for _, row := range style.Wrap(b.Help().Desc, m.width-7) {
			out = append(out, "  "+style.Key(fmt.Sprintf("%-5s", keys))+row)
			keys = ""
		}
	}
	out = append(append(out, ""), style.Wrap(style.Legend, m.width)...)
	return append(append(out, ""), style.Wrap("Saves are noticed by "+how+".", m.width)...)
}
