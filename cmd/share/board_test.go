package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/workspace/report"
)

const (
	ruleOfBox   = "An empty box has no lid, and a second call says so."
	ruleOfShelf = "Take returns the oldest box, and keeps the others."
)

// testBoard is the board of a workshop with two chapters: the first has two tasks, the second has one.
func testBoard(t *testing.T) *board {
	t.Helper()
	task := func(n int, title, dir string) string {
		return fmt.Sprintf("## Task %d: %s (20 min)\n\n```sh\ngo test ./%s -run Task%d\n```\n\n", n, title, dir, n)
	}
	b, err := newBoard(folder(t,
		"01-box/README.md", "# Box\n\n"+task(1, "Put", "01-box")+task(2, "Empty", "01-box"),
		"01-box/box_test.go",
		"package box\n\nconst rule = \"An empty box has no lid, \" +\n\t\"and a second call says so.\"\n",
		"02-shelf/README.md", "# Shelf\n\n"+task(1, "Take", "02-shelf"),
		"02-shelf/shelf_test.go", "package shelf\n\nconst rule = `"+ruleOfShelf+"`\n"))
	require.NoError(t, err)
	require.Len(t, b.chapters, 2)
	require.Len(t, b.chapters[0].Tasks, 2)
	return b
}

func at(name, chapter string, task int) report.Report {
	return report.Report{ID: strings.Repeat(name[:1], 26), Name: name, Chapter: chapter, Task: task}
}

func names(v view) (all []string) {
	for _, r := range v.Rows {
		all = append(all, r.Name)
	}
	return all
}

// beats sends reports every half minute, as live views do.
func beats(t *testing.T, b *board, minutes int, reports ...report.Report) {
	t.Helper()
	for range 2 * minutes {
		time.Sleep(report.Every)
		for _, r := range reports {
			require.NoError(t, b.receive(r))
		}
	}
}

func TestBoard_has_those_at_the_top_who_are_at_one_place_for_long(t *testing.T) {
	b := testBoard(t)
	synctest.Test(t, func(t *testing.T) {
		ada, ben, cy, done := at("Ada", "01-box", 1), at("Ben", "01-box", 2), at("Cy", "02-shelf", 1), at("Dot", "", 0)
		for _, r := range []report.Report{ada, ben, cy, done} {
			require.NoError(t, b.receive(r))
		}
		beats(t, b, 5, ada, ben, cy, done)
		ben.Rule, ben.Hints = ruleOfBox, 2
		ada.Task = 2
		beats(t, b, 16, ada, ben, cy, done)
		v := b.look(true)
		require.Equal(t, []string{"Ben", "Cy", "Ada", "Dot"}, names(v), "Ada is at a new task, and Dot has finished")
		require.Equal(t, row{Name: "Ben", Chapter: "01-box", Task: 2, Title: "Empty", Minutes: 21, Planned: 20, Hints: 2,
			Rule: ruleOfBox, RuleMinutes: 15, Long: true, score: v.Rows[0].score}, v.Rows[0])
		require.Equal(t, []atPlace{{"01-box", 2, "Empty", 2}, {"02-shelf", 1, "Take", 1}}, v.Places)
		require.Equal(t, 1, v.Done)

		ben.Rule = ""
		beats(t, b, 1, ada, ben, cy, done)
		require.Zero(t, b.look(true).Rows[0].RuleMinutes, "the next verdict named no rule")
	})
}

// Twenty minutes at one rule are long, although the task is planned for more.
func TestBoard_counts_the_minutes_at_a_rule(t *testing.T) {
	b := testBoard(t)
	b.chapters[0].Tasks[0].Minutes = 120
	synctest.Test(t, func(t *testing.T) {
		ada, ben := at("Ada", "01-box", 1), at("Ben", "01-box", 1)
		ben.Rule = ruleOfBox
		require.NoError(t, b.receive(ada))
		require.NoError(t, b.receive(ben))
		beats(t, b, 14, ada, ben)
		require.False(t, b.look(true).Rows[0].Long)
		beats(t, b, 2, ada, ben)
		v := b.look(true)
		require.Equal(t, []string{"Ben", "Ada"}, names(v))
		require.True(t, v.Rows[0].Long)
		require.False(t, v.Rows[1].Long)
	})
}

