package tui

// This file is the table of keys, with their help, and what each key does.

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/workspace"
	"client-go-workshop/internal/workspace/progress"
)

// binding is one key, or several that do the same, and what it does.
type binding struct {
	pressed    string // bubbletea's names of the keys
	keys, help string // its row on the help page; a binding without it is part of the row before
	footer     string // its text in the footer
	do         func(m *Model) tea.Cmd
}

// bindings are all keys except numbers and those that scroll, in the order of the help page and the footer.
var bindings = []binding{
	{"p", "p", "a program of this task: type what it prints", "p predict", (*Model).predict},
	{"h", "h", "the next hint for this task", "h hint", func(m *Model) tea.Cmd { return m.load(PageHint) }},
	{"a", "a", "all failures; enter or esc goes back to the first one", "a all", toggle(pageAll)},
	{"esc", "", "", "", toggle(pageNow)},
	{"enter", "", "", "", toggle(pageNow)},
	{"n right", "n b", "next task and back; N B next chapter and back, or its number; L labs", "n/b task", nextTask(+1)},
	{"b left", "", "", "", nextTask(-1)},
	{"N ]", "", "", "", nextChapter(+1)},
	{"B P [", "", "", "", nextChapter(-1)},
	{"L 0", "", "", "", (*Model).nextLab},
	{"o e", "o", "open your line in your editor (VISUAL, EDITOR); O opens the test's", "o open", edit(yourLine)},
	{"O", "", "", "", edit(testLine)},
	{"r", "r", "the race detector, on and off; its first run compiles client-go", "r race",
		(*Model).toggleRace},
	{"t space", "t", "run the tests again", "", (*Model).start},
	{"c", "c", "end the run, and show where it was", "", (*Model).end},
	{"l", "l", "list of all chapters and tasks", "l list", toggle(PageList)},
	{"s", "s", "how the solution differs from your code; ← → scroll its long lines", "s solution", (*Model).solution},
	{"i", "i", "the text of this task", "i text", toggle(PageText)},
	{"f", "f", "run only the test on the screen; again: all tests", "f one test", (*Model).filter},
	{"d", "d", "debug the test on the screen with delve, up to the line where it fails", "d debug", (*Model).debug},
	{"w", "w", "what to take away, when the chapter is green", "", (*Model).takeaway},
	{"x", "x", "start the chapter again (your code is kept in a backup)", "", (*Model).reset},
	{"home g", "↑ ↓", "scroll, as pgup and pgdn do", "", scroll((*viewport.Model).GotoTop)},
	{"end G", "", "", "", scroll((*viewport.Model).GotoBottom)},
	{"?", "", "", "? keys", toggle(pageHelp)},
	{"ctrl+z", "^Z", "suspend; the shell's fg comes back", "", func(m *Model) tea.Cmd {
		return m.inTerminal("suspend", stopGroup)
	}},
	{"q ctrl+c", "q", "quit", "q quit", func(*Model) tea.Cmd { return tea.Quit }},
}

// key handles a key press.
func (m *Model) key(msg tea.KeyPressMsg) (cmd tea.Cmd) {
	pressed := msg.String()
	if m.confirm != "" {
		yes := m.onYes
		m.confirm, m.onYes = "", nil
		if pressed == "y" {
			return yes
		}
		m.message = "Cancelled."
		return nil
	}
	m.message, m.done = "", ""
	if m.page == PageDiff && (pressed == "left" || pressed == "right") {
		m.body, cmd = m.body.Update(msg)
		return cmd
	}
	for _, b := range bindings {
		if slices.Contains(strings.Fields(b.pressed), pressed) {
			return b.do(m)
		}
	}
	for _, c := range m.all {
		if !c.Lab() && fmt.Sprint(c.Number) == pressed {
			return m.goToChapter(c)
		}
	}
	m.body, cmd = m.body.Update(msg)
	return cmd
}

// toggle opens a page, or closes it if it is open.
func toggle(p Page) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		switch {
		case m.page == p:
			m.open(pageNow, nil)
		case p > pageHelp:
			return m.load(p)
		default:
			m.open(p, nil)
		}
		return nil
	}
}

func scroll(to func(*viewport.Model) []string) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		to(&m.body)
		return nil
	}
}

// load opens a page of the workshop, unless the learner opens another one before it is there. What to take away is not
// for a newer run.
func (m *Model) load(p Page) tea.Cmd {
	c, t, width, before, run := m.chapter, m.current(), m.width, m.page, m.began
	c.Tasks = slices.Clone(c.Tasks)
	for i, t := range c.Tasks {
		c.Tasks[i].State = m.state(c, t) // the verdict may not be stored yet
	}
	return func() tea.Msg {
		lines, err := m.workshop.Page(p, c, t, width)
		if err != nil {
			return showError(err)
		}
		return change(func(m *Model) tea.Cmd {
			if stale := p == PageTakeaway && m.began != run; m.page == before && !stale {
				m.open(p, lines)
				m.scrollToTask = p == PageList
			}
			return m.look()
		})
	}
}

