package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/workspace/progress"
)

// predictable is a screen with two programs to predict. The run of each ends when finish is called with what it
// returns; cancelled is closed when the first run ends early.
func predictable(t *testing.T) (m *Model, press func(key string) tea.Cmd, cancelled chan struct{}) {
	t.Helper()
	m = screenOf(t, seven(runner.Open), "layer1/part1", 60, 24)
	cancelled = make(chan struct{})
	m.workshop.(*fake).predict = func() ([]Prediction, error) {
		first := func(ctx context.Context) (func([]string) []string, error) {
			go func() { <-ctx.Done(); close(cancelled) }()
			return func(typed []string) []string {
				return []string{"It prints 1, you say " + strings.Join(typed, "/") + "."}
			}, nil
		}
		second := func(context.Context) (func([]string) []string, error) { return nil, errors.New("no Go here") }
		return []Prediction{
			{Question: []string{"What does one print?"}, Program: strings.Split(strings.Repeat("code\n", 60), "\n"),
				Answer: first},
			{Question: []string{"What does two print?"}, Answer: second},
		}, nil
	}
	return m, func(key string) tea.Cmd {
		msg := tea.KeyPressMsg{Code: rune(key[0]), Text: key}
		switch key {
		case "enter":
			msg = tea.KeyPressMsg{Code: tea.KeyEnter}
		case "esc":
			msg = tea.KeyPressMsg{Code: tea.KeyEscape}
		case "backspace":
			msg = tea.KeyPressMsg{Code: tea.KeyBackspace}
		case "pgdown":
			msg = tea.KeyPressMsg{Code: tea.KeyPgDown}
		}
		_, cmd := m.Update(msg)
		return cmd
	}, cancelled
}

// follow runs a command and gives its message to the screen. It returns the next command.
func follow(t *testing.T, m *Model, cmd tea.Cmd) tea.Cmd {
	t.Helper()
	require.NotNil(t, cmd)
	_, next := m.Update(cmd())
	return next
}

func TestPredict_from_the_question_to_the_last_answer(t *testing.T) {
	m, press, _ := predictable(t)
	run := follow(t, m, press("p"))
	screen := func() string { return strings.Join(picture(m), "\n") }
	require.Contains(t, screen(), "What does one print?", "the question is above a long program")
	require.Contains(t, screen(), "code")
	require.Contains(t, screen(), "Type what it prints")
	for _, key := range []string{"q", "1", "backspace", "l", "enter", "2"} {
		press(key)
	}
	require.Regexp(t, `> ql +\n`, screen(), "keys are text, also those that are commands elsewhere")
	require.NotContains(t, screen(), "q quit", "and the footer names none of them")
	require.Contains(t, screen(), "> 2▏")
	press("pgdown")
	require.NotContains(t, screen(), "What does one print?", "a long program scrolls")

	press("enter")
	press("enter")
	require.Contains(t, screen(), "What does one print?", "the answer begins at the top")
	require.Contains(t, screen(), "Running over the finished code")
	press("p")
	require.Contains(t, screen(), "Running over the finished code", "there is no answer yet")
	follow(t, m, run)
	require.Contains(t, screen(), "It prints 1, you say ql/2.")
	require.Contains(t, screen(), "enter  the next program (2 of 2)")

	run = press("enter")
	require.Contains(t, screen(), "What does two print?")
	require.NotContains(t, screen(), "It prints 1.")
	follow(t, m, run)
	require.NotContains(t, screen(), "no Go here", "the answer waits for Enter, whenever the run ends")
	press("enter")
	require.Contains(t, screen(), "no Go here")
	require.Contains(t, screen(), "enter  back to the tests")
	press("enter")
	require.NotContains(t, screen(), "What does two print?")
}

func TestPredict_leaving_the_page_ends_the_run(t *testing.T) {
	m, press, cancelled := predictable(t)
	run := follow(t, m, press("p"))
	message := run()
	press("esc")
	<-cancelled
	m.Update(message)
	require.NotContains(t, strings.Join(picture(m), "\n"), "It prints 1.")
}

func TestPredict_keeps_what_is_typed_over_a_save(t *testing.T) {
	m, press, _ := predictable(t)
	var saved func()
	m.saves = func(_ context.Context, _ string, _ progress.Chapter, f func()) { saved = f }
	m.send = func(msg tea.Msg) { m.Update(msg) }
	m.watch()()
	follow(t, m, press("p"))
	press("4")
	saved()
	require.Contains(t, strings.Join(picture(m), "\n"), "> 4▏")
	press("esc")
	press("?")
	saved()
	require.NotContains(t, strings.Join(picture(m), "\n"), "esc back", "a save closes the other pages")
}

func TestPredict_of_a_task_without_programs(t *testing.T) {
	m, press, _ := predictable(t)
	m.workshop.(*fake).predict = func() ([]Prediction, error) {
		return nil, errors.New("task 1 has no program to predict")
	}
	follow(t, m, press("p"))
	require.Contains(t, strings.Join(picture(m), "\n"), "task 1 has no program to predict")
}
