// Package failure reads what a failing test says and lays it out for a screen of any size.
//
// It stands between package guard, which words the failures of the chapters' tests, and the screens that show them. A
// failure that guard has not worded, because the test binary died or did not compile, is passed on line by line. What it
// leaves out: colour and scrolling, and which failure matters most (see package trial).
package failure

import (
	"regexp"
	"strings"
)

// Failure is one thing that a test says is wrong.
type Failure struct {
	Test  string // the test or subtest: "TestTask2_Update_moves_the_entry"
	At    string // the line of the test: "task2_index_test.go:36"; "" if the test does not say
	Title string
	Hole  *Hole // what is not written yet, if that is all that is wrong
	Parts []Part
	Rest  []string // lines that belong to it and are no part, without their common indentation
}

// Hole is a function that the learner has not written yet.
type Hole struct {
	Symbol string // "Store.Update"
	At     string // "store.go:45"
	Task   string // "1"
	Read   string // "05-indexer/README.md#task-1-a-map-behind-a-lock-45-min"
}

// Part is one labelled part of a failure.
type Part struct {
	Label string // "did", "wanted", "got", "diff", "why", "read"
	Lines []string
}

// Part returns the lines of the part with a label, nil if there is none.
func (f Failure) Part(label string) []string {
	for _, p := range f.Parts {
		if p.Label == label {
			return p.Lines
		}
	}
	return nil
}

var (
	verdictLine = regexp.MustCompile(`^( *)--- (FAIL|PASS|SKIP): (\S+) \([\d.]+s\)$`)
	failureLine = regexp.MustCompile(`^( +)(\S+\.go:\d+): (.*)$`)
	partLine    = regexp.MustCompile(`^(did|wanted|got|diff|why|read) +(\S.*)$`)
	holeLine    = regexp.MustCompile(`^called (\S+): not written yet \((\S+:\d+), task (\d+)[^)]*\).*read (\S+)$`)
)

const labelWide = 8 // the column in which guard starts the text of a part

// Parse reads the output of one test, as package gotest collects it. Output that holds no failure as guard words them
// comes back as one Failure whose lines are in Rest, so nothing that a test says is lost; blank output gives none.
func Parse(test, output string) []Failure {
	p := parser{test: test}
	for line := range strings.Lines(output) {
		p.line(strings.TrimRight(line, " \t\r\n"))
	}
	p.end()
	if len(p.all) == 0 && len(p.loose) > 0 {
		title := p.loose[0]
		return []Failure{{Test: test, Title: strings.TrimSpace(title), Rest: p.loose[1:]}}
	}
	if n := len(p.all); n > 0 && len(p.loose) > 0 {
		p.all[n-1].Rest = append(p.all[n-1].Rest, p.loose...)
	}
	return p.all
}

type parser struct {
	test   string
	all    []Failure
	open   *Failure
	indent int      // of the open failure's first line
	loose  []string // lines that belong to no failure
}

func (p *parser) line(line string) {
	if m := verdictLine.FindStringSubmatch(line); m != nil {
		p.end()
		if m[2] == "FAIL" {
			p.test = m[3]
		}
		return
	}
	if m := failureLine.FindStringSubmatch(line); m != nil && (p.open == nil || len(m[1]) <= p.indent) {
		p.end()
		p.open, p.indent = &Failure{Test: p.test, At: m[2], Title: m[3]}, len(m[1])
		if h := holeLine.FindStringSubmatch(m[3]); h != nil {
			p.open.Hole = &Hole{Symbol: h[1], At: h[2], Task: h[3], Read: h[4]}
		}
		return
	}
	if p.open == nil || line != "" && len(line)-len(strings.TrimLeft(line, " ")) <= p.indent {
		if line != "" {
			p.end()
			p.loose = append(p.loose, line)
		}
		return
	}
	p.partOrRest(strings.TrimPrefix(line, strings.Repeat(" ", min(len(line), p.indent+4))))
}

// partOrRest takes a line of the open failure, without its indentation.
func (p *parser) partOrRest(text string) {
	f := p.open
	if m := partLine.FindStringSubmatch(text); m != nil {
		f.Parts = append(f.Parts, Part{m[1], []string{m[2]}})
		return
	}
	goesOn, isPart := strings.CutPrefix(text, strings.Repeat(" ", labelWide))
	if n := len(f.Parts); n > 0 && (isPart || text == "") {
		f.Parts[n-1].Lines = append(f.Parts[n-1].Lines, goesOn)
		return
	}
	f.Rest = append(f.Rest, text)
}

func (p *parser) end() {
	if p.open != nil {
		p.all = append(p.all, *p.open)
		p.open = nil
	}
}
