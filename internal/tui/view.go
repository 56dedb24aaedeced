package tui

// This file draws the screen: three rows above, two below, and between them the body, which scrolls if it is longer. A
// screen of few rows has one row above, one below, and no verdict's summary, so that the failing test is on it.
// Each change lays the body out again, for the present size of the terminal.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/tui/style"
	"client-go-workshop/internal/workspace/progress"
)

const (
	rowsAround = 3 + 2
	fewRows    = 10 // a terminal with fewer rows is small
)

func (m *Model) small() bool { return m.height < fewRows }

// View is bubbletea's.
func (m *Model) View() tea.View {
	rule := style.Faint(strings.Repeat("─", m.width))
	above, below := []string{m.header(), m.strip(), rule}, []string{rule, m.footer()}
	if m.small() {
		above, below = above[:1], below[1:]
	}
	rows := slices.Concat(above, strings.Split(m.body.View(), "\n"), below)
	v := tea.NewView(strings.Join(m.truncated(rows), "\n"))
	v.AltScreen = true
	v.WindowTitle = "workshop " + m.chapter.Dir
	return v
}

func (m *Model) truncated(rows []string) []string {
	for i, row := range rows {
		rows[i] = ansi.Truncate(row, m.width, "…")
	}
	return rows
}

// header returns the current task and the state of the run.
func (m *Model) header() string {
	t := m.current()
	tasks := len(slices.DeleteFunc(slices.Clone(m.chapter.Tasks), func(t progress.TaskState) bool { return t.Bonus }))
	at := fmt.Sprintf("task %d of %d: %s", t.Number, tasks, t.Title)
	switch {
	case t.Bonus:
		at = fmt.Sprintf("bonus task %d: %s", t.Number, t.Title)
	case !m.pinned && m.verdict != nil && m.verdict.Green():
		at = fmt.Sprintf("all %d tasks", tasks)
	}
	right := ""
	switch {
	case m.vetting && m.state(m.chapter, t) == runner.Failing:
		right = style.Faint("running the full tests")
	case m.vetting && m.verdict != nil && !m.verdict.Green():
		right = style.Good("green") + style.Faint(", running the later tasks")
	case m.vetting:
		right = style.Good("green") + style.Faint(", running the full tests")
	case m.running:
		right = style.Warn(fmt.Sprintf("running, %d tests, %ds", m.ended, int(time.Since(m.began).Seconds())))
	case m.failed != nil:
		right = style.Bad("no verdict")
	case m.verdict != nil:
		right = style.Faint(fmt.Sprintf("%.1fs", m.verdict.Took.Seconds()))
	}
	if m.only != "" {
		right = style.Key("one test ") + right
	}
	if m.race {
		right = style.Key("-race ") + right
	}
	return m.spread(style.Strong(m.chapter.Dir)+"  "+at, right)
}

// strip shows all chapters by their tasks' marks, or all labs if the learner is at one. If there is no room for all, it
// drops the first ones.
func (m *Model) strip() string {
	var parts []string
	current := 0
	for i, c := range m.siblings() {
		part := style.Faint(c.Name())
		if c.Dir == m.chapter.Dir {
			part, current = style.Key(c.Name()), i
		}
		part += " "
		for _, t := range c.Tasks {
			if state := m.state(c, t); !t.Bonus || state == runner.Passed || state == runner.Failing {
				part += style.Mark(state)
			}
		}
		parts = append(parts, part)
	}
	first := 0
	for first < current && ansi.StringWidth(strings.Join(parts[first:current+1], "  "))+2 > m.width {
		first++
	}
	row := strings.Join(parts[first:], "  ")
	if first > 0 {
		row = "… " + row
	}
	return row
}

// state returns a task's state. The verdict on the screen comes first, because it may be newer than what is stored.
func (m *Model) state(c progress.Chapter, t progress.TaskState) runner.State {
	if c.Dir == m.chapter.Dir && m.verdict != nil && len(m.verdict.Build) == 0 && m.verdict.Only == "" {
		for _, v := range m.verdict.Tasks {
			if v.Number == t.Number {
				return v.State
			}
		}
	}
	return t.State
}

// spread returns a row with left and right at its ends.
func (m *Model) spread(left, right string) string {
	room := max(m.width-lipgloss.Width(right), 0)
	left = ansi.Truncate(left, max(room-1, 0), "…")
	return lipgloss.PlaceHorizontal(room, lipgloss.Left, left) + right
}

