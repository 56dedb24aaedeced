// What a person sees while the go command works. The go command is silent by
// default; with -v it names each package as it compiles it. On a terminal
// that becomes one line that changes in place; elsewhere (a CI log), a line
// every ten seconds. A program gets a line of its own once it is being linked.
//
// How far the build is, and how long it goes on, comes from the packages' sizes
// (work.go) and from the time that it took so far: a busy machine takes four
// times as long as an idle one.

package build

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress reads the go command's stderr and reports on it. Its methods may be
// called from several goroutines.
type progress struct {
	out      io.Writer
	terminal bool
	started  time.Time
	quit     chan struct{}
	stopped  sync.WaitGroup

	mu         sync.Mutex
	fetched    int       // modules
	work       work      // nil: not known yet
	begun      time.Time // when the first package was named
	passed     int64     // the weight of the packages before the latest
	latest     string    // package
	linking    []string  // programs
	complained []string  // what the go command said beyond that
}

// startProgress begins to report; call stop in the end.
func startProgress(out io.Writer) *progress {
	p := &progress{out: out, started: time.Now(), quit: make(chan struct{})}
	if file, ok := out.(*os.File); ok {
		p.terminal = term.IsTerminal(int(file.Fd()))
	}
	fmt.Fprintln(out, "Building the cluster's programs from source, the first time only: 6 minutes on two idle cores. "+
		"The time left follows.")
	interval := 10 * time.Second
	if p.terminal {
		interval = 200 * time.Millisecond
	}
	p.stopped.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.show()
			case <-p.quit:
				return
			}
		}
	})
	return p
}

// stop ends the reporting and leaves the cursor at the start of a line.
func (p *progress) stop() {
	close(p.quit)
	p.stopped.Wait()
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(fmt.Sprintf("Built %d programs in %s.", len(Programs), p.elapsed()))
}

// expect sets what there is to do.
func (p *progress) expect(w work) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.work = w
}

// line takes one line of the go command's stderr.
func (p *progress) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case strings.HasPrefix(text, "go: downloading "):
		p.fetched++
	case strings.TrimSpace(text) == "":
	case strings.Contains(text, " "): // no package's name has a space in it
		p.complained = append(p.complained, text)
	default:
		if p.latest == "" {
			p.begun = time.Now()
		}
		p.passed += p.work[p.latest] // the go command names a package when it begins with it
		p.latest = text
		if program := text[strings.LastIndex(text, "/")+1:]; p.isProgram(text) {
			p.linking = append(p.linking, program)
			p.print(fmt.Sprintf("  %6s  %s is compiled and being linked (%d of %d)",
				p.elapsed(), program, len(p.linking), len(Programs)))
		}
	}
}

// isProgram reports whether a package is one of ours; kwok has a cmd as well.
func (p *progress) isProgram(name string) bool {
	return slices.ContainsFunc(Programs, func(program string) bool {
		return strings.HasSuffix(name, "cluster/cmd/"+program)
	})
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var text string
	switch {
	case p.work == nil:
		text = fmt.Sprintf("  %6s  fetching modules: %d so far", p.elapsed(), p.fetched)
	case p.latest == "":
		text = fmt.Sprintf("  %6s  looking for what has to be compiled", p.elapsed())
	default:
		latest := p.latest
		if p.isProgram(latest) {
			latest = "linking takes a while now"
		}
		text = fmt.Sprintf("  %6s  %2d%% done%s: %s", p.elapsed(), 100*p.passed/p.work.all(), p.left(), latest)
	}
	if !p.terminal {
		fmt.Fprintln(p.out, text)
		return
	}
	width, _, err := term.GetSize(int(p.out.(*os.File).Fd()))
	if err == nil && width > 1 && len(text) >= width {
		text = text[:width-1] // a wrapped line could not be written over
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", text)
}

// leastDone is the share of the work, one in so many, from which the time that
// it took says something about the rest.
const leastDone = 50

// left returns ", about 4 min left", or "" as long as that cannot be known. The
// caller holds mu.
func (p *progress) left() string {
	rest := p.work.all() - p.passed
	if p.passed < p.work.all()/leastDone || rest <= 0 {
		return ""
	}
	seconds := time.Since(p.begun).Seconds() * float64(rest) / float64(p.passed)
	if seconds < 100 {
		return fmt.Sprintf(", about %.0f s left", 10*math.Ceil(seconds/10))
	}
	return fmt.Sprintf(", about %.0f min left", math.Ceil(seconds/60))
}

// print writes a line that stays. The caller holds mu.
func (p *progress) print(text string) {
	if p.terminal {
		text = "\r\x1b[K" + text
	}
	fmt.Fprintln(p.out, text)
}

// complaints are the last lines of what the go command said went wrong.
func (p *progress) complaints() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	const most = 15
	lines := p.complained
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return strings.Join(lines, "\n")
}

func (p *progress) elapsed() string {
	seconds := int(time.Since(p.started).Seconds())
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

// lineWriter cuts what is written to it into lines.
type lineWriter struct {
	each    func(string)
	pending []byte
}

func (l *lineWriter) Write(chunk []byte) (int, error) {
	l.pending = append(l.pending, chunk...)
	for {
		line, rest, found := bytes.Cut(l.pending, []byte("\n"))
		if !found {
			return len(chunk), nil
		}
		l.each(strings.TrimSuffix(string(line), "\r"))
		l.pending = rest
	}
}

// flush hands over a last line that has no end.
func (l *lineWriter) flush() {
	if len(l.pending) > 0 {
		l.each(string(l.pending))
		l.pending = nil
	}
}
