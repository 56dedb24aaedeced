package tui

// This test gives the model a thousand saves, without a terminal: a loop stands in for bubbletea's, and a fake
// for the commands. No save may be lost, and nothing may be left behind.

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/workspace/progress"
)

const patience = time.Minute // far more than it takes, since the machine may be busy

// loop does what bubbletea does: one message after the other, and each command on a goroutine of its own.
type loop struct {
	t        *testing.T
	m        *Model
	messages chan tea.Msg
	ended    chan struct{}
	commands sync.WaitGroup
}

func (l *loop) send(msg tea.Msg) {
	select {
	case l.messages <- msg:
	case <-l.ended:
	}
}

func (l *loop) start(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	l.commands.Go(func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				l.start(c)
			}
		default:
			l.send(msg)
		}
	})
}

// until handles messages until done says so.
func (l *loop) until(what string, done func() bool) {
	l.t.Helper()
	deadline := time.After(patience)
	for !done() {
		select {
		case msg := <-l.messages:
			_, cmd := l.m.Update(msg)
			l.start(cmd)
		case <-deadline:
			l.t.Fatalf("it never came to this: %s", what)
		}
	}
}

func TestThousand_saves_are_each_tested_or_overtaken_and_leave_nothing_behind(t *testing.T) {
	before := runtime.NumGoroutine()
	box := progress.Chapter{Chapter: course.Chapter{Dir: "01-box", Number: 1, Topic: "box",
		Tasks: []course.Task{{Number: 1, Title: "Put", ID: "box/put", Command: "go test ./01-box -run Task1"}}}}
	box.Tasks = []progress.TaskState{{Task: box.Chapter.Tasks[0], State: runner.Open}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var version, running, most, begun, overtaken atomic.Int64
	save := make(chan struct{})
	seen := 0 // saves that the model has seen; it asks for notes at each
	l := &loop{t: t, messages: make(chan tea.Msg), ended: make(chan struct{})}
	m := New(ctx, t.TempDir(), &fake{
		all:   []progress.Chapter{box},
		noted: func() { seen++ },
		// A run takes what is saved when it begins, tells of some tests, and ends early when it is cancelled.
		test: func(ctx context.Context, c progress.Chapter, o runner.Options) (runner.Verdict, error) {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer running.Add(-1)
			begun.Add(1)
			over := version.Load()
			for range 3 {
				o.OnTest(gotest.Test{})
			}
			if over%2 == 0 { // every other run is slow, and is overtaken by the next save
				select {
				case <-ctx.Done():
				case <-time.After(2 * time.Millisecond):
				}
			}
			if ctx.Err() != nil {
				overtaken.Add(1)
				return runner.Verdict{}, ctx.Err()
			}
			return runner.Verdict{Chapter: c.Chapter, Command: fmt.Sprint("version ", over),
				Tasks: []runner.Task{{Task: box.Chapter.Tasks[0], State: runner.Open,
					Tests: []runner.Test{{Name: "TestTask1_a", Status: gotest.Failed}}}}}, nil
		},
	}, []progress.Chapter{box}, box, box.Tasks[0])
	m.saves = func(ctx context.Context, _ string, _ progress.Chapter, saved func()) {
		saved()
		for {
			select {
			case <-save:
				saved()
			case <-ctx.Done():
				return
			}
		}
	}
	l.m, m.send = m, l.send
	l.start(m.Init())
	l.until("the first run has ended", func() bool { return m.verdict != nil && !m.running })

	first := seen
	watching := 0
	for i := 1; i <= 1000; i++ {
		version.Store(int64(i))
		go func() { save <- struct{}{} }()
		l.until("the save is being tested", func() bool { return seen == first+i })
		if i%7 == 0 { // now and then the learner waits for the result
			l.until("the newest verdict is shown", func() bool { return !m.running })
			require.Equal(t, fmt.Sprint("version ", i), m.verdict.Command)
			require.NoError(t, m.failed)
		}
		if i == 100 {
			l.until("all has ended", func() bool { return !m.running })
			watching = runtime.NumGoroutine()
		}
	}
	l.until("the last verdict is shown", func() bool { return !m.running })
	require.Equal(t, "version 1000", m.verdict.Command)
	require.Positive(t, overtaken.Load())
	require.LessOrEqual(t, runtime.NumGoroutine(), watching+20, "goroutines pile up")
	t.Logf("%d runs overtaken, at most %d at a time", overtaken.Load(), most.Load())
	require.True(t, strings.Contains(m.View().Content, "01-box"))

	cancel()
	close(l.ended)
	m.stopRun()
	m.stopWatch()
	l.commands.Wait()
	require.Equal(t, int64(1001), begun.Load(), "a run for each save")
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			var dump strings.Builder
			pprof.Lookup("goroutine").WriteTo(&dump, 1)
			t.Fatalf("goroutines are left behind:\n%s", dump.String())
		}
	}
}
