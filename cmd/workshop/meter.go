package main

// This file shows how far something is that takes longer than a person waits without a word.

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

const (
	meterTick  = time.Second      // after which the row of a terminal changes
	meterFirst = 2 * time.Second  // after which a log gets its first line
	meterEvery = 10 * time.Second // after which it gets the next one
)

// meter shows what a command does, how far it is, and how long the rest will take. On a terminal that is one row, which
// changes in place. Elsewhere it is a line every ten seconds. Call clear in the end.
type meter struct {
	out      io.Writer
	terminal bool
	width    int
	began    time.Time

	mu        sync.Mutex
	what      string
	done, all int
	last      time.Time     // of the last line of a log
	quit      chan struct{} // closed by clear; nil while nothing is shown
	ticks     sync.WaitGroup
}

func newMeter(out io.Writer, width int) *meter {
	now := time.Now()
	return &meter{out: out, terminal: isTerminal(out), width: width, began: now, last: now.Add(meterFirst - meterEvery)}
}

// at shows that done of all parts are done, and what comes now. If all is 0, the number of parts is unknown.
func (m *meter) at(what string, done, all int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.what, m.done, m.all = what, done, all
	if m.quit == nil {
		quit := make(chan struct{})
		m.quit = quit
		m.ticks.Go(func() { m.tick(quit) })
	}
	m.show()
}

// tick shows the row again every second, because its times change.
func (m *meter) tick(quit <-chan struct{}) {
	ticker := time.NewTicker(meterTick)
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
func (m *meter) show() {
	row := m.row(m.what, m.done, m.all, time.Since(m.began))
	switch {
	case m.terminal:
		fmt.Fprint(m.out, clearLine+ansi.Truncate(row, m.width-1, "…"))
	case time.Since(m.last) >= meterEvery:
		m.last = time.Now()
		fmt.Fprintln(m.out, row)
	}
}

func (m *meter) row(what string, done, all int, took time.Duration) string {
	if all == 0 {
		return fmt.Sprintf("%s, %ds", what, int(took.Seconds()))
	}
	const wide = 24
	full := wide * min(done, all) / all
	left := ""
	if done > 0 && took > meterFirst {
		rest := took * time.Duration(max(all-done, 0)) / time.Duration(done)
		left = fmt.Sprintf(", about %v left", rest.Round(time.Second))
	}
	return fmt.Sprintf("[%s] %d/%d%s  %s", strings.Repeat("█", full)+strings.Repeat("░", wide-full), done, all, left, what)
}

// clear takes the row away. at may show another one.
func (m *meter) clear() {
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