func (m *Model) footer() string {
	switch {
	case m.confirm != "":
		return style.Warn(m.confirm)
	case m.message != "" && ansi.StringWidth(m.message) <= m.width:
		return style.Warn(strings.ReplaceAll(m.message, "\n", " "))
	}
	right := ""
	if m.body.TotalLineCount() > m.body.Height() {
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
	return m.spread(style.Faint(strings.Join(keys, "  ")), style.Faint(right))
}

// draw lays the body out.
func (m *Model) draw() {
	m.body.SetWidth(m.width)
	around := rowsAround
	if m.small() {
		around = 2
	}
	m.body.SetHeight(max(m.height-around, 1))
	var lines []string
	if m.done != "" {
		lines = m.wrap(m.done)
	}
	if ansi.StringWidth(m.message) > m.width {
		lines = append(lines, m.wrap(strings.ReplaceAll(m.message, "\n", " "))...)
	}
	switch m.page {
	case pageNow:
		lines = append(lines, m.now(m.body.Height())...)
	case pageAll:
		lines = append(lines, m.everything()...)
	case pageHelp:
		lines = append(lines, m.help()...)
	default:
		lines = append(lines, m.lines...)
	}
	m.body.SetHorizontalStep(0)
	if m.page == PageDiff {
		m.body.SetHorizontalStep(m.width / 4)
	} else {
		lines = m.truncated(lines)
	}
	m.body.SetContentLines(lines)
	current := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "▸") })
	if m.scrollToTask && m.page == PageList && current >= 0 {
		m.body.SetYOffset(max(current-m.body.Height()/2, 0))
	}
	m.scrollToTask = false
}

func (m *Model) wrap(text string) []string { return style.Wrap(text, m.width) }

// warning wraps text in the colour of a warning.
func (m *Model) warning(text string) []string {
	rows := m.wrap(text)
	for i, row := range rows {
		rows[i] = style.Warn(row)
	}
	return rows
}

// now is the page with the failure that matters. During a run it shows the code before the last save, in faint letters,
// or what has already failed.
func (m *Model) now(rows int) []string {
	if !m.running || m.verdict == nil || m.vetting {
		return m.result(rows)
	}
	if f, ok := m.failedEarly(); ok {
		out := append(m.patience(), style.Warn("The run continues. This test has failed:"))
		return append(out, style.Failure(f, m.width, max(rows-5, 12))...)
	}
	old := m.result(rows)
	for i, line := range old {
		old[i] = style.Faint(ansi.Strip(line))
	}
	above := m.patience()
	if len(above) == 0 && time.Since(m.began) > 2*time.Second {
		above = append(m.warning("The tests run. This is what they came to before:"), "")
	}
	return append(above, old...)
}

// result returns the verdict, in at most rows rows if it can be cut.
func (m *Model) result(rows int) (out []string) {
	for _, note := range m.noted {
		out = append(out, m.warning(note)...)
	}
	if m.success != "" {
		for _, row := range m.wrap(m.success) {
			out = append(out, style.Good(row))
		}
	}
	v := m.verdict
	switch {
	case m.failed != nil:
		return append(out, m.wrap(m.failed.Error())...)
	case v == nil && m.running:
		return slices.Concat(out, m.patience(), m.first())
	case v == nil:
		return append(out, "No test has run yet: press t.")
	case len(v.Build) > 0:
		out = append(out, style.Build(*v, m.width, rows-len(out))...)
		return append(out, m.buildExcerpts(rows-len(out))...)
	case v.Stopped != "":
		out = append(out, style.Stopped(*v))
		if f, ok := v.AtTheStop(); ok {
			return append(out, m.failure(f, rows-len(out))...)
		}
	}
	if v.Only != "" {
		return append(out, m.alone(rows-len(out))...)
	}
	task, open := v.First(m.task)
	switch {
	case !open:
		out = append(append(out, style.Good("Every test of this chapter passes.")), m.reached()...)
		out = append(out, "", "  w  what to take away", "  s  how the solution differs from yours")
		return append(out, m.whereNext()...)
	case task.Number != m.task: // the learner looks at one that has passed
		return append(out, style.Good(fmt.Sprintf("Task %d passes.", m.task)), "",
			fmt.Sprintf("  n/b  other tasks; task %d is the first that does not pass", task.Number))
	}
	if passed, n := task.Count(); task.State != runner.Unknown && n > 0 && !m.small() {
		out = append(out, style.Faint(fmt.Sprintf("%d of %d tests pass", passed, n)))
	}
	f, fails := task.Matters()
	switch {
	case !fails && m.running:
		return append(out, "Its tests are running.")
	case !fails && v.Cut:
		return append(out, m.wrap(fmt.Sprintf("The tests before these took all of the %s that later tasks get, so these "+
			"did not run. t runs them, without that limit.", runner.LaterTime))...)
	case !fails && v.Crash == "":
		return append(out, "This task's tests did not run. t runs them again.")
	case !fails:
		return append(out, style.Crash(*v, m.width)...)
	}
	out = append(out, m.failure(f, rows-len(out))...)
	title := []string{"", "To write in this task:"}
	for _, h := range v.Todos {
		if h.Task == m.task {
			out = append(append(out, title...), fmt.Sprintf("  %-44s %s", h.Symbol, style.Faint(h.At.String())))
			title = nil
		}
	}
	return append(out, m.excerpts(f, rows-len(out))...)
}

