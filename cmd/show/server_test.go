package main

// These tests are about the server: which requests it accepts, and which pages it tells what.

import (
	"bufio"
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

	"client-go-workshop/internal/runner/usage"
	"client-go-workshop/internal/testkit/pdbapp"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
	"client-go-workshop/observe"
)

// serving returns a server on layers, and its address.
func serving(t *testing.T) (*server, string) {
	t.Helper()
	s := newServer(newShow(t, "solutions"), "")
	s.grace = 50 * time.Millisecond
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.handler().ServeHTTP(w, r) }))
	t.Cleanup(h.Close)
	s.host = strings.TrimPrefix(h.URL, "http://")
	return s, s.url()
}

// ask sends a request with a header, and returns the answer.
func ask(t *testing.T, method, url, body string, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func TestServer_accepts_only_its_page(t *testing.T) {
	s, url := serving(t)
	root := "http://" + s.host
	order := `{"action":"pause"}`
	for _, test := range []struct {
		name, method, url, body string
		header                  []string
		code                    int
		text                    string
	}{
		{"the page", "GET", url, "", nil, 200, ``},
		{"a script", "GET", url + "main.js", "", nil, 200, ``},
		{"an order", "POST", url + "do", order, []string{"Origin", root}, 200, ``},
		{"no token", "GET", root + "/", "", nil, 404, ``},
		{"no token for an order", "POST", root + "/do", order, []string{"Origin", root}, 404, ``},
		{"another token", "GET", root + "/" + strings.Repeat("A", len(s.token)) + "/", "", nil, 404, ``},
		{"a name of loopback", "POST", url + "do", order,
			[]string{"Host", "localhost:7200", "Origin", "http://localhost:7200"}, 200, ``},
		{"a page of another port", "POST", url + "do", order,
			[]string{"Host", "localhost:7200", "Origin", "http://localhost:7201"}, 403, ``},
		{"a name that begins like loopback", "GET", url, "", []string{"Host", "localhost.evil.example:7200"}, 421, ``},
		{"another host", "GET", url, "", []string{"Host", "evil.example"}, 421, ``},
		{"another origin", "POST", url + "do", order, []string{"Origin", "https://evil.example"}, 403, ``},
		{"the origin of a file", "POST", url + "do", order, []string{"Origin", "null"}, 403, ``},
		{"an order without an origin", "POST", url + "do", order, nil, 403, ``},
		{"an unknown action", "POST", url + "do", `{"action":"rm"}`, []string{"Origin", root}, 200, `there is no action`},
		{"an unknown field", "POST", url + "do", `{"action":"pause","shell":"x"}`, []string{"Origin", root}, 400, ``},
		{"a name that is none", "POST", url + "do", `{"action":"create","name":"../x"}`,
			[]string{"Origin", root}, 200, `is not a name`},
		{"an unknown seam", "POST", url + "do", `{"action":"break","name":"door"}`,
			[]string{"Origin", root}, 200, `no such seam`},
		{"an unknown goal", "POST", url + "do", `{"action":"until","name":"door"}`,
			[]string{"Origin", root}, 200, `it is delta`},
		{"an unknown code", "POST", url + "do", `{"action":"refuse","n":200}`,
			[]string{"Origin", root}, 200, `410, 429 or 500`},
		{"an unknown tour", "POST", url + "do", `{"action":"tour start","name":"99"}`,
			[]string{"Origin", root}, 200, `there is no tour`},
		{"a large order", "POST", url + "do", `{"action":"` + strings.Repeat("x", largestOrder) + `"}`,
			[]string{"Origin", root}, 400, ``},
		{"a step that is no number", "GET", url + "state?step=x", "", nil, 400, ``},
		{"another method", "PUT", url + "do", order, []string{"Origin", root}, 405, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := ask(t, test.method, test.url, test.body, test.header...)
			require.Equal(t, test.code, answer.StatusCode)
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.Contains(t, string(text), test.text)
			require.Contains(t, answer.Header.Get("Content-Security-Policy"), "default-src 'none'")
			require.NotContains(t, answer.Header.Get("Content-Security-Policy"), "unsafe")
		})
	}
}

// follower reads messages from a server.
type follower struct {
	*testing.T
	body *bufio.Reader
	end  func()
}

func followEvents(t *testing.T, url string) *follower {
	answer := ask(t, "GET", url+"events", "")
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	return &follower{t, bufio.NewReader(answer.Body), func() { answer.Body.Close() }}
}

