// What a person sees while the go command works. The go command is silent by
// default; with -v it names each package as it compiles it. On a terminal
// that becomes one line that changes in place; elsewhere (a CI log), a line
// every ten seconds. A program gets a line of its own once it is being linked.

package build

import (
	"bytes"
	"fmt"
	"io"
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
	fetched    int      // modules
	compiled   int      // packages
	packages   int      // all of them, those in the cache included; 0: not known yet
	latest     string   // package
	linking    []string // programs
	complained []string // what the go command said beyond that
}

// startProgress begins to report; call stop in the end.
func startProgress(out io.Writer) *progress {
	p := &progress{out: out, started: time.Now(), quit: make(chan struct{})}
	if file, ok := out.(*os.File); ok {
		p.terminal = term.IsTerminal(int(file.Fd()))
	}
	fmt.Fprintln(out, "Building the cluster's programs from source: about 6 minutes on two cores, the first time only.")
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

func (p *progress) expect(packages int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.packages = packages
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
		p.compiled++
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
	case p.packages == 0:
		text = fmt.Sprintf("  %6s  fetching modules: %d so far", p.elapsed(), p.fetched)
	case p.compiled == 0:
		text = fmt.Sprintf("  %6s  looking for what has to be compiled (%d packages at most)", p.elapsed(), p.packages)
	default:
		latest := p.latest
		if p.isProgram(latest) {
			latest = "linking takes a while now"
		}
		text = fmt.Sprintf("  %6s  %d packages compiled, of at most %d: %s", p.elapsed(), p.compiled, p.packages, latest)
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
