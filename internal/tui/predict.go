package tui

// This file is the page with the programs to predict: first the question, and then the program. The learner types the
// lines that it prints. Meanwhile the program is built and run in the background.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"client-go-workshop/internal/tui/style"
)

// Prediction is a program whose output the learner predicts.
type Prediction struct {
	Question []string
	Program  []string
	// Answer runs the program, and returns the page about its outputs, for the lines that the learner has typed. It ends
	// early when ctx does.
	Answer func(ctx context.Context) (page func(typed []string) []string, err error)
}

// predicting is the state of the page.
type predicting struct {
	all      []Prediction
	at       int      // the one on the screen
	typed    []string // the learner's lines; the last one may grow
	revealed bool
	answer   func(typed []string) []string // nil while the program runs
	stop     context.CancelFunc
}

// isAsking reports whether the page waits for the learner's lines, so that keys are text.
func (m *Model) isAsking() bool { return m.page == pagePredict && !m.predicting.revealed }

// typeLine takes a key of the learner's answer. Enter ends a line, and an empty line ends the answer. ok is false for a
// key that is not text.
func (m *Model) typeLine(msg tea.KeyPressMsg) (ok bool) {
	p := &m.predicting
	last := len(p.typed) - 1
	switch pressed := msg.String(); {
	case pressed == "enter" && strings.TrimSpace(p.typed[last]) == "":
		p.typed, p.revealed = p.typed[:last], true
		m.body.GotoTop()
	case pressed == "enter":
		p.typed = append(p.typed, "")
	case pressed == "backspace" && p.typed[last] != "":
		letters := []rune(p.typed[last])
		p.typed[last] = string(letters[:len(letters)-1])
	case pressed == "backspace" && last > 0:
		p.typed = p.typed[:last]
	case msg.Text != "":
		p.typed[last] += msg.Text
	default:
		return false
	}
	return true
}

// predict opens the page, goes to the next program, or closes the page after the last one.
func (m *Model) predict() tea.Cmd {
	p := &m.predicting
	switch {
	case m.page != pagePredict:
		c, t, width := m.chapter, m.current(), m.width
		return func() tea.Msg {
			all, err := m.workshop.Predict(c, t, width)
			if err != nil {
				return showError(err)
			}
			return change(func(m *Model) tea.Cmd { return m.ask(all, 0) })
		}
	case !p.revealed, p.answer == nil: // the learner types, or the program still runs
	case p.at+1 < len(p.all):
		return m.ask(p.all, p.at+1)
	default:
		m.open(pageNow, nil)
	}
	return nil
}

// ask shows one of the programs, and runs it.
func (m *Model) ask(all []Prediction, at int) tea.Cmd {
	m.predicting.stop()
	ctx, stop := context.WithCancel(m.ctx)
	m.predicting = predicting{all: all, at: at, stop: stop, typed: []string{""}}
	m.open(pagePredict, nil)
	return func() tea.Msg {
		m.tests.Add(1)
		defer m.tests.Done()
		page, err := all[at].Answer(ctx)
		return unless(ctx, func(m *Model) tea.Cmd {
			if m.predicting.answer = page; err != nil {
				m.predicting.answer = func([]string) []string { return m.warning(err.Error()) }
			}
			return nil
		})
	}
}

// predictLines returns the page.
func (m *Model) predictLines() []string {
	p := m.predicting
	out := append(slices.Clone(p.all[p.at].Question), "")
	switch {
	case !p.revealed:
		out = append(out, m.wrap("Type what it prints. An empty line shows the answer, esc leaves:")...)
		for i, line := range p.typed {
			if i == len(p.typed)-1 {
				line += "▏"
			}
			out = append(out, "> "+line)
		}
		return slices.Concat(out, []string{""}, p.all[p.at].Program)
	case p.answer == nil:
		return append(out, style.Warn("Running over the finished code and over a wrong version…"))
	}
	next := "enter  back to the tests"
	if p.at+1 < len(p.all) {
		next = fmt.Sprintf("enter  the next program (%d of %d)", p.at+2, len(p.all))
	}
	return slices.Concat(out, p.answer(p.typed), []string{"", style.Faint(next), ""}, p.all[p.at].Program)
}