// until reads messages up to one that has a property.
func (f *follower) until(has func(m message) bool) message {
	f.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		line, err := f.body.ReadString('\n')
		require.NoError(f, err)
		data, found := strings.CutPrefix(line, "data: ")
		if !found {
			continue
		}
		var m message
		require.NoError(f, json.Unmarshal([]byte(data), &m))
		if has(m) {
			return m
		}
	}
	require.Fail(f, "no message has it")
	return message{}
}

func TestServer_a_page_that_leaves_opens_the_gate(t *testing.T) {
	s, url := serving(t)
	page := followEvents(t, url)
	page.until(func(m message) bool { return m.View.N > 0 })
	for _, o := range []order{do("pause", "", 0), {Action: "break", Name: "store", On: true}, do("hold workers", "", 0)} {
		require.NoError(t, s.do(o))
	}
	m := page.until(func(m message) bool { return m.Paused && len(m.Breaks) == 1 })
	require.Equal(t, []string{"The workers are held."}, m.Held)
	page.end()
	require.Eventually(t, func() bool { m := s.tick(0, true); return !m.Paused && len(m.Breaks) == 0 && len(m.Held) == 0 },
		time.Minute, 10*time.Millisecond, "the gate opens when no page is left")
}

func TestServer_a_second_page_keeps_the_gate_shut(t *testing.T) {
	s, url := serving(t)
	first, second := followEvents(t, url), followEvents(t, url)
	for _, page := range []*follower{first, second} {
		page.until(func(m message) bool { return m.View.N > 0 })
	}
	require.NoError(t, s.do(do("pause", "", 0)))
	first.end()
	require.Eventually(t, func() bool { s.pages.Lock(); defer s.pages.Unlock(); return s.open == 1 },
		time.Minute, 5*time.Millisecond)
	s.pages.Lock()
	require.Nil(t, s.leaving, "nothing will open the gate")
	s.pages.Unlock()
	require.True(t, s.tick(0, true).Paused)
}

// A page that does not read must not hold the pipeline up.
func TestServer_a_page_that_sleeps_holds_nothing_up(t *testing.T) {
	s, url := serving(t)
	ask(t, "GET", url+"events", "") // and never read
	require.NoError(t, s.do(do("burst", "", 3000)))
	follow(t, s.session, func(*message) bool { return hasBudgets(s.session, 100) })
}

func hasBudgets(s *session, least int) bool {
	return len(s.machine.api.Objects("poddisruptionbudgets")) >= least
}

func TestShow_pause_step_and_rewind(t *testing.T) {
	s := newShow(t, "solutions")
	follow(t, s, func(m *message) bool { return len(m.View.Informers) == 2 && watchingBoth(m) })
	require.NoError(t, s.do(do("pause", "", 0)))
	require.NoError(t, s.do(do("create", "web", 3)))
	seen := map[pipeline.Seam]bool{}
	for steps := 0; ; steps++ {
		require.Less(t, steps, 300, "stepping never comes to the end")
		m := follow(t, s, func(m *message) bool { return len(m.Waiting) > 0 || hasBudgets(s, 1) && seen[pipeline.Worker] })
		if len(m.Waiting) == 0 {
			break
		}
		next := m.Waiting[0]
		locked := next.Seam == pipeline.Store || next.Verb == pipeline.Pop
		require.Equal(t, locked, next.Holds != "", "the lock at %s", next.Text)
		seen[next.Seam] = true
		before := m.View.N
		require.NoError(t, s.do(do("step", "", 0)))
		follow(t, s, func(m *message) bool { return m.View.N > before })
	}
	for _, seam := range []pipeline.Seam{pipeline.Stream, pipeline.Event, pipeline.Delta, pipeline.Store, pipeline.Handler,
		pipeline.Queue, pipeline.Worker, pipeline.Request} {
		require.True(t, seen[seam], "a goroutine was held at %s", seam)
	}
	last := s.tick(0, true).View
	require.Equal(t, last.Informers, s.at(last.N).View.Informers, "the last step is shown as it was live")
	require.Empty(t, s.at(1).View.Workers)
	way := s.way("default/web", last.N)
	require.Equal(t, "default/web", way[0][len(way[0])-1].Key)

	path := filepath.Join(t.TempDir(), "recording.json")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, s.runs[0].Write(file))
	require.NoError(t, file.Close())
	again, err := newSession(t.Context(), options{recordings: []string{path}})
	require.NoError(t, err)
	for n := range last.N {
		want, got := s.at(n), again.at(n)
		want.Live, want.Gate, want.GateState, want.Title = false, false, got.GateState, got.Title // of the live run
		want.Last, got.Last = 0, 0
		require.Equal(t, want, got, "step %d of the recording", n)
	}
	require.Error(t, again.do(do("pause", "", 0)))
}

