package tui

// This file is the table of keys, with their help, and what each key does. No method waits: slow work is a tea.Cmd.

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"client-go-workshop/internal/workspace/progress"
)

// Editor is a program that opens a file.
type Editor struct {
	Cmd      *exec.Cmd
	Terminal bool // it needs the terminal for itself
}

// binding is one key, or several that do the same, and what it does.
type binding struct {
	key.Binding        // with its row on the help page; a binding without help is part of the row before
	footer      string // what the footer shows of it: "h hint"
	do          func(m *Model, pressed string) tea.Cmd
}

func bind(keys, help, footer string, do func(m *Model, pressed string) tea.Cmd, pressed ...string) binding {
	return binding{key.NewBinding(key.WithKeys(pressed...), key.WithHelp(keys, help)), footer, do}
}

// bindings are all keys except those that scroll, in the order of the help page. The footer shows them in this order
// too.
var bindings = []binding{
	bind("h", "the next hint for this task", "h hint", (*Model).hint, "h"),
	bind("a", "all failures; enter or esc goes back to the one that matters", "a all", toggle(pageAll), "a"),
	bind("", "", "", toggle(pageNow), "esc", "enter"),
	bind("n p", "next and previous task; N P next and previous chapter, or its number", "n/p task", nextTask(+1),
		"n", "right"),
	bind("", "", "", nextTask(-1), "p", "left"),
	bind("", "", "", nextChapter(+1), "N", "]"),
	bind("", "", "", nextChapter(-1), "P", "["),
	bind("", "", "", (*Model).goToNumber, "1", "2", "3", "4", "5", "6", "7", "8", "9"),
	bind("o", "open the place in your editor (VISUAL, EDITOR)", "o open", (*Model).edit, "o", "e"),
	bind("r", "with the race detector, on and off", "r race", (*Model).toggleRace, "r"),
	bind("t", "run the tests again", "", func(m *Model, _ string) tea.Cmd { return m.start() }, "t", "space"),
	bind("l", "list of all chapters and tasks", "l list", toggle(pageList), "l"),
	bind("s", "how the solution differs from your code", "s solution", (*Model).solution, "s"),
	bind("w", "what to take away, when the chapter is green", "",
		func(m *Model, _ string) tea.Cmd { return m.takeaway() }, "w"),
	bind("x", "start the chapter again (your code is kept in a backup)", "", (*Model).reset, "x"),
	bind("↑ ↓", "scroll, as pgup and pgdn do", "", scroll((*viewport.Model).GotoTop), "home", "g"),
	bind("", "", "", scroll((*viewport.Model).GotoBottom), "end", "G"),
	bind("", "", "? keys", toggle(pageHelp), "?"),
	bind("q", "quit", "q quit", func(*Model, string) tea.Cmd { return tea.Quit }, "q", "ctrl+c"),
}

// key handles a key press.
func (m *Model) key(msg tea.KeyPressMsg) (cmd tea.Cmd) {
	if m.confirm != "" {
		yes := m.onYes
		m.confirm, m.onYes = "", nil
		if msg.String() == "y" {
			return yes
		}
		m.message = "Cancelled."
		return nil
	}
	m.message, m.done = "", ""
	for _, b := range bindings {
		if key.Matches(msg, b.Binding) {
			return b.do(m, msg.String())
		}
	}
	m.body, cmd = m.body.Update(msg)
	return cmd
}

// toggle opens a page, or closes it if it is open.
func toggle(p page) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		m.scrollToTask = p == pageList
		if m.page == p {
			m.open(pageNow, nil)
		} else {
			m.open(p, nil)
		}
		return nil
	}
}

func scroll(to func(*viewport.Model) []string) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		to(&m.body)
		return nil
	}
}

func (m *Model) hint(string) tea.Cmd {
	c, t, width := m.chapter, m.current(), m.width
	return func() tea.Msg {
		lines, err := m.actions.Hint(c, t, width)
		return pageReady{pageHint, lines, err}
	}
}

func (m *Model) toggleRace(string) tea.Cmd {
	m.race = !m.race
	return m.start()
}

func (m *Model) reset(string) tea.Cmd {
	c := m.chapter
	m.ask(fmt.Sprintf("Start %s again? Your code is kept in a backup. y/n", c.Dir), func() tea.Msg {
		text, err := m.actions.Reset(c)
		if err != nil {
			return failed{err}
		}
		return resetDone{text}
	})
	return nil
}

func (m *Model) ask(question string, yes tea.Cmd) { m.confirm, m.onYes = question, yes }

func (m *Model) solution(string) tea.Cmd {
	c := m.chapter
	show := func() tea.Msg {
		lines, err := m.actions.Diff(c)
		return pageReady{pageDiff, lines, err}
	}
	if c.Done() {
		return show
	}
	m.ask(fmt.Sprintf("%s is not green yet. See the solution anyway? y/n", c.Dir), show)
	return nil
}

// takeaway shows what to take away from the chapter.
func (m *Model) takeaway() tea.Cmd {
	c, width := m.chapter, m.width
	if !c.Done() && (m.verdict == nil || !m.verdict.Green()) {
		m.message = "What to take away comes when the chapter is green."
		return nil
	}
	return func() tea.Msg {
		lines, err := m.actions.Takeaway(c, width)
		return pageReady{pageTakeaway, lines, err}
	}
}

// nextTask goes to the task that is so many further in the chapter.
func nextTask(by int) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		tasks := m.chapter.Tasks
		i := slices.IndexFunc(tasks, func(t progress.TaskState) bool { return t.Number == m.task })
		m.task, m.pinned = tasks[(max(i, 0)+by+len(tasks))%len(tasks)].Number, true
		m.open(pageNow, nil)
		return m.savePlace()
	}
}

// savePlace remembers the task that is shown.
func (m *Model) savePlace() tea.Cmd {
	id := m.current().ID
	return func() tea.Msg { return onError(m.actions.GoTo(id)) }
}

// nextChapter goes to the chapter that is so many further.
func nextChapter(by int) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd {
		i := slices.IndexFunc(m.all, func(c progress.Chapter) bool { return c.Dir == m.chapter.Dir })
		return m.goToChapter((max(i, 0) + by + len(m.all)) % len(m.all))
	}
}

// goToNumber goes to the chapter whose number was pressed.
func (m *Model) goToNumber(pressed string) tea.Cmd {
	i := slices.IndexFunc(m.all, func(c progress.Chapter) bool { return fmt.Sprint(c.Number) == pressed })
	if i < 0 {
		return nil
	}
	return m.goToChapter(i)
}

func (m *Model) goToChapter(i int) tea.Cmd {
	m.chapter = m.all[i]
	m.stopRun()
	m.task, m.pinned, m.verdict, m.failed, m.success = firstOpen(m.chapter), false, nil, nil, ""
	m.passed = map[string]bool{}
	m.remember()
	m.open(pageNow, nil)
	return tea.Batch(m.watch(), m.savePlace())
}

// edit opens the place that the failure on the screen is about: the hole, or the test's line, or what does not compile.
func (m *Model) edit(string) tea.Cmd {
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
