package live

// This file is what happens on the screen: keys, saves, verdicts. Nothing here waits; whatever takes time is a command,
// and comes back as a message.

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"client-go-workshop/internal/gotest"
	"client-go-workshop/internal/progress"
	"client-go-workshop/internal/trial"
)

// Editor is a program that opens a file.
type Editor struct {
	Cmd      *exec.Cmd
	Terminal bool // it needs the terminal for itself
}

// Messages.
type (
	saved struct {
		folder, by string
		err        error
	}
	testEnded struct{ run int }
	judged    struct {
		run     int
		verdict trial.Verdict
		err     error
	}
	looked struct {
		all []progress.Chapter
		err error
	}
	laidOut struct { // a page that somebody else has laid out
		page  page
		lines []string
		err   error
	}
	said   struct{ text string }
	tick   struct{} // a second of a run has passed
	failed struct{ err error }
)

// Init starts watching; the watcher's first call starts the first run.
func (m *Model) Init() tea.Cmd { return m.watch() }

// watch watches the current chapter, and no other any more.
func (m *Model) watch() tea.Cmd {
	if m.watching != nil {
		m.watching()
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.watching = cancel
	c := m.chapter
	return func() tea.Msg {
		m.actions.Watch(ctx, c, func(by string, err error) { m.send(saved{c.Dir, by, err}) })
		return nil
	}
}

// Update is bubbletea's: it changes the model in place.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.MouseWheelMsg:
		m.body, cmd = m.body.Update(msg)
	case saved:
		if msg.folder == m.chapter.Dir {
			m.by, m.message, m.noted = msg.by, "", m.actions.Notes(m.chapter)
			if m.page != pageHint && m.page != pageAll { // what a save changes is what is looked at next
				m.open(pageNow, nil)
			}
			cmd = m.start()
		}
	case testEnded:
		if msg.run == m.run {
			m.ended++
		}
	case judged:
		if msg.run == m.run {
			cmd = m.judge(msg)
		}
	case looked:
		if msg.err == nil {
			m.take(msg.all)
		}
	case laidOut:
		if msg.err != nil {
			m.message = msg.err.Error()
			break
		}
		m.open(msg.page, msg.lines)
		cmd = m.look()
	case tick:
		if m.ticking = false; m.running {
			cmd = m.tick()
		}
	case said:
		m.told, m.cheer, m.verdict = msg.text, "", nil
		cmd = m.look()
	case failed:
		m.message = msg.err.Error()
	}
	m.draw()
	return m, cmd
}

// start cancels what runs and runs the chapter's tests.
func (m *Model) start() tea.Cmd {
	m.stopRun()
	m.run++
	run, c, race := m.run, m.chapter, m.race
	ctx, cancel := context.WithCancel(m.ctx)
	m.cancel, m.running, m.ended, m.began = cancel, true, 0, time.Now()
	return tea.Batch(m.tick(), func() tea.Msg {
		m.tests.Add(1)
		defer m.tests.Done()
		v, err := m.actions.Test(ctx, c, race, func(gotest.Test) { m.send(testEnded{run}) })
		return judged{run, v, err}
	})
}

// tick comes back in a second, so that the screen shows that something goes on. There is one at a time.
func (m *Model) tick() tea.Cmd {
	if m.ticking {
		return nil
	}
	m.ticking = true
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tick{} })
}

func (m *Model) stopRun() {
	if m.cancel != nil {
		m.cancel()
	}
	m.running = false
}

// judge takes a verdict: the screen goes to what matters, and says what was reached.
func (m *Model) judge(msg judged) tea.Cmd {
	m.running = false
	m.cheer = ""
	if m.failed = msg.err; msg.err != nil {
		if errors.Is(msg.err, context.Canceled) {
			m.failed = nil
		}
		return m.look()
	}
	m.verdict = &msg.verdict
	if len(msg.verdict.Build) > 0 || msg.verdict.Stopped != "" {
		return m.look() // says nothing about the tasks, so the place stays
	}
	m.body.GotoTop()
	var reached []string
	for _, t := range msg.verdict.Tasks {
		switch {
		case t.State == trial.Passed && !m.passed[t.ID]:
			reached = append(reached, fmt.Sprint(t.Number))
			m.passed[t.ID] = true
		case t.State == trial.Failing || t.State == trial.Open:
			delete(m.passed, t.ID)
		}
	}
	if len(reached) > 0 {
		m.cheer = fmt.Sprintf("Task %s passes.", reached[0])
		if len(reached) > 1 {
			m.cheer = fmt.Sprintf("Tasks %s pass.", strings.Join(reached, ", "))
		}
		if m.page == pageHint {
			m.page = pageNow
		}
	}
	task, open := msg.verdict.First(0)
	if m.pinned {
		task, open = msg.verdict.First(m.task)
	}
	if open && task.Number != m.task {
		m.task, m.pinned = task.Number, false
		id := task.ID
		return tea.Batch(m.look(), func() tea.Msg { return onError(m.actions.GoTo(id)) })
	}
	if msg.verdict.Green() && len(reached) > 0 {
		return tea.Batch(m.look(), m.after())
	}
	return m.look()
}

func onError(err error) tea.Msg {
	if err != nil {
		return failed{err}
	}
	return nil
}

func (m *Model) look() tea.Cmd {
	return func() tea.Msg {
		all, _, err := m.actions.Look()
		return looked{all, err}
	}
}

// take takes over how the chapters stand.
func (m *Model) take(all []progress.Chapter) {
	m.all = all
	for _, c := range all {
		if c.Dir == m.chapter.Dir {
			m.chapter = c
		}
	}
}

func (m *Model) open(p page, lines []string) {
	m.page, m.lines = p, lines
	m.body.GotoTop()
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
		if m.page == pageHelp {
			m.open(pageNow, nil)
		} else {
			m.open(pageHelp, nil)
		}
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
		m.open(pageList, nil)
	case "a":
		m.open(pageAll, nil)
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
		return f.Hole.At
	}
	return f.At
}