func TestBoard_lunch_does_not_count(t *testing.T) {
	b := testBoard(t)
	synctest.Test(t, func(t *testing.T) {
		ada, ben := at("Ada", "01-box", 1), at("Ben", "01-box", 1)
		require.NoError(t, b.receive(ada))
		require.NoError(t, b.receive(ben))
		beats(t, b, 5, ada, ben)
		time.Sleep(awayAfter)
		require.False(t, b.look(true).Rows[0].Away)
		time.Sleep(time.Hour)
		v := b.look(true)
		require.True(t, v.Rows[0].Away)
		require.Equal(t, 2, v.Away)
		require.Empty(t, v.Places)
		require.Equal(t, 5, v.Rows[0].Minutes)
		require.NoError(t, b.receive(ada))
		v = b.look(true)
		require.Equal(t, []string{"Ada", "Ben"}, names(v))
		require.Equal(t, 5, v.Rows[0].Minutes)
		time.Sleep(forgottenAfter)
		require.NoError(t, b.receive(ada))
		require.Equal(t, []string{"Ada"}, names(b.look(true)), "Ben left long ago")
	})
}

func TestBoard_shows_rules_of_the_workshop_and_no_other_text(t *testing.T) {
	b := testBoard(t)
	for rule, want := range map[string]string{
		ruleOfBox:   ruleOfBox,
		ruleOfShelf: "", // of another chapter
		"func (s *Store) Get(key string) { panic }": "",
		"box":         "", // too little to be a rule
		"package box": "",
	} {
		r := at("Ada", "01-box", 1)
		r.Rule = rule
		require.NoError(t, b.receive(r))
		require.Equal(t, want, b.look(true).Rows[0].Rule, rule)
	}
}

func TestBoard_without_names_shows_no_one(t *testing.T) {
	b := testBoard(t)
	for _, name := range []string{"Ada", "Ben", "Cy"} {
		r := at(name, "01-box", 1)
		if r.Rule = ruleOfBox; name == "Cy" {
			r.Task, r.Chapter, r.Rule = 1, "02-shelf", ruleOfShelf
		}
		require.NoError(t, b.receive(r))
	}
	text, err := json.Marshal(b.look(false))
	require.NoError(t, err)
	require.JSONEq(t, `{"names":false,"people":3,"away":0,"done":0,"places":[
		{"chapter":"01-box","task":1,"title":"Put","people":2},{"chapter":"02-shelf","task":1,"title":"Take","people":1}],
		"rules":[{"rule":"`+ruleOfBox+`","people":2}]}`, string(text), "a rule of one person would name that person")
	text, err = json.Marshal(b.look(true))
	require.NoError(t, err)
	require.NotContains(t, string(text), strings.Repeat("A", 26), "the id is a password for the row")
}

func TestBoard_is_limited(t *testing.T) {
	b := testBoard(t)
	synctest.Test(t, func(t *testing.T) {
		for i := range mostLearners {
			r := at("Ada", "01-box", 1)
			r.ID = rand.Text()
			if i == 0 {
				r.Name = "first"
			}
			require.NoError(t, b.receive(r))
			time.Sleep(time.Millisecond)
		}
		ben := at("Ben", "01-box", 1)
		require.ErrorIs(t, b.receive(ben), errFull)
		time.Sleep(awayAfter)
		require.NoError(t, b.receive(ben), "one who is away makes room")
		v := b.look(true)
		require.Equal(t, mostLearners, v.People)
		require.NotContains(t, names(v), "first", "the one who has been away longest")
	})
}

// boardAt serves a catalogue and a board on the loopback address.
func boardAt(t *testing.T) (*boardServer, string) {
	t.Helper()
	s := newBoardServer(testBoard(t))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serve(ctx, listener, newStatistics(s.around(testCatalogue(t, cache(t))), func(string) {}))
	}()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	return s, "http://" + listener.Addr().String()
}

