package guard

// This file reads the output of a test process that died, and finds the calls of the chapter in it.

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"client-go-workshop/internal/testkit/failure"
)

var (
	dataRace  = regexp.MustCompile(`(?s)WARNING: DATA RACE\n(.*?)\n==================`)
	access    = regexp.MustCompile(`^(?:Previous )?(?:atomic )?([Rr]ead|[Ww]rite) at 0x[0-9a-f]+ by `)
	fatal     = regexp.MustCompile(`(?m)^fatal error: (.*)$`)
	panicLine = regexp.MustCompile(`(?m)^panic: (.*)$`)
)

// crash says what became of a child process that did not come to the end of its test.
func (r *run) crash(output string, err error) failure.Failure {
	output = strings.ReplaceAll(output, "\r\n", "\n")
	if m := dataRace.FindStringSubmatch(output); m != nil {
		if f, ok := r.fromDetector(m[1]); ok {
			return f
		}
		return r.notUnderstood(output, err)
	}
	all := parseDump(output)
	if len(all) == 0 || len(all[0].frames) == 0 {
		return r.notUnderstood(output, err)
	}
	crashed := all[0].frames // that goroutine is dumped first
	if m := fatal.FindStringSubmatch(output); m != nil {
		if strings.Contains(m[1], "concurrent map") {
			return r.fromMap(m[1], all)
		}
		return r.brokeOff(r.start, "fatal error: "+m[1], "no such error", "", crashed)
	}
	if m := panicLine.FindStringSubmatch(output); m != nil {
		message := "panic: " + strings.TrimSuffix(m[1], " [recovered, repanicked]")
		wanted, why := "no panic", noPanic
		if r.apart {
			why = r.rule // it is about panics
		}
		if r.crashes != "" {
			wanted = "panic: " + r.crashes
		}
		return r.brokeOff(r.start, message, wanted, why, crashed)
	}
	return r.notUnderstood(output, err)
}

// crashedWith reports whether a panic with this message ended a child process.
func crashedWith(message, output string) bool {
	m := panicLine.FindStringSubmatch(output)
	return m != nil && strings.HasPrefix(m[1], message)
}

// survived reports a process that a panic should have ended, and ends it: the panic may come when the test is over. A
// test that has failed or skipped goes on as usual.
func (r *run) survived(t *T, rule string) {
	if t.Failed() || t.Skipped() {
		return
	}
	r.fail(failure.Failure{
		Kind: failure.Panic, At: r.start, Problem: "the program goes on after a panic",
		Wanted: "panic: " + r.crashes + ", and the end of the program",
		Got:    "the program still runs",
		Why:    rule,
	})
	all, _ := r.outcome()
	r.child.note(func(now *record) { now.Failures, now.Ended = all, true })
	os.Exit(1)
}

const onlyOne = "only one goroutine at a time where one of them writes"

// fromDetector reads a report of the race detector: two accesses, each with its stack.
func (r *run) fromDetector(report string) (f failure.Failure, ok bool) {
	var calls, lines []string
	for block := range strings.SplitSeq(report, "\n\n") {
		text := strings.Split(block, "\n")
		m := access.FindStringSubmatch(text[0])
		if m == nil {
			continue
		}
		var g goroutine
		g.readFrames(text[1:])
		call, found := r.where.mostTelling(g.frames)
		if !found {
			return f, false
		}
		verb := map[string]string{"r": "reading", "w": "writing"}[strings.ToLower(m[1][:1])]
		calls = append(calls, fmt.Sprintf("%s (%s)", call.at(r.where), verb))
		if line, found := r.where.inTest(g.frames); found && line != call {
			lines = append(lines, at(line.file, line.line).String())
		}
	}
	if len(calls) != 2 {
		return f, false
	}
	f = failure.Failure{
		Kind:    failure.Race,
		At:      r.start,
		Problem: "data race",
		Wanted:  onlyOne,
		Got:     fmt.Sprintf("two goroutines were in %s and %s at once", calls[0], calls[1]),
	}
	if len(lines) == 2 {
		f.Got += fmt.Sprintf("\ncalled at %s and %s", lines[0], lines[1])
	}
	return f, true
}

// fromMap reads the dump of a program that the runtime ended because two goroutines used a map at once. One of them
// noticed, and what it met was writing. The dump does not say which goroutine that was, so all others are named.
func (r *run) fromMap(message string, all []goroutine) failure.Failure {
	first, ok := r.where.mostTelling(all[0].frames)
	if !ok {
		first = all[0].frames[0] // what crashed is at least in the call that did it
	}
	var others []string
	for _, g := range r.members(all[1:]) {
		if call, found := r.where.mostTelling(g.frames); found && !r.where.isTest(call) {
			others = append(others, call.at(r.where))
		}
	}
	slices.Sort(others)
	got := first.at(r.where) + " used a map while another goroutine wrote to it"
	if len(others) > 0 {
		got += "\nin progress at that time: " + strings.Join(slices.Compact(others), ", ")
	}
	return failure.Failure{
		Kind:    failure.Race,
		At:      r.start,
		Problem: "fatal error: " + message,
		Wanted:  onlyOne,
		Got: fmt.Sprintf("%s\nthe race detector names the other one: go test -race ./%s -run '^%s$'",
			got, chapterFolder(), r.outer.Name()),
	}
}

// notUnderstood passes on what a child wrote.
func (r *run) notUnderstood(output string, err error) failure.Failure {
	f := failure.Failure{
		Kind: failure.Panic, At: r.start, Problem: "the test's own process ended early",
		Wanted: "the test comes to its end", Rest: lines(capLines(output, outputLines)),
	}
	f.Got = "exit status 0, before the end"
	if err != nil {
		f.Got = err.Error()
	}
	return f
}
