//go:build unix

package main

// These tests sit at a live view that reports to a board, which they play.

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/workspace/report"
)

// playedBoard is a board that passes on what it receives.
type playedBoard struct {
	*httptest.Server
	t     *testing.T
	posts chan string
	gone  chan string // the bodies of DELETE
}

func playBoard(t *testing.T) *playedBoard {
	t.Helper()
	b := &playedBoard{t: t, posts: make(chan string, 1000), gone: make(chan string, 1)}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodDelete {
			b.gone <- string(body)
		} else {
			b.posts <- string(body)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(b.Close)
	return b
}

// next returns the next report that has a property.
func (b *playedBoard) next(has func(report.Report) bool) report.Report {
	b.t.Helper()
	for deadline := time.After(2 * time.Minute); ; {
		select {
		case body := <-b.posts:
			for _, code := range []string{"func", "b.n", "box.go", "Secret"} {
				require.NotContains(b.t, body, code, "never code")
			}
			var r report.Report
			require.NoError(b.t, json.Unmarshal([]byte(body), &r))
			if has(r) {
				return r
			}
		case <-deadline:
			require.Fail(b.t, "no report has it")
		}
	}
}

func TestReport_asks_once_and_sends_the_place(t *testing.T) {
	board, root := playBoard(t), box(t)
	run(t, root, "hint", "1/1") // makes the progress file, so that no welcome comes
	s := sit(t, root, 100, 40, nil, "watch", "1", "--report", board.URL+"/")
	asked := s.sees(`Your name for the board, or only Enter for no:`)
	require.Contains(t, asked, "It never receives code.")
	require.Contains(t, asked, "go tool workshop watch --report off")
	require.Empty(t, board.posts, "nothing before the yes")
	s.types("Ada Lovelace\n")
	s.sees(`shows where you are, as Ada Lovelace; never code`)
	s.sees(`Box\.Put is not written yet`)
	first := board.next(func(report.Report) bool { return true })
	require.Equal(t, report.Report{ID: first.ID, Name: "Ada Lovelace", Chapter: "01-box", Task: 1, Hints: 1}, first)

	s.saves("box.go", strings.Replace(boxWrong, "{ n int }", "{ n, Secret int }", 1))
	wrong := board.next(func(r report.Report) bool { return r.Rule != "" })
	require.Equal(t, "Put adds one.", strings.TrimSuffix(wrong.Rule, ".")+".")
	s.saves("box.go", boxRight)
	require.Equal(t, 0, board.next(func(r report.Report) bool { return r.Task != 1 }).Task, "nothing is left")
	s.types("q")
	require.Equal(t, 0, s.ends())

	// The yes is remembered.
	again := sit(t, root, 100, 40, nil)
	again.sees(`shows where you are, as Ada Lovelace`)
	require.Equal(t, first.ID, board.next(func(report.Report) bool { return true }).ID)
	again.types("q")
	require.Equal(t, 0, again.ends())

	stdout, stderr, code := run(t, root, "watch", "--report", "off")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "reports to the board no more. "+board.URL+" has forgotten you.")
	require.Contains(t, <-board.gone, first.ID)
	require.NoFileExists(t, filepath.Join(root, ".workshop", "board.json"))
	stdout, _, code = run(t, root, "watch", "--report", "off")
	require.Equal(t, 0, code)
	require.Contains(t, stdout, "reports to no board")
}

func TestReport_no_name_is_a_no(t *testing.T) {
	board, root := playBoard(t), box(t)
	s := sit(t, root, 100, 40, nil, "watch", "1", "--report", board.URL)
	s.sees(`Your name for the board`)
	s.types("\n")
	s.sees(`Nothing is reported\.`)
	require.Equal(t, 0, s.ends())
	require.Empty(t, board.posts)
	require.NoFileExists(t, filepath.Join(root, ".workshop", "board.json"))
}

// The live view works as ever if there is no board, and says so once.
func TestReport_without_a_board_the_live_view_goes_on(t *testing.T) {
	board, root := playBoard(t), box(t)
	run(t, root, "hint", "1/1")
	url := board.URL
	board.Close()
	s := sit(t, root, 100, 40, nil, "watch", "1", "--report", url, "--name", "Ada")
	s.sees(`Box\.Put is not written yet`)
	s.saves("box.go", boxWrong)
	s.sees(`(?s)The board does not answer.*connection refused.*got +2`)
	s.saves("box.go", boxRight)
	require.NotContains(t, s.sees(`01 ✓✓`), "The board does not answer", "once")
}

func TestReport_without_a_terminal(t *testing.T) {
	root := box(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--report", "http://127.0.0.1:1"}, "add --name and a name"},
		{[]string{"--report", "https://board.example"}, "such as http://192.168.1.7:7100"},
		{[]string{"--report", "http://127.0.0.1:1", "--name", "a\nb"}, "is not a name for the board"},
		{[]string{"--name", "Ada"}, "add --report and its address"},
	} {
		_, stderr, code := run(t, root, append([]string{"watch"}, c.args...)...)
		require.NotZero(t, code)
		require.Contains(t, stderr, c.says)
	}
	_, stderr, code := run(t, root, "watch", "--report", "http://127.0.0.1:1", "--name", "Ada")
	require.Equal(t, 0, code, stderr)
	path := filepath.Join(root, ".workshop", "board.json")
	require.FileExists(t, path)
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, stderr, code = run(t, root, "watch")
	require.Equal(t, 0, code)
	require.Contains(t, stderr, "nothing is sent")
	stdout, _, _ := run(t, root, "watch", "--report", "off")
	require.Contains(t, stdout, "no more.\nIf a live view")
}
