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
// changes in place. Elsewhere it is a line every ten seconds. Call Clear in the end. Its methods may be called from
// several goroutines.
type Meter struct {
	out      io.Writer
	terminal bool
	width    int
	began    time.Time

	mu        sync.Mutex
	what      string
	done, all int
	last      time.Time   // of the last line of a log
	again     *time.Timer // shows the row again, because its times change; nil while nothing is shown
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
	if m.again == nil {
		m.again = time.AfterFunc(tick, m.showAgain)
	}
	m.show()
}

func (m *Meter) showAgain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.again != nil {
		m.show()
		m.again.Reset(tick)
	}
}

// show shows the row. The caller holds m.mu.
func (m *Meter) show() {
	switch {
	case m.terminal:
		fmt.Fprint(m.out, clearLine+ansi.Truncate(m.row(), m.width-1, "…"))
	case time.Since(m.last) >= every:
		m.last = time.Now()
		fmt.Fprintln(m.out, m.row())
	}
}

func (m *Meter) row() string {
	took := time.Since(m.began)
	if m.all == 0 {
		return fmt.Sprintf("%s, %ds", m.what, int(took.Seconds()))
	}
	const wide = 24
	full := wide * min(m.done, m.all) / m.all
	left := ""
	if m.done > 0 && took > first {
		rest := took * time.Duration(max(m.all-m.done, 0)) / time.Duration(m.done)
		left = fmt.Sprintf(", about %v left", rest.Round(time.Second))
	}
	bar := strings.Repeat("█", full) + strings.Repeat("░", wide-full)
	return fmt.Sprintf("[%s] %d/%d%s  %s", bar, m.done, m.all, left, m.what)
}

// Clear takes the row away. At may show another one.
func (m *Meter) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.again == nil {
		return
	}
	m.again.Stop()
	m.again = nil
	if m.terminal {
		fmt.Fprint(m.out, clearLine)
	}
}
