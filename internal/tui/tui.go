// Package tui is the live view, which a learner keeps open beside the editor. It shows the current task and the one
// failure to look at now. A save runs the tests of the tasks up to the learner's at once, and then the others. A newer
// save cancels the run.
//
// It is a bubbletea program: the model and what happens without a key (this file), keys (keys.go), and the screen
// (view.go). Other packages do all work, those of the commands behind
// Workshop. A plain command can do everything that the live view can do.
package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/tui/filewatch"
	"client-go-workshop/internal/workspace/progress"
)

// Workshop is what the screen asks of the commands. Look and Notes are called while the screen is drawn; each other
// method has a goroutine of its own and may take its time. The screen shows an error.
type Workshop interface {
	// Look reads the state of all chapters.
	Look() []progress.Chapter
	// Notes returns notes about a chapter's folder, such as tests that were edited.
	Notes(c progress.Chapter) []string
	// Test runs a chapter's tests, and stores the result. It ends early when ctx does.
	Test(ctx context.Context, c progress.Chapter, o runner.Options) (runner.Verdict, error)
	// Page returns the lines of a page, laid out for a width. PageHint takes the next hint of the task.
	Page(p Page, c progress.Chapter, t progress.TaskState, width int) ([]string, error)
	// Predict shows the programs of a task to predict, in a dialogue that has the terminal for itself.
	Predict(c progress.Chapter, t progress.TaskState) error
}

// Page is what the body of the screen shows.
type Page int

const (
	pageNow      Page = iota // the failure that matters
	pageAll                  // all failures
	pageHelp                 // the keys
	PageHint                 // the hints taken
	PageList                 // all chapters and tasks
	PageDiff                 // the solution beside yours
	PageText                 // the text of the task
	PageTakeaway             // what to take away
)

// Model is the whole state of the screen.
type Model struct {
	ctx      context.Context
	root     string
	workshop Workshop
	// saves is Watch, except in tests.
	saves func(ctx context.Context, root string, c progress.Chapter, saved func())
	send  func(tea.Msg) // from goroutines that outlive an update

	width, height int
	all           []progress.Chapter
	chapter       progress.Chapter
	task          int  // the number of the task that is shown
	pinned        bool // the learner has chosen it, so it stays although others are open

	stopRun             context.CancelFunc // without a verdict
	endRun              func()             // with a verdict on what has run
	running             bool
	vetting             bool    // every test has passed once, which the screen shows; a closer look goes on
	ended               int     // tests that have ended in this run
	compiled, toCompile int     // packages, for the race detector
	underway            []begun // tests that have not ended, the longest first
	early               *failure.Failure
	race                bool
	only                string // the test to run alone, "" for all
	verdict             *runner.Verdict
	failed              error           // why there is no verdict
	passed              map[string]bool // the tasks that have passed, by ID, so that the next verdict can tell what is new
	success             string          // the tasks that pass since this run
	began               time.Time
	tests               sync.WaitGroup // runs that are under way

	stopWatch context.CancelFunc
	noted     []string // see Workshop.Notes

	places map[string][2]failure.Position // yours and the test's of the present verdict, by the failure

	page         Page
	scrollToTask bool     // the list was just opened, and has to show the current task
	lines        []string // of a page of the workshop
	confirm      string   // the question that is open
	onYes        tea.Cmd
	message      string
	done         string // what an action has done, until the next key
	body         viewport.Model
}

// begun is a test that has not ended yet.
type begun struct {
	name  string
	at    time.Time
	place *failure.Place // where it is; nil before it has told
}

// change is the message of a goroutine: a change to the model, which Update applies.
type change func(*Model) tea.Cmd

// unless returns a change that has no effect after ctx has ended: a newer run or another chapter overtook it.
func unless(ctx context.Context, do change) change {
	return func(m *Model) tea.Cmd {
		if ctx.Err() != nil {
			return nil
		}
		return do(m)
	}
}

// New returns the screen for one of all chapters in the workshop at root, at one of its tasks.
func New(ctx context.Context, root string, w Workshop, all []progress.Chapter, c progress.Chapter,
	task progress.TaskState) *Model {
	m := &Model{ctx: ctx, root: root, workshop: w, all: all, width: 80, height: 24, saves: Watch,
		send: func(tea.Msg) {}, stopRun: func() {}, endRun: func() {}, stopWatch: func() {},
		body: viewport.New(viewport.WithWidth(80), viewport.WithHeight(18))}
	m.show(c, task)
	return m
}

