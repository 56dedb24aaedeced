// Package tui is the live view, which a learner keeps open beside the editor. It shows the current task and the one
// failure to look at now. A save runs the chapter's tests at once; a newer save cancels the run.
//
// It is a bubbletea program: the model (this file), messages (update.go), keys (keys.go), and the screen (view.go). All
// work is done by other packages, behind Actions, so that tests need no workshop. Everything it can do, a plain command
// can do too.
package tui

import (
	"context"
	"sync"
	"time"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/workspace/progress"
)

// Actions is what the screen can ask for. Each is called on a goroutine of its own and may take its time; an error is
// shown on the screen.
type Actions struct {
	// Look reads how all chapters stand, and the ID of the task one is at.
	Look func() (all []progress.Chapter, at string, err error)
	// Test runs a chapter's tests, and remembers what they said. It ends early when ctx does.
	Test func(ctx context.Context, c progress.Chapter, race bool, news News) (runner.Verdict, error)
	// Watch reports saves in a chapter's folder until ctx ends, and calls saved once at the start; see filewatch.Watch.
	Watch func(ctx context.Context, c progress.Chapter, saved func(by string, err error))
	// GoTo remembers the task one is at.
	GoTo func(id string) error
	// Hint takes the next hint of a task and returns all that were taken, laid out for a width.
	Hint func(c progress.Chapter, t progress.TaskState, width int) ([]string, error)
	// Reset puts the stubs back, and returns what it has done.
	Reset func(c progress.Chapter) (string, error)
	// Diff is how the solution differs from the learner's code; Takeaway is what is worth knowing after a chapter.
	Diff     func(c progress.Chapter) ([]string, error)
	Takeaway func(c progress.Chapter, width int) ([]string, error)
	// Notes are things to know about a chapter's folder, such as tests that were edited.
	Notes func(c progress.Chapter) []string
	// Edit is the command that opens a file of the chapter, as "store.go:45", and whether it takes the terminal over.
	Edit func(c progress.Chapter, place string) (cmd *Editor, err error)
}

// News are callbacks for a run that is under way: OnTest and OnGreen of runner.Options.
type News struct {
	Test  func(gotest.Test)
	Green func(runner.Verdict)
}

// page is what the body of the screen shows.
type page int

const (
	pageNow      page = iota // the failure that matters
	pageAll                  // all failures
	pageHint                 // the hints taken
	pageList                 // all chapters and tasks
	pageDiff                 // the solution beside yours
	pageHelp                 // the keys
	pageTakeaway             // what to take away
)

// Model is the whole state of the screen.
type Model struct {
	ctx     context.Context
	actions Actions
	send    func(tea.Msg) // from goroutines that outlive an update

	width, height int
	all           []progress.Chapter
	chapter       progress.Chapter
	task          int  // the number of the task that is shown
	pinned        bool // the learner has chosen it, so it stays although others are open

	run      int // counts runs; a message of an older one is dropped
	cancel   context.CancelFunc
	running  bool
	vetting  bool    // every test has passed once, which the screen shows; a closer look goes on
	ended    int     // tests that have ended in this run
	underway []begun // and those that have not, the longest first
	early    *failure.Failure
	race     bool
	verdict  *runner.Verdict
	failed   error // why there is no verdict
	passed   map[string]bool
	success  string // the tasks that pass since this run
	watching context.CancelFunc
	by       string
	noted    []string // see Actions.Notes
	done     string   // what an action has done, until the next key
	began    time.Time
	ticking  bool
	tests    sync.WaitGroup // runs that are under way

	page         page
	scrollToTask bool     // the list was just opened, and has to show the current task
	lines        []string // of a page that an action returned
	confirm      string   // the question that is open
	onYes        tea.Cmd
	message      string
	body         viewport.Model
	fatal        error
}

// begun is a test that has not ended yet.
type begun struct {
	name string
	at   time.Time
}

// New makes the screen for the chapter with that folder, or, if it is "", the one the learner is at.
func New(ctx context.Context, actions Actions, folder string) (*Model, error) {
	all, at, err := actions.Look()
	if err != nil {
		return nil, err
	}
	m := &Model{ctx: ctx, actions: actions, all: all, width: 80, height: 24, passed: map[string]bool{},
		send: func(tea.Msg) {}}
	c, task, ok := progress.Current(all, at)
	if !ok {
		c = all[len(all)-1]
		task = c.Tasks[0]
	}
	m.chapter, m.task = c, task.Number
	for _, other := range all {
		if other.Dir == folder && other.Dir != c.Dir {
			m.chapter, m.task = other, firstOpen(other)
		}
	}
	m.body = viewport.New(viewport.WithWidth(80), viewport.WithHeight(18))
	m.body.SetHorizontalStep(0)
	m.remember()
	return m, nil
}

// Run shows the screen until the learner leaves it or ctx ends.
func Run(ctx context.Context, m *Model, options ...tea.ProgramOption) error {
	program := tea.NewProgram(m, append([]tea.ProgramOption{tea.WithContext(ctx)}, options...)...)
	m.send = program.Send
	_, err := program.Run()
	m.stopRun()
	stopped := make(chan struct{})
	go func() { m.tests.Wait(); close(stopped) }()
	select { // no process of a test outlives the screen
	case <-stopped:
	case <-time.After(5 * time.Second):
	}
	if m.watching != nil {
		m.watching()
	}
	if m.fatal != nil {
		return m.fatal
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// firstOpen is the first task that has not passed, or the first of all.
func firstOpen(c progress.Chapter) int {
	for _, t := range c.Tasks {
		if t.State != runner.Passed && !t.Bonus {
			return t.Number
		}
	}
	return c.Tasks[0].Number
}

// current is the task that is shown.
func (m *Model) current() progress.TaskState {
	for _, t := range m.chapter.Tasks {
		if t.Number == m.task {
			return t
		}
	}
	return m.chapter.Tasks[0]
}

// remember notes which tasks have passed, so that the next verdict can tell what is new.
func (m *Model) remember() {
	for _, t := range m.chapter.Tasks {
		if t.State == runner.Passed {
			m.passed[t.ID] = true
		}
	}
}
