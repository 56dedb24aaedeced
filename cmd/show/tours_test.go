package main

// These tests play the tours without a browser.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/recorder"
)

// do is a short order.
func do(action, name string, n int) order { return order{Action: action, Name: name, N: n} }

// newShow returns a session on layers. It ends with the test.
func newShow(t *testing.T, layers string) *session {
	t.Helper()
	s, err := newSession(t.Context(), options{layers: layers})
	require.NoError(t, err)
	t.Cleanup(s.stop)
	return s
}

// tour plays on until the stop is over. It returns the message.
func follow(t *testing.T, s *session, done func(*message) bool) (m *message) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if m = s.tick(0, true); done(m) {
			return m
		}
		if time.Now().After(deadline) {
			var last []string
			for _, l := range m.Lines {
				last = append(last, l.Text)
			}
			require.Fail(t, "it never came", "%+v\n%s", m.Tour, strings.Join(last, "\n"))
		}
	}
}

func TestTours(t *testing.T) {
	for _, tour := range tours {
		t.Run(tour.Name, func(t *testing.T) {
			t.Parallel()
			require.GreaterOrEqual(t, len(tour.Stops), 5, "a tour has five to eight steps")
			require.LessOrEqual(t, len(tour.Stops), 8)
			s := newShow(t, "solutions")
			require.NoError(t, s.do(do("tour start", tour.Name, 0)))
			asked := 0
			for i, step := range tour.Stops {
				m := s.tick(0, true)
				require.Equal(t, i+1, m.Tour.At)
				if step.Ask != "" {
					asked++
					require.Equal(t, "ask", m.Tour.Phase)
					require.Equal(t, -1, m.Tour.Right, "the page must not know the answer before the reader does")
					require.Empty(t, m.Tour.Answer)
					require.Error(t, s.do(do("tour next", "", 0)), "the prediction comes first")
					require.NotEmpty(t, step.Answer)
					require.Less(t, step.Right, len(step.Options))
					require.NoError(t, s.do(order{Action: "tour answer", N: 0}))
				}
				m = follow(t, s, func(m *message) bool { return m.Tour.Phase == "done" })
				require.Equal(t, step.Answer, m.Tour.Answer)
				require.True(t, m.Paused, "the gate is shut until the reader goes on")
				require.NoError(t, s.do(do("tour next", "", 0)), fmt.Sprint("stop ", i+1))
			}
			m := s.tick(0, true)
			require.Nil(t, m.Tour)
			require.False(t, m.Paused)
			require.Positive(t, asked, "a tour asks for a prediction")
		})
	}
}

// The text of a chapter, or of the lab, has the command that starts its tour.
func TestTours_are_in_the_chapters(t *testing.T) {
	for _, tour := range tours {
		paths, err := filepath.Glob("../../" + tour.Name + "-*/README.md")
		require.NoError(t, err)
		if len(paths) == 0 {
			paths = []string{"../../labs/" + tour.Name + "/README.md"}
		}
		require.Len(t, paths, 1)
		text, err := os.ReadFile(paths[0])
		require.NoError(t, err)
		require.Contains(t, string(text), "tour *"+tour.Title+"*")
		require.Contains(t, string(text), "`go tool workshop show --tour "+tour.Name+"`")
		s, err := newSession(t.Context(), options{layers: "solutions", tour: tour.Name})
		require.NoError(t, err)
		t.Cleanup(s.stop)
		require.Equal(t, tour.Title, s.tick(0, true).Tour.Title)
	}
	for _, station := range stations {
		require.FileExists(t, "../../"+station.Folder+"/README.md")
		require.Equal(t, station.Number, station.Folder[:2])
		require.NotEmpty(t, station.Tour())
	}
}

// A silent watch is a fault that has begun: it ends with the others.
func TestShow_ends_a_silent_watch(t *testing.T) {
	s := newShow(t, "solutions")
	follow(t, s, func(m *message) bool { return len(m.View.Informers) == 2 && watchingBoth(m) })
	require.NoError(t, s.do(do("silence", "", 0)))
	require.NoError(t, s.do(do("create", "web", 3)))
	silent := func(*message) bool {
		return conditions["silent"](moment{State: s.state}) && len(s.state.Server.Objects) == 2
	}
	require.Zero(t, follow(t, s, silent).View.Informers[recorder.Budget].Store.Total)
	require.NoError(t, s.do(do("heal", "", 0)))
	follow(t, s, func(m *message) bool { return m.View.Informers[recorder.Budget].Store.Total == 1 })
}

// While a Reflector waits, a rewound view knows for how long. A waiting key always does.
func TestShow_waits_and_their_ends(t *testing.T) {
	s := newShow(t, "solutions")
	follow(t, s, func(m *message) bool { return len(m.View.Informers) == 2 && watchingBoth(m) })
	require.NoError(t, s.do(do("fail writes", "", 0)))
	require.NoError(t, s.do(do("create", "web", 3)))
	m := follow(t, s, func(m *message) bool { return len(m.View.Queue.Waiting) > 0 })
	require.Equal(t, time.Second, m.View.Queue.Waits["default/web"])
	require.NoError(t, s.do(do("refuse", "", 500)))
	m = follow(t, s, func(m *message) bool {
		return m.View.Informers[recorder.Deployment].Reflector.Phase == "waiting"
	})
	at, reflector := m.View.N, m.View.Informers[recorder.Deployment].Reflector
	require.Zero(t, reflector.Wait, "nobody knows yet")
	follow(t, s, func(m *message) bool { return watchingBoth(m) })
	past := s.at(at).View.Informers[recorder.Deployment].Reflector
	require.Greater(t, past.Wait, max(m.View.At-reflector.Since, 500*time.Millisecond))
}