func watchingBoth(m *message) bool {
	i := m.View.Informers
	return i[recorder.Deployment].Reflector.Phase == "watching" && i[recorder.Budget].Reflector.Phase == "watching"
}

func TestShow_run_until(t *testing.T) {
	s := newShow(t, "client-go")
	follow(t, s, func(m *message) bool { return len(m.View.Informers) == 2 && watchingBoth(m) })
	for goal, seam := range map[string]pipeline.Seam{"delta": pipeline.Delta, "handler": pipeline.Handler,
		"reconcile": pipeline.Worker, "write": pipeline.Worker} {
		require.NoError(t, s.do(do("until", goal, 0)))
		require.NoError(t, s.do(do("create", "", 2)))
		m := follow(t, s, func(m *message) bool { return m.Paused && len(m.Waiting) > 0 })
		require.Equal(t, seam, m.Waiting[0].Seam, goal)
		require.NoError(t, s.do(do("resume", "", 0)))
	}
}

func TestShow_every_action(t *testing.T) {
	s := newShow(t, "solutions")
	follow(t, s, func(m *message) bool { return len(m.View.Informers) == 2 && watchingBoth(m) })
	require.NoError(t, s.do(do("create", "web", 3)))
	follow(t, s, func(*message) bool { return hasBudgets(s, 1) })
	for _, a := range actions {
		o := order{Action: a.Name}
		switch a.Name {
		case "until":
			o.Name = "error"
		case "break":
			o.Name = "worker"
		case "refuse":
			o.N = 429
		case "delete", "delete budget", "edit budget":
			continue // below, in an order that works
		}
		require.NoError(t, s.do(o), a.Name)
	}
	require.NoError(t, s.do(do("restart all", "", 0)))
	follow(t, s, func(m *message) bool { return len(m.View.Informers) == 2 && watchingBoth(m) && m.View.N < 1000 })
	require.Error(t, s.do(do("delete", "", 0)), "there is nothing to delete")
	require.NoError(t, s.do(do("create", "web", 3)))
	require.Error(t, s.do(do("create", "web", 3)), "it exists")
	follow(t, s, func(*message) bool { return hasBudgets(s, 1) })
	for _, name := range []string{"edit budget", "delete budget"} {
		require.NoError(t, s.do(do(name, "web", 0)))
		follow(t, s, func(m *message) bool {
			return hasBudgets(s, 1) && m.View.Server.Total == 2 &&
				m.View.Server.Objects[recorder.Budget+" default/web"].Note == "minAvailable 2"
		})
	}
	require.NoError(t, s.do(do("delete", "web", 0)))
	follow(t, s, func(m *message) bool {
		return m.View.Server.Total == 0 && m.View.Informers[recorder.Deployment].Store.Total == 0 &&
			m.View.Informers[recorder.Budget].Store.Total == 0
	})
}

func TestShow_layers(t *testing.T) {
	for _, good := range []string{"solutions", "client-go", "client-go,indexer=solutions",
		"solutions,informer=client-go"} {
		c, err := pdbapp.Choose(good, parts)
		require.NoError(t, err)
		require.Equal(t, strings.Contains(good, "informer=client-go"), c.From["informer"] == "client-go")
	}
	for bad, reason := range map[string]string{
		"yours": "built without your layers", "mine": `there is no set "mine"`,
		"solutions,door=client-go":       `there is no layer "door"`,
		"solutions,informer=mine":        `there is no informer "mine"`,
		"solutions,controller=client-go": `there is no controller "client-go"`,
	} {
		if _, here := parts.Sets["yours"]; here && bad == "yours" {
			continue
		}
		err := run(t.Context(), []string{"--no-open", "--layers", bad}, io.Discard)
		require.ErrorContains(t, err, reason)
		require.Equal(t, usage.Code, usage.ExitCode(err), "a wrong argument")
	}
	err := run(t.Context(), []string{"--no-open", "--tour", "99"}, io.Discard)
	require.ErrorContains(t, err, `there is no tour "99"`)
	require.Equal(t, usage.Code, usage.ExitCode(err), "a wrong argument")
	s := newShow(t, "solutions,informer=client-go")
	require.NoError(t, s.do(do("create", "web", 3)))
	m := follow(t, s, func(m *message) bool {
		return hasBudgets(s, 1) && m.View.Informers[recorder.Deployment].Store.Total == 1
	})
	require.True(t, m.View.Informers[recorder.Deployment].Closed, "client-go's own informer does not show its queue")
}