// Run shows the screen until the learner leaves it or the context of New ends.
func (m *Model) Run(options ...tea.ProgramOption) error {
	program := tea.NewProgram(m, append(options, tea.WithContext(m.ctx))...)
	m.send = program.Send
	_, err := program.Run()
	m.stopRun()
	m.stopWatch()
	m.tests.Wait() // no process of a test outlives the screen; a cancelled run ends within seconds
	return cmp.Or(m.ctx.Err(), err)
}

// show goes to a task of a chapter, about which nothing is known yet.
func (m *Model) show(c progress.Chapter, task progress.TaskState) {
	m.chapter, m.task, m.pinned = c, task.Number, false
	m.stopRun()
	m.running, m.vetting, m.verdict, m.failed, m.success, m.only = false, false, nil, nil, "", ""
	m.passed = map[string]bool{}
	for _, t := range c.Tasks {
		m.passed[t.ID] = t.State == runner.Passed
	}
	m.open(pageNow, nil)
}

// current returns the task that is shown.
func (m *Model) current() progress.TaskState {
	i := slices.IndexFunc(m.chapter.Tasks, func(t progress.TaskState) bool { return t.Number == m.task })
	return m.chapter.Tasks[max(i, 0)]
}

func (m *Model) open(p Page, lines []string) {
	m.page, m.lines = p, lines
	m.body.GotoTop()
	m.body.SetXOffset(0)
}

// Init starts watching; the watcher's first call starts the first run.
func (m *Model) Init() tea.Cmd { return tea.Batch(m.watch(), tick()) }

// Update is bubbletea's: it changes the model in place. Nothing in it waits; slow work is a tea.Cmd, and its result is
// a change.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case change:
		cmd = msg(m)
	}
	m.draw()
	return m, cmd
}

// Watch reports saves in a chapter's folder until ctx ends, and calls saved once at the start; see filewatch.Watch.
func Watch(ctx context.Context, root string, c progress.Chapter, saved func()) {
	filewatch.Watch(ctx,
		func() []string { return progress.Paths(root, c.Chapter) },
		func() (string, error) { return progress.Content(root, c.Chapter) }, // the run that follows meets an error, too
		saved)
}

// watch watches the current chapter, and no other any more.
func (m *Model) watch() tea.Cmd {
	m.stopWatch()
	ctx, cancel := context.WithCancel(m.ctx)
	m.stopWatch = cancel
	c := m.chapter
	return func() tea.Msg {
		m.saves(ctx, m.root, c, func() {
			m.send(unless(ctx, func(m *Model) tea.Cmd {
				m.message, m.noted = "", m.workshop.Notes(m.chapter)
				switch m.page {
				case PageHint, pageAll: // what is read stays
				default: // what a save changes is what is looked at next
					m.open(pageNow, nil)
				}
				return m.start()
			}))
		})
		return nil
	}
}

// start runs the chapter's tests, and cancels the run before.
func (m *Model) start() tea.Cmd {
	m.stopRun()
	ctx, cancel := context.WithCancel(m.ctx)
	m.stopRun, m.running, m.vetting = cancel, true, false
	m.ended, m.began, m.underway, m.early, m.compiled, m.toCompile = 0, time.Now(), nil, nil, 0, 0
	m.places = map[string][2]failure.Position{}
	stop := make(chan struct{})
	m.endRun = sync.OnceFunc(func() { close(stop) })
	c := m.chapter
	options := runner.Options{
		Race:   m.race,
		Only:   m.only,
		Stop:   stop,
		OnTest: func(t gotest.Test) { m.send(unless(ctx, func(m *Model) tea.Cmd { return m.see(t) })) },
		OnCompile: func(done, all int) {
			m.send(unless(ctx, func(m *Model) tea.Cmd { m.compiled, m.toCompile = done, all; return nil }))
		},
	}
	if m.only == "" {
		options.UpTo = m.chapter.WorkingAt(m.task)
		options.OnGreen = func(v runner.Verdict) { m.send(unless(ctx, func(m *Model) tea.Cmd { return m.green(v) })) }
	}
	return func() tea.Msg {
		m.tests.Add(1)
		defer m.tests.Done()
		v, err := m.workshop.Test(ctx, c, options)
		return unless(ctx, func(m *Model) tea.Cmd { return m.judge(v, err) })
	}
}

