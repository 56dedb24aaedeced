//go:build unix

package tui

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"
)

// brief is a model that starts a command at once, and says so when it has ended.
type brief struct {
	cmd   tea.Cmd
	ended bool
}

func (b brief) Init() tea.Cmd { return b.cmd }

func (b brief) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(change); ok {
		b.ended = true
	}
	return b, nil
}

func (b brief) View() tea.View {
	if b.ended {
		return tea.NewView("the command has ended")
	}
	return tea.NewView("the command runs")
}

// seen closes its channel when a text is written to it.
type seen struct {
	text  []byte
	found chan struct{}
	all   bytes.Buffer
}

func (s *seen) Write(p []byte) (int, error) {
	s.all.Write(p)
	if s.found != nil && bytes.Contains(s.all.Bytes(), s.text) {
		close(s.found)
		s.found = nil
	}
	return len(p), nil
}

// The screen froze for good after one of some hundred editors that ended at once.
func TestInTerminal_screen_lives_after_a_command_that_ends_at_once(t *testing.T) {
	in, keys, err := os.Pipe()
	require.NoError(t, err)
	defer keys.Close()
	away := (&Model{stopRun: func() {}}).inTerminal("run true", func() error { return exec.Command("true").Run() })
	for range 100 {
		found := make(chan struct{})
		p := tea.NewProgram(brief{cmd: away}, tea.WithInput(in),
			tea.WithOutput(&seen{text: []byte("ended"), found: found}), tea.WithWindowSize(80, 24), tea.WithFPS(120))
		done := make(chan error, 1)
		go func() {
			_, err := p.Run()
			done <- err
		}()
		select {
		case <-found:
		case <-time.After(20 * time.Second):
			t.Error("after the command the screen is never drawn again")
		}
		p.Quit()
		require.NoError(t, <-done)
		if t.Failed() {
			return
		}
	}
}
