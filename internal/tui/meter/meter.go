// Package meter shows how far something is that takes longer than a person waits without a word.
package meter

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// clearLine is the control sequence that goes to the start of the line and clears it.
const clearLine = "\r\x1b[K"

const (
	tick  = time.Second      // after which the row of a terminal changes
	first = 2 * time.Second  // after which a log gets its first line
	every = 10 * time.Second // after which it gets the next one
)

// Meter shows what a command does, how far it is, and how long the rest will take. On a terminal that is one row, which
// changes in place. Elsewhere it is a line every ten seconds. Call Clear in the end. Its
// methods may be called from several goroutines.
type Meter struct {
	out      io.Writer
	terminal bool
	width    int
	began    time.Time

	mu        sync.Mutex
	what      string
	done, all int
	last      time.Time     // of the last line of a log
	quit      chan struct{} // closed by Clear; nil while nothing is shown
	ticks     sync.WaitGroup
}

// New returns a meter that shows nothing yet. width is that of the terminal, if out is one.
func New(out io.Writer, width int) *Meter {
	now := time.Now()
	f, ok := out.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd()))
	return &Meter{out: out, terminal: terminal, width: width, began: now, last: now.Add(first - every)}
}

// At shows that done of all parts are done, and what comes now. If all is 0, the number of parts is unknown.
func (m *Meter) At(what string, done, all int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.what, m.done, m.all = what, done, all
	if m.quit == nil {
		quit := make(chan struct{})
		m.quit = quit
		m.ticks.Go(func() { m.ticking(quit) })
	}
	m.show()
}

// ticking shows the row again every second, because its times change.
func (m *Meter) ticking(quit <-chan struct{}) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-quit:
			return
		case <-ticker.C:
			m.mu.Lock()
			m.show()
			m.mu.Unlock()
		}
	}
}

// show shows the row. The caller holds m.mu.
func (m *Meter) show() {
	row := m.row(m.what, m.done, m.all, time.Since(m.began))
	switch {
	case m.terminal:
		fmt.Fprint(m.out, clearLine+ansi.Truncate(row, m.width-1, "…"))
	case time.Since(m.last) >= every:
		m.last = time.Now()
		fmt.Fprintln(m.out, row)
	}
}

func (m *Meter) row(what string, done, all int, took time.Duration) string {
	if all == 0 {
		return fmt.Sprintf("%s, %ds", what, int(took.Seconds()))
	}
	const wide = 24
	full := wide * min(done, all) / all
	left := ""
	if done > 0 && took > first {
		rest := took * time.Duration(max(all-done, 0)) / time.Duration(done)
		left = fmt.Sprintf(", about %v left", rest.Round(time.Second))
	}
	return fmt.Sprintf("[%s] %d/%d%s  %s", strings.Repeat("█", full)+strings.Repeat("░", wide-full), done, all, left, what)
}

// Clear takes the row away. At may show another one.
func (m *Meter) Clear() {
	m.mu.Lock()
	quit := m.quit
	m.quit = nil
	m.mu.Unlock()
	if quit == nil {
		return
	}
	close(quit)
	m.ticks.Wait()
	if m.terminal {
		fmt.Fprint(m.out, clearLine)
	}
}