// see follows a test that begins, tells where it is, or has ended.
func (m *Model) see(t gotest.Test) tea.Cmd {
	i := slices.IndexFunc(m.underway, func(other begun) bool { return other.name == t.Name })
	if i >= 0 && t.Place != nil && t.Status == gotest.Running {
		m.underway[i].place = t.Place
		return nil
	}
	m.underway = slices.DeleteFunc(m.underway, func(other begun) bool { return other.name == t.Name })
	if t.Status == gotest.Running {
		m.underway = append(m.underway, begun{name: t.Name, at: time.Now()})
		return nil
	}
	m.ended++
	written := slices.IndexFunc(t.Failures, func(f failure.Failure) bool { return f.Todo == nil })
	if m.early == nil && t.Status == gotest.Failed && written >= 0 {
		f := t.Failures[written]
		f.Read = runner.ReadLink(m.chapter.Chapter, f)
		m.early = &f
	}
	return nil
}

// tick comes back every second, because the screen shows how long a run takes.
func tick() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg {
		return change(func(*Model) tea.Cmd { return tick() })
	})
}

// green shows a verdict on the tests, while a closer look goes on.
func (m *Model) green(v runner.Verdict) tea.Cmd {
	cmd := m.judge(v, nil)
	m.running, m.vetting = true, true
	return cmd
}

// judge shows a verdict, or why there is none: the screen goes to the failure that matters, and names the tasks that
// newly pass.
func (m *Model) judge(v runner.Verdict, err error) tea.Cmd {
	continued := m.vetting // a part of it has been on the screen since green
	known := continued && m.verdict != nil && m.verdict.Green()
	m.running, m.vetting, m.failed, m.places = false, false, err, map[string][2]failure.Position{}
	if err == nil {
		m.verdict = &v
	}
	if known && err == nil && v.Green() {
		return m.look()
	}
	if known { // the closer look has found what the brief one had not
		m.open(pageNow, nil)
	}
	if known || !continued {
		m.success = ""
	}
	if err != nil || len(v.Build) > 0 || v.Stopped != "" || v.Only != "" {
		return m.look() // says nothing about the tasks, so the place stays
	}
	m.body.GotoTop()
	var reached []string
	for _, t := range v.Tasks {
		if t.State == runner.Passed && !m.passed[t.ID] {
			reached = append(reached, fmt.Sprint(t.Number))
		}
		switch t.State {
		case runner.Passed, runner.Failing, runner.Open:
			m.passed[t.ID] = t.State == runner.Passed
		}
	}
	if len(reached) > 0 {
		m.success = fmt.Sprintf("Task %s passes.", reached[0])
		if len(reached) > 1 {
			m.success = fmt.Sprintf("Tasks %s pass.", strings.Join(reached, ", "))
		}
		if m.page == PageHint {
			m.page = pageNow
		}
	}
	number := m.task
	if v.Broken() {
		m.success = "" // what broke comes first
		if !m.pinned {
			number = 0
		}
	}
	if task, open := v.First(number); open && task.Number != m.task {
		if m.success != "" {
			m.success += fmt.Sprintf(" Next: task %d, %s.", task.Number, task.Title)
		}
		m.task, m.pinned = task.Number, false
		return tea.Batch(m.look(), m.goTo(task.ID))
	}
	if v.Green() && len(reached) > 0 {
		return tea.Batch(m.look(), m.takeaway())
	}
	return m.look()
}

// look reads the state of the chapters again.
func (m *Model) look() tea.Cmd {
	return func() tea.Msg {
		all := m.workshop.Look()
		return change(func(m *Model) tea.Cmd {
			m.all = all
			for _, c := range all {
				if c.Dir == m.chapter.Dir {
					m.chapter = c
				}
			}
			return nil
		})
	}
}

// goTo stores the current task.
func (m *Model) goTo(id string) tea.Cmd {
	return func() tea.Msg {
		return showError(progress.Update(m.root, func(f *progress.File) { f.At = id }))
	}
}

// showError returns a change that shows err, unless it is nil.
func showError(err error) change {
	return func(m *Model) tea.Cmd {
		if err != nil {
			m.message = err.Error()
		}
		return nil
	}
}
