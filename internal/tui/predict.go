package tui

// This file is the page with the programs to predict. A program is built and run in the background while the learner
// reads it.

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"client-go-workshop/internal/tui/style"
)

// Prediction is a program whose output the learner predicts.
type Prediction struct {
	Question []string // the program and the question
	// Answer runs the program and returns its outputs. It ends early when ctx does.
	Answer func(ctx context.Context) ([]string, error)
}

// predicting is the state of the page.
type predicting struct {
	all      []Prediction
	at       int // the one on the screen
	revealed bool
	answer   []string // nil while the program runs
	scroll   bool     // the page has to show the beginning of the answer
	stop     context.CancelFunc
}

// predict opens the page, shows an answer, goes to the next program, or closes the page after the last one.
func (m *Model) predict() tea.Cmd {
	p := &m.predicting
	switch {
	case m.page != pagePredict:
		c, t, width := m.chapter, m.current(), m.width
		return func() tea.Msg {
			all, err := m.actions.Predict(c, t, width)
			if err != nil {
				return showError(err)
			}
			return change(func(m *Model) tea.Cmd { return m.ask(all, 0) })
		}
	case !p.revealed:
		p.revealed, p.scroll = true, true
	case p.answer == nil: // it still runs
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
	m.predicting = predicting{all: all, at: at, stop: stop}
	m.open(pagePredict, nil)
	return func() tea.Msg {
		m.tests.Add(1)
		defer m.tests.Done()
		lines, err := all[at].Answer(ctx)
		return unless(ctx, func(m *Model) tea.Cmd {
			if m.predicting.answer = lines; err != nil {
				m.predicting.answer = m.warning(err.Error())
			}
			m.predicting.scroll = m.predicting.revealed
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
		return append(out, style.Key("Predict, then press Enter."))
	case p.answer == nil:
		return append(out, style.Warn("Running over the finished code and over a wrong version…"))
	}
	next := "enter  back to the tests"
	if p.at+1 < len(p.all) {
		next = fmt.Sprintf("enter  the next program (%d of %d)", p.at+2, len(p.all))
	}
	return slices.Concat(out, p.answer, []string{"", style.Faint(next)})
}

// scrollToAnswer shows the beginning of an answer that was just revealed.
func (m *Model) scrollToAnswer() {
	if p := &m.predicting; m.page == pagePredict && p.scroll {
		m.body.SetYOffset(len(p.all[p.at].Question))
		p.scroll = false
	}
}
