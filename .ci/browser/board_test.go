package browser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// These tests are about the board of `workshop share --board`: once with the program itself, and as people see it with
// thirty learners, whose state the test makes up, because the program's clocks are real.

// startShare starts share with a board, and returns the address of the page with names.
func startShare(t *testing.T) (root, named string) {
	t.Helper()
	share := filepath.Join(t.TempDir(), "share")
	build := exec.Command("go", "build", "-o", share, "./cmd/share")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build share: %v\n%s", err, out)
	}
	cmd := exec.Command(share, "--listen", "127.0.0.1:0", "--board")
	cmd.Dir, cmd.Stderr = "../..", os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if found := regexp.MustCompile(`for you: +((http://[\d.:]+)/board/\w+/)\n`).FindStringSubmatch(said); found != nil {
			go func() {
				for lines.Scan() {
				}
			}()
			return found[2], found[1]
		}
	}
	t.Fatalf("share has printed no board:\n%s", said)
	return "", ""
}

func post(t *testing.T, root, body string) {
	t.Helper()
	answer, err := http.Post(root+"/board/reports", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%s: %s", body, answer.Status)
	}
}

func text(selector, part string) string {
	return fmt.Sprintf(`(document.querySelector(%q)?.textContent ?? "").replace(/\s+/g, " ").includes(%q)`, selector, part)
}

func TestBoard(t *testing.T) {
	root, named := startShare(t)
	p := open(t, named, 1280, 800)
	p.until(text("#status", "no one reports yet"))
	public := open(t, root+"/board/", 1280, 800)
	name := `<img src=x onerror=alert(1)>`
	post(t, root, fmt.Sprintf(`{"id":%q,"name":%q,"chapter":"05-indexer","task":2,"hints":1}`,
		strings.Repeat("A", 26), name))
	p.until(text("tbody th", name))
	p.until(text("tbody td", "05-indexer 2 One index"))
	post(t, root, fmt.Sprintf(`{"id":%q,"name":"Ben","chapter":"06-workqueue","task":1}`, strings.Repeat("B", 26)))
	p.until(text("#status", "2 people are here"))
	if images := evaluate[int](p, `document.images.length`); images != 0 {
		t.Error("a name is markup")
	}
	public.until(text("#places", "06-workqueue 1"))
	if page := evaluate[string](public, "document.documentElement.outerHTML"); strings.Contains(page, "Ben") {
		t.Error("the room's page has a name")
	}
}

// thirty is the state with thirty learners.
func thirty(names bool) map[string]any {
	const (
		old = "An object is not found under a value that it had before: Update also asks the index function about the old " +
			"object."
		lock = "A read may run at any time. Every access to the map is under the lock, also the one that only looks whether " +
			"a key exists."
	)
	people := strings.Fields("Ada Ben Chidi Dana Emre Fatima Goran Hana Ines Jonas Kemi Lars Mina Noor Olga Pavel " +
		"Quinn Rosa Sven Tariq Uma Vera Wei Ximena Yuki Zoë Aleksandra-Wilhelmina-von-Hohenstein Björn Cem Dilnoza")
	var rows []map[string]any
	for i, name := range people {
		r := map[string]any{"name": name, "chapter": "05-indexer", "task": i%3 + 1, "hints": i % 4,
			"title":   []string{"A map behind a lock", "One index", "Many values"}[i%3],
			"minutes": []int{62 - 2*i, 24 - i/2}[min(i/5, 1)], "planned": []int{45, 40, 25}[i%3],
			"rule": []string{old, lock, ""}[i%3], "ruleMinutes": 30 - i, "long": i < 5, "away": i >= 27}
		if r["rule"] == "" {
			r["ruleMinutes"] = 0
		}
		if i == 26 {
			r["chapter"], r["task"], r["title"], r["rule"], r["hints"] = "", 0, "", "", 0
		}
		rows = append(rows, r)
	}
	state := map[string]any{"names": names, "people": 30, "away": 3, "done": 1, "places": []map[string]any{
		{"chapter": "05-indexer", "task": 1, "title": "A map behind a lock", "people": 9},
		{"chapter": "05-indexer", "task": 2, "title": "One index", "people": 13},
		{"chapter": "05-indexer", "task": 3, "title": "Many values", "people": 4}},
		"rules": []map[string]any{{"rule": old, "people": 7}, {"rule": lock, "people": 3}}}
	if names {
		state["rows"] = rows
	}
	return state
}

// madeUp serves the page with that state, under the headers of share.
func madeUp(t *testing.T, names bool) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir("../../cmd/share/page")))
	mux.HandleFunc("/state", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(thirty(names)) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "+
			"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// Thirty learners fit on a projector without scrolling, and nothing is wider than the screen.
func TestBoardScreens(t *testing.T) {
	for _, screen := range []struct {
		name          string
		width, height int64
		scheme        string
		names         bool
	}{
		{"board-laptop-light", 1280, 800, "light", true}, {"board-laptop-dark", 1280, 800, "dark", true},
		{"board-projector-light", 1920, 1080, "light", true}, {"board-projector-dark", 1920, 1080, "dark", true},
		{"board-room-light", 1920, 1080, "light", false}, {"board-room-dark", 1920, 1080, "dark", false},
		{"board-phone-light", 390, 844, "light", true},
	} {
		t.Run(screen.name, func(t *testing.T) {
			p := open(t, madeUp(t, screen.names), screen.width, screen.height)
			p.emulate("prefers-color-scheme", screen.scheme)
			p.until(text("#places", "One index"))
			if wide := evaluate[int64](p, "document.documentElement.scrollWidth"); wide > screen.width {
				t.Errorf("the page is %d pixels wide on a screen of %d", wide, screen.width)
			}
			high := evaluate[int64](p, "document.documentElement.scrollHeight")
			if screen.width == 1920 && high > screen.height {
				t.Errorf("the page is %d pixels high on a projector of %d", high, screen.height)
			}
			for _, problem := range evaluate[[]string](p, accessible) {
				t.Error(problem)
			}
			p.screen(screen.name)
		})
	}
}

// The page shows the last state, and says so, while share does not answer. It goes on when share does.
func TestBoardWithoutShare(t *testing.T) {
	var away atomic.Bool
	state, _ := json.Marshal(thirty(true))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/state" && away.Load():
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/state":
			_, _ = w.Write(state)
		default:
			http.FileServer(http.Dir("../../cmd/share/page")).ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	p := open(t, server.URL+"/", 1280, 800)
	p.until(text("#status", "27 people are here"))
	away.Store(true)
	p.until(text("#status", "share does not answer; this is the last state"))
	p.until(text("tbody", "Ada"))
	away.Store(false)
	p.until(text("#status", "27 people are here"))
	p.mu.Lock()
	p.problems = nil // the browser reports the requests without an answer
	p.mu.Unlock()
}