func (m *Model) toggleRace() tea.Cmd {
	m.race = !m.race
	return m.start()
}

func (m *Model) end() tea.Cmd {
	m.message = "No test is running."
	if m.running {
		m.message = "Ending the run."
		m.endRun()
	}
	return nil
}

func (m *Model) reset() tea.Cmd {
	c := m.chapter
	m.confirm = fmt.Sprintf("Start %s again? Your code is kept in a backup. y/n", c.Dir)
	m.onYes = func() tea.Msg {
		done, err := workspace.Reset(m.root, c.Chapter)
		if err == nil {
			err = progress.Update(m.root, func(f *progress.File) { f.StartAgain(c.Chapter) })
		}
		if err != nil {
			return showError(err)
		}
		text := c.Dir + " is untouched"
		if done.Backup != "" {
			text = fmt.Sprintf("Your code is in %s; to restore it: go tool workshop restore %s",
				filepath.ToSlash(done.Backup), c.Name())
		}
		return change(func(m *Model) tea.Cmd {
			m.done, m.success, m.verdict = text, "", nil
			return m.look()
		})
	}
	return nil
}

func (m *Model) solution() tea.Cmd {
	c := m.chapter
	show := m.load(PageDiff)
	if c.Done() {
		return show
	}
	m.confirm, m.onYes = fmt.Sprintf("%s is not green yet. See the solution anyway? y/n", c.Dir), show
	return nil
}

func (m *Model) takeaway() tea.Cmd {
	if !m.chapter.Done() && (m.verdict == nil || !m.verdict.Green()) {
		m.message = "What to take away is shown when the chapter is green."
		return nil
	}
	return m.load(PageTakeaway)
}

// nextTask goes to the task that is so many further in the chapter.
func nextTask(by int) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		task := m.after(by)
		m.task, m.pinned, m.success = task.Number, true, ""
		m.open(pageNow, nil)
		if m.only != "" || task.Bonus { // the verdict says nothing about this task: of a bonus, the tests have been skipped
			m.only = ""
			return tea.Batch(m.goTo(task.ID), m.start())
		}
		return m.goTo(task.ID)
	}
}

// after returns the task that is so many further in the chapter, or the bonus that is left if the rest passes and the
// learner has not chosen a task.
func (m *Model) after(by int) progress.TaskState {
	tasks := m.chapter.Tasks
	i := slices.IndexFunc(tasks, func(t progress.TaskState) bool { return t.Number == m.task })
	if m.verdict != nil && m.verdict.Green() && !m.pinned && by > 0 {
		bonus := slices.IndexFunc(tasks, func(t progress.TaskState) bool {
			return t.Bonus && m.state(m.chapter, t) != runner.Passed
		})
		i = max(i, bonus-1)
	}
	return tasks[(i+by+len(tasks))%len(tasks)]
}

// nextChapter goes to the chapter that is so many further.
func nextChapter(by int) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		return m.goToChapter(m.neighbour(by))
	}
}

// neighbour returns the chapter that is so many further, or the lab if the learner is at one.
func (m *Model) neighbour(by int) progress.Chapter {
	all := m.siblings()
	i := slices.IndexFunc(all, func(c progress.Chapter) bool { return c.Dir == m.chapter.Dir })
	return all[(i+by+len(all))%len(all)]
}

// siblings returns the chapters, or the labs if the learner is at one.
func (m *Model) siblings() []progress.Chapter {
	other := func(c progress.Chapter) bool { return c.Lab() != m.chapter.Lab() }
	return slices.DeleteFunc(slices.Clone(m.all), other)
}

func (m *Model) labs() []progress.Chapter {
	return slices.DeleteFunc(slices.Clone(m.all), func(c progress.Chapter) bool { return !c.Lab() })
}

// nextLab goes to the next lab. From a chapter it goes to the first lab that is begun and not green, or else to the
// first one.
func (m *Model) nextLab() tea.Cmd {
	labs := m.labs()
	switch {
	case len(labs) == 0:
		m.message = "This workshop has no labs."
		return nil
	case m.chapter.Lab():
		return m.goToChapter(m.neighbour(+1))
	}
	begun := func(c progress.Chapter) bool { return !c.Untouched && !c.Skipped && !c.Done() }
	return m.goToChapter(labs[max(slices.IndexFunc(labs, begun), 0)])
}

func (m *Model) goToChapter(c progress.Chapter) tea.Cmd {
	task, _ := c.Next()
	m.show(c, task)
	return tea.Batch(m.watch(), m.goTo(task.ID))
}
