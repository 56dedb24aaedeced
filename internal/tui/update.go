package tui

// This file is what happens on the screen without a key: saves, tests that end, verdicts. Nothing here waits; whatever
// takes time is a command, and comes back as a message. What the keys do is in keys.go.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/workspace/progress"
)

// Messages.
type (
	saved struct {
		folder, by string
		err        error
	}
	testSeen struct {
		run  int
		test gotest.Test
	}
	greenSeen struct {
		run     int
		verdict runner.Verdict
	}
	judged struct {
		run     int
		verdict runner.Verdict
		err     error
	}
	looked struct {
		all []progress.Chapter
		err error
	}
	pageReady struct { // a page that somebody else has laid out
		page  page
		lines []string
		err   error
	}
	resetDone struct{ text string }
	tick      struct{} // a second of a run has passed
	failed    struct{ err error }
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
			m.by, m.message, m.done, m.noted = msg.by, "", "", m.actions.Notes(m.chapter)
			if m.page != pageHint && m.page != pageAll { // what a save changes is what is looked at next
				m.open(pageNow, nil)
			}
			cmd = m.start()
		}
	case testSeen:
		if msg.run == m.run {
			m.see(msg.test)
		}
	case greenSeen:
		if msg.run == m.run {
			cmd = m.judge(judged{run: msg.run, verdict: msg.verdict})
			m.running, m.vetting = true, true
		}
	case judged:
		if msg.run == m.run {
			cmd = m.judge(msg)
		}
	case looked:
		if msg.err == nil {
			m.take(msg.all)
		}
	case pageReady:
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
	case resetDone:
		m.done, m.success, m.verdict = msg.text, "", nil
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
	m.cancel, m.running, m.ended, m.began, m.underway, m.early = cancel, true, 0, time.Now(), nil, nil
	return tea.Batch(m.tick(), func() tea.Msg {
		m.tests.Add(1)
		defer m.tests.Done()
		v, err := m.actions.Test(ctx, c, race, News{
			Test:  func(t gotest.Test) { m.send(testSeen{run, t}) },
			Green: func(v runner.Verdict) { m.send(greenSeen{run, v}) },
		})
		return judged{run, v, err}
	})
}

// see follows a test that begins or has ended.
func (m *Model) see(t gotest.Test) {
	m.underway = slices.DeleteFunc(m.underway, func(other begun) bool { return other.name == t.Name })
	if t.Status == gotest.Running {
		m.underway = append(m.underway, begun{t.Name, time.Now()})
		return
	}
	m.ended++
	if m.early == nil && t.Status == gotest.Failed {
		for _, f := range t.Failures {
			if f.Hole == nil {
				m.early = &f
				break
			}
		}
	}
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
	m.running, m.vetting = false, false
}

// judge takes a verdict: the screen goes to what matters, and says what was reached.
func (m *Model) judge(msg judged) tea.Cmd {
	known := m.vetting // the tests' part of it has been on the screen since greenSeen
	m.running, m.vetting = false, false
	if known && msg.err == nil {
		if m.verdict = &msg.verdict; !msg.verdict.Green() {
			m.open(pageNow, nil)
		}
		return m.look()
	}
	m.success = ""
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
		case t.State == runner.Passed && !m.passed[t.ID]:
			reached = append(reached, fmt.Sprint(t.Number))
			m.passed[t.ID] = true
		case t.State == runner.Failing || t.State == runner.Open:
			delete(m.passed, t.ID)
		}
	}
	if len(reached) > 0 {
		m.success = fmt.Sprintf("Task %s passes.", reached[0])
		if len(reached) > 1 {
			m.success = fmt.Sprintf("Tasks %s pass.", strings.Join(reached, ", "))
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
		return tea.Batch(m.look(), m.takeaway())
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
