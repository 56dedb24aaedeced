// Package tui is the screen that a learner leaves open beside the editor: where they are, and the one failure to look at
// now. A save runs the chapter's tests at once; a newer save cancels what runs.
//
// It is a bubbletea program in the usual parts: the model (this file), what changes it (update.go, keys.go), and how it is
// drawn (view.go). All work is done by other packages, behind Actions, so that tests drive the screen without a workshop.
// What it leaves out: anything that cannot be done by plain commands as well.
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
	// Watch tells of saves in a chapter's folder until ctx ends, and once at the start; by says how it finds out.
	Watch func(ctx context.Context, c progress.Chapter, saved func(by string, err error))
	// GoTo remembers the task one is at.
	GoTo func(id string) error
	// Hint takes the next hint of a task and returns all that were taken, laid out for a width.
	Hint func(c progress.Chapter, t progress.TaskState, width int) ([]string, error)
	// Reset puts the stubs back, and says what was done.
	Reset func(c progress.Chapter) (string, error)
	// Diff is how the solution differs from the learner's code; Takeaway is what is worth knowing after a chapter.
	Diff     func(c progress.Chapter) ([]string, error)
	Takeaway func(c progress.Chapter, width int) ([]string, error)
	// Notes are things to know about a chapter's folder, such as tests that were edited.
	Notes func(c progress.Chapter) []string
	// Edit is the command that opens a file of the chapter, as "store.go:45", and whether it takes the terminal over.
	Edit func(c progress.Chapter, place string) (cmd *Editor, err error)
}

// News is what can be told of a run before its verdict: trial's OnTest and OnGreen.
type News struct {
	Test  func(gotest.Test)
	Green func(runner.Verdict)
}

// page is what the body of the screen shows.
type page int

const (
	pageNow   page = iota // the failure that matters
	pageAll               // all failures
	pageHint              // the hints taken
	pageList              // all chapters and tasks
	pageDiff              // the solution beside yours
	pageHelp              // the keys
	pageAfter             // what to take away
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

	run      int // counts runs; news of an older one is dropped
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
	cheer    string // what has just been reached
	watching context.CancelFunc
	by       string
	noted    []string // see Actions.Notes
	told     string   // what an action has done; stays until the next key
	began    time.Time
	ticking  bool
	tests    sync.WaitGroup // runs that are under way

	page    page
	here    bool     // the list was just opened, and has to show where one is
	lines   []string // of the pages that somebody else lays out
	confirm string   // the question that is open
	onYes   tea.Cmd
	message string
	body    viewport.Model
	fatal   error
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
	m := &Model{ctx: ctx, actions: actions, all: all, width: 80, height: 24, passed: map[string]bool{}, send: func(tea.Msg) {}}
	c, task, ok := progress.Here(all, at)
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
	select { // what a test has started shall not outlive the screen
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