func TestShow_way_out(t *testing.T) {
	for _, test := range [][3]string{
		{"yours", "indexer", "yours,indexer=solutions"},
		{"solutions,indexer=yours", "indexer", "solutions,indexer=solutions"},
		{"yours", "", "yours,informer=solutions,controller=solutions"},
	} {
		require.Equal(t, test[2], without(test[0], test[1]))
	}
}

func TestShow_flags(t *testing.T) {
	for _, test := range []struct {
		args   []string
		reason string
	}{
		{[]string{"--listen", "0.0.0.0:80"}, "only an address of loopback"}, {[]string{"--listen", "x"}, "missing port"},
		{[]string{"--resource", "pods"}, "needs --kubeconfig"}, {[]string{"a", "b", "c"}, `unexpected argument "c"`},
		{[]string{"--kubeconfig", "x", "r.json"}, "remove --kubeconfig"}, {[]string{"--loud"}, "not defined"},
		{[]string{"--tour", "01", "r.json"}, "remove --tour"},
	} {
		_, err := parse(test.args)
		require.ErrorContains(t, err, test.reason)
	}
	_, err := newSession(t.Context(), options{recordings: []string{"tours.go"}})
	require.ErrorContains(t, err, "tours.go: read line 1 of the recording")
	_, err = newSession(t.Context(), options{layers: "solutions", tour: "12"})
	require.ErrorContains(t, err, `there is no tour "12"`)
}

// A program with package observe serves its recording.
func TestShow_opens_an_address(t *testing.T) {
	program := httptest.NewServer(observe.New(1000))
	t.Cleanup(program.Close)
	s, err := newSession(t.Context(), options{recordings: []string{program.URL}})
	require.NoError(t, err)
	require.Contains(t, s.title, "Recording: show.test, process ")
	var off *observe.Observer
	program.Config.Handler = off
	_, err = newSession(t.Context(), options{recordings: []string{program.URL}})
	require.ErrorContains(t, err, "answers 404")
}

// The recording of a failure has two runs: they are shown beside each other, and the page opens where one went wrong.
func TestShow_two_runs(t *testing.T) {
	wrong := pipeline.Wrong{Text: "not equal", Key: "default/web"}
	runs := []pipeline.Recording{{Title: "Week 7: your code", Wrong: wrong}, {Title: "Week 7: the solution"}}
	path := filepath.Join(t.TempDir(), "week-7.json")
	file, err := os.Create(path)
	require.NoError(t, err)
	for i := range runs {
		runs[i].Log = pipeline.NewLog(pipeline.Limit)
		step := pipeline.Step{Kind: recorder.Deployment, Key: "default/web", Version: "2", Text: "replicas 3"}
		for _, seam := range []pipeline.Seam{pipeline.Server, pipeline.Delta, pipeline.Store}[:2+i] {
			step.Seam, step.Verb = seam, map[pipeline.Seam]string{pipeline.Server: pipeline.Wrote, pipeline.Delta: "Added",
				pipeline.Store: pipeline.Add}[seam]
			step.Count = int64(i)
			runs[i].Log.Append(step)
		}
		require.NoError(t, runs[i].Write(file))
	}
	require.NoError(t, file.Close())
	t.Setenv("WORKSHOP_ROOT", filepath.Dir(path))
	s, err := newSession(t.Context(), options{recordings: []string{filepath.Base(path)}})
	require.NoError(t, err)
	m := s.tick(0, true)
	require.Equal(t, "not equal", m.Wrong)
	require.Equal(t, "default/web", m.Key)
	require.Equal(t, pipeline.Store, m.Differs.Seam)
	require.Equal(t, m.Differs.Step, m.Open)
	require.Contains(t, m.Differs.Text, "at the Indexer: for Deployment default/web, your code has nothing, and the "+
		"solution has the newest version.")
	require.Empty(t, m.View.Informers[recorder.Deployment].Store.Objects)
	require.Len(t, m.Runs[1].View.Informers[recorder.Deployment].Store.Objects, 1)
	require.Len(t, s.way("default/web", m.Last), 2)
	require.Len(t, s.at(2).Causes, 1, "no event was recorded")
}