// whereNext returns the keys that leave a green chapter or lab.
func (m *Model) whereNext() (out []string) {
	if t := m.after(+1); t.Bonus && m.state(m.chapter, t) != runner.Passed {
		out = append(out, fmt.Sprintf("  n  on to the bonus, if you want it: task %d, %s", t.Number, t.Title))
	}
	what := "chapter"
	if m.chapter.Lab() {
		what = "lab"
	}
	if next := m.neighbour(+1); next.Dir != m.chapter.Dir {
		out = append(out, "  N  the next "+what+": "+next.Dir)
	}
	unfinished := func(c progress.Chapter) bool { return !c.Lab() && c.Dir != m.chapter.Dir && !c.Done() && !c.Skipped }
	if !m.chapter.Lab() && len(m.labs()) > 0 && !slices.ContainsFunc(m.all, unfinished) {
		out = append(out, "  L  labs, if you want to go on after the chapters")
	}
	return out
}

// reached returns the task that the learner has chosen, in a chapter that is green.
func (m *Model) reached() (out []string) {
	if !m.pinned {
		return nil
	}
	t := m.current()
	out = append(out, "")
	for _, done := range m.verdict.Tasks {
		if passed, n := done.Count(); done.Number == t.Number {
			out = append(out, fmt.Sprintf("Task %d: %d of %d tests pass.", t.Number, passed, n))
		}
	}
	return append(out, m.wrap(fmt.Sprintf("Read it again: %s/README.md#%s", m.chapter.Dir, t.Anchor))...)
}

// first is for the seconds before the first verdict.
func (m *Model) first() []string {
	text := "Running go test ./" + m.chapter.Dir + "."
	if time.Since(m.began) > 5*time.Second && m.ended == 0 && !m.race {
		text += " The first time, Go compiles client-go, which takes a minute."
	}
	read := "Read " + m.chapter.Dir + "/README.md#" + m.current().Anchor + " meanwhile."
	return slices.Concat(m.wrap(text), []string{""}, m.wrap(read))
}

// patience is for a run that takes long. Most tests take less than a moment, so something loops, or waits in vain.
func (m *Model) patience() []string {
	if m.race && m.ended == 0 && len(m.underway) == 0 && time.Since(m.began) > 2*time.Second {
		text := "Go compiles client-go for the race detector. The first time this takes a minute."
		if m.toCompile > 0 {
			text = fmt.Sprintf("Go compiles for the race detector, the first time only: %d of %d packages.", m.compiled,
				m.toCompile)
		}
		return append(m.warning(text), "")
	}
	if len(m.underway) == 0 {
		return nil
	}
	limit := "30s"
	if m.race {
		limit = "a minute"
	}
	longest := m.underway[0]
	seconds := int(time.Since(longest.at).Seconds())
	switch {
	case longest.place != nil:
		return append(m.warning(fmt.Sprintf("%s has run for %ds. It is still running: %s. c ends it, or it ends after %s.",
			longest.name, seconds, longest.place, limit)), "")
	case seconds >= 4:
		return append(m.warning(fmt.Sprintf("%s has run for %ds. The run stops it after %s at the latest, "+
			"and shows where it was.", longest.name, seconds, limit)), "")
	}
	return nil
}
