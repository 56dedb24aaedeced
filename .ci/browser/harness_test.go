// Package browser tests the pages of `workshop show` and of the board in a real browser: headless Chromium, with
// chromedp. It is a module of its own, so that the workshop does not depend on a browser.
//
//	cd .ci/browser && go test ./...
//	cd .ci/browser && go test ./... -run Screens -screens /some/folder
//
// harness_test.go starts the program and the browser. page_test.go uses the page of show, tours_test.go plays its
// tours, board_test.go is about the board of share.
package browser

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var (
	screens = flag.String("screens", "", "the folder for screenshots")
	program string // the program show
)

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "show")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "show")
	build := exec.Command("go", "build", "-o", program, "./cmd/show")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("build show: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// start starts show and returns its address. It ends with the test.
func start(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, append([]string{"--no-open"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url := strings.TrimSpace(lines.Text()); strings.HasPrefix(url, "http://") {
			go func() {
				for lines.Scan() {
				}
			}()
			return url
		}
	}
	t.Fatal("show has printed no address")
	return ""
}

// page is a tab of the browser.
type page struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // of the console
}

// open opens an address in a browser of its own. At the end of the test, the console must have no error.
func open(t *testing.T, url string, width, height int64) *page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	p := &page{T: t}
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithListener(p.listen))
	t.Cleanup(cancel)
	p.ctx = ctx
	p.run(chromedp.EmulateViewport(width, height), chromedp.Navigate(url))
	p.until(`document.body.classList.contains("ready")`)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.problems) > 0 {
			t.Errorf("the console has errors: %q", p.problems)
		}
	})
	return p
}

// openEmpty opens the page, and starts the run again: then there are no objects.
func openEmpty(t *testing.T, url string, width, height int64) *page {
	t.Helper()
	p := open(t, url, width, height)
	p.click("Start again")
	p.until(says("server", "no objects yet") + " && " + says("reflector", "◉ watches"))
	return p
}

// listen collects the errors of the console.
func (p *page) listen(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = e.ExceptionDetails.Text + " " + e.ExceptionDetails.Exception.Description
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			problem = fmt.Sprint(e.Args)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			problem = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if problem != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.problems = append(p.problems, problem)
	}
}

func (p *page) run(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.Fatal(err)
	}
}

// evaluate returns the value of an expression.
func evaluate[T any](p *page, expression string) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits for a condition, for 30 seconds at most.
func (p *page) until(condition string) {
	p.Helper()
	for deadline := time.Now().Add(30 * time.Second); !evaluate[bool](p, "Boolean("+condition+")"); {
		if time.Now().After(deadline) {
			p.Fatalf("never true: %s\n%s", condition, evaluate[string](p, "document.body.innerText"))
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// click clicks a button by its text, as a reader finds it.
func (p *page) click(text string) {
	p.Helper()
	const find = `(() => {
		const b = [...document.querySelectorAll("button")].find((b) => b.textContent === %q && !b.disabled);
		if (!b) return false; const d = b.closest("details"); if (d) d.open = true; b.click(); return true })()`
	p.until(fmt.Sprintf(find, text))
}

// says is the condition that a station has a text.
func says(seam, text string) string {
	const holds = `document.querySelector('[data-seam=%s] .body').innerText.replace(/\s+/g, " ").includes(%q)`
	return fmt.Sprintf(holds, seam, text)
}

// screen writes a screenshot, if a folder is given.
func (p *page) screen(name string) {
	p.Helper()
	if *screens == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screens, name+".png"), png, 0o644); err != nil {
		p.Fatal(err)
	}
}
