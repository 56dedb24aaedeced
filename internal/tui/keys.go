package tui

// This file is what each key does. Like everything that changes the model it does not wait: what takes time is a command.

import (
	"fmt"
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// Editor is a program that opens a file.
type Editor struct {
	Cmd      *exec.Cmd
	Terminal bool // it needs the terminal for itself
}

// turnPage opens a page, or closes it if it is open: the key that leads there leads back.
func (m *Model) turnPage(p page) {
	if m.page == p {
		p = pageNow
	}
	m.open(p, nil)
}

// key is a key press.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	if m.confirm != "" {
		yes := m.onYes
		m.confirm, m.onYes = "", nil
		if k == "y" {
			return yes
		}
		m.message = "Then not."
		return nil
	}
	m.message, m.told = "", ""
	switch k {
	case "q", "ctrl+c":
		return tea.Quit
	case "esc", "enter":
		m.open(pageNow, nil)
	case "?":
		m.turnPage(pageHelp)
	case "home", "g":
		m.body.GotoTop()
	case "end", "G":
		m.body.GotoBottom()
	case "1", "2", "3", "4", "5", "6", "7", "8", "9":
		for i, c := range m.all {
			if fmt.Sprint(c.Number) == k {
				return m.turnTo(i)
			}
		}
	case "l":
		m.turnPage(pageList)
		m.here = true
	case "a":
		m.turnPage(pageAll)
	case "h":
		c, t, width := m.chapter, m.current(), m.width
		return func() tea.Msg {
			lines, err := m.actions.Hint(c, t, width)
			return laidOut{pageHint, lines, err}
		}
	case "r":
		m.race = !m.race
		return m.start()
	case "t", "space":
		return m.start()
	case "n", "right":
		return m.step(+1)
	case "p", "left":
		return m.step(-1)
	case "N", "]":
		return m.turn(+1)
	case "P", "[":
		return m.turn(-1)
	case "o", "e":
		return m.edit()
	case "x":
		c := m.chapter
		m.ask(fmt.Sprintf("Start %s anew? What you wrote is kept in a backup. y/n", c.Dir), func() tea.Msg {
			text, err := m.actions.Reset(c)
			if err != nil {
				return failed{err}
			}
			return said{text}
		})
	case "s":
		return m.solution()
	case "w":
		return m.after()
	default:
		var cmd tea.Cmd
		m.body, cmd = m.body.Update(msg)
		return cmd
	}
	return nil
}

func (m *Model) ask(question string, yes tea.Cmd) { m.confirm, m.onYes = question, yes }

func (m *Model) solution() tea.Cmd {
	c := m.chapter
	show := func() tea.Msg {
		lines, err := m.actions.Diff(c)
		return laidOut{pageDiff, lines, err}
	}
	if c.Done() {
		return show
	}
	m.ask(fmt.Sprintf("%s is not green yet. See the solution anyway? y/n", c.Dir), show)
	return nil
}

func (m *Model) after() tea.Cmd {
	c, width := m.chapter, m.width
	if !c.Done() && (m.verdict == nil || !m.verdict.Green()) {
		m.message = "What to take away comes when the chapter is green."
		return nil
	}
	return func() tea.Msg {
		lines, err := m.actions.Takeaway(c, width)
		return laidOut{pageAfter, lines, err}
	}
}

// step goes to another task of the chapter.
func (m *Model) step(by int) tea.Cmd {
	tasks := m.chapter.Tasks
	for i, t := range tasks {
		if t.Number == m.task {
			m.task, m.pinned = tasks[(i+by+len(tasks))%len(tasks)].Number, true
			break
		}
	}
	m.open(pageNow, nil)
	return m.goTo()
}

func (m *Model) goTo() tea.Cmd {
	id := m.current().ID
	return func() tea.Msg { return onError(m.actions.GoTo(id)) }
}

// turn goes to another chapter.
func (m *Model) turn(by int) tea.Cmd {
	for i, c := range m.all {
		if c.Dir == m.chapter.Dir {
			return m.turnTo((i + by + len(m.all)) % len(m.all))
		}
	}
	return nil
}

func (m *Model) turnTo(i int) tea.Cmd {
	m.chapter = m.all[i]
	m.stopRun()
	m.task, m.pinned, m.verdict, m.failed, m.cheer = firstOpen(m.chapter), false, nil, nil, ""
	m.passed = map[string]bool{}
	m.remember()
	m.open(pageNow, nil)
	return tea.Batch(m.watch(), m.goTo())
}

// edit opens the place that the failure on the screen is about: the hole, or the test's line, or what does not compile.
func (m *Model) edit() tea.Cmd {
	editor, err := m.actions.Edit(m.chapter, m.place())
	if err != nil {
		m.message = err.Error()
		return nil
	}
	after := func(err error) tea.Msg {
		if err != nil {
			return failed{fmt.Errorf("open the editor: %w", err)}
		}
		return nil
	}
	if editor.Terminal {
		return tea.ExecProcess(editor.Cmd, after)
	}
	return func() tea.Msg { return after(editor.Cmd.Run()) }
}

// place is the file and line to open: "store.go:45", or "" for the chapter as a whole.
func (m *Model) place() string {
	if m.verdict == nil {
		return ""
	}
	if len(m.verdict.Build) > 0 {
		for _, line := range m.verdict.Build {
			if at := fileLine.FindStringSubmatch(line); at != nil {
				return strings.TrimPrefix(at[1], m.chapter.Dir+"/")
			}
		}
		return ""
	}
	task, ok := m.verdict.First(m.task)
	if !ok {
		return ""
	}
	f, ok := task.Matters()
	switch {
	case !ok:
		return ""
	case f.Hole != nil:
		return f.Hole.At.String()
	}
	return f.At.String()
}