// Thirty learners with a live view each, and pages that look on. All reports come in; none of them waits.
func TestBoard_with_thirty_learners(t *testing.T) {
	s, url := boardAt(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var clients []*report.Client
	for i := range 30 {
		consent, err := report.Store(t.TempDir(), url, fmt.Sprintf("learner %d", i))
		require.NoError(t, err)
		place := report.Report{Chapter: []string{"01-box", "02-shelf"}[i%2], Task: 1, Hints: i % 4}
		c := report.NewClient(consent, func() report.Report { return place })
		c.Begin(ctx)
		clients = append(clients, c)
	}
	var seen view
	require.Eventually(t, func() bool {
		seen = view{}
		answer, err := http.Get(url + "/board/" + s.token + "/state")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return json.NewDecoder(answer.Body).Decode(&seen) == nil && seen.People == 30
	}, 20*time.Second, 20*time.Millisecond)
	require.Len(t, seen.Rows, 30)
	require.Equal(t, []int{15, 15}, []int{seen.Places[0].People, seen.Places[1].People})
	for _, c := range clients {
		require.Len(t, c.Notes(), 1, "the board has answered")
		require.NoError(t, c.Withdraw(ctx))
	}
	require.Zero(t, s.look(true).People, "each has taken the consent back")
}

func TestBoard_accepts_reports_from_live_views_only(t *testing.T) {
	s := newBoardServer(testBoard(t))
	h := s.around(testCatalogue(t, cache(t)))
	good, err := json.Marshal(at("Ada", "01-box", 1))
	require.NoError(t, err)
	for _, test := range []struct {
		name, method, path, body string
		header                   []string
		code                     int
	}{
		{"a report", "POST", report.Path, string(good), nil, 204},
		{"a web site", "POST", report.Path, string(good), []string{"Origin", "https://evil.example"}, 403},
		{"a page of its own", "POST", report.Path, string(good), []string{"Origin", "http://example.com"}, 403},
		{"a form", "POST", report.Path, string(good), []string{"Content-Type", "text/plain"}, 403},
		{"reading", "GET", report.Path, "", nil, 404},
		{"another method", "PUT", report.Path, string(good), nil, 405},
		{"an unknown field", "POST", report.Path, strings.Replace(string(good), "{", `{"code":"x",`, 1), nil, 400},
		{"a large body", "POST", report.Path, `{"name":"` + strings.Repeat("x", report.LargestBody) + `"}`, nil, 400},
		{"no JSON", "POST", report.Path, `<script>`, nil, 400},
		{"an unknown task", "POST", report.Path, strings.Replace(string(good), `"task":1`, `"task":9`, 1), nil, 400},
		{"an unknown chapter", "POST", report.Path, strings.Replace(string(good), "01-box", "../x", 1), nil, 400},
		{"a chapter and no task", "POST", report.Path, strings.Replace(string(good), `,"task":1`, "", 1), nil, 400},
		{"text behind a report", "POST", report.Path, string(good) + ` "x"`, nil, 400},
		{"a name over other rows", "POST", report.Path,
			strings.Replace(string(good), "Ada", "A"+strings.Repeat("\u0301", 39), 1), nil, 400},
		{"writing to the page", "POST", "/board/", string(good), nil, 405},
		{"writing to the catalogue", "POST", "/", string(good), nil, 405},
		{"the page", "GET", "/board/", "", nil, 200},
		{"its state", "GET", "/board/state", "", nil, 200},
		{"the page with names", "GET", "/board/" + s.token + "/", "", nil, 200},
		{"another token", "GET", "/board/" + strings.Repeat("A", 26) + "/state", "", nil, 404},
		{"a folder", "GET", "/board/../board.go", "", nil, 307},
		{"the modules", "GET", "/example.com/!big/lib/@v/list", "", nil, 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
			r.Header.Set("Content-Type", "application/json")
			for i := 0; i < len(test.header); i += 2 {
				r.Header.Set(test.header[i], test.header[i+1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, test.code, w.Code, w.Body)
			if strings.HasPrefix(test.path, "/board/") && test.code != 307 {
				require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
			}
			if test.code == 200 && strings.HasPrefix(test.path, "/board/") {
				require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'")
				require.NotContains(t, w.Header().Get("Content-Security-Policy"), "unsafe")
			}
		})
	}
	require.Equal(t, 1, s.look(true).People)
	require.NotContains(t, ask(h, "GET", "/board/state").Body.String(), "Ada")
	require.Contains(t, ask(h, "GET", "/board/"+s.token+"/state").Body.String(), "Ada")
}

func TestBoard_is_there_only_if_it_is_asked_for(t *testing.T) {
	c := testCatalogue(t, cache(t))
	require.NotContains(t, c.text("welcome", "http://h:1"), "--report")
	require.Equal(t, http.StatusNotFound, ask(c, "GET", "/board/").Code)
	require.Equal(t, http.StatusMethodNotAllowed, ask(c, "POST", report.Path).Code)
	c.board = true
	require.Contains(t, c.text("welcome", "http://h:1"), "    go tool workshop watch --report http://h:1\n")
}
