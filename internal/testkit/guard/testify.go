package guard

// This file turns what testify says about a failed assertion into a failure.Failure: a block of labels ("Error Trace",
// "Error", "Test", "Messages"), and in "Error" a text of each assertion's own. It knows the assertions that the
// chapters use, in the words of testify 1.12; a test makes each of them fail and sees that no word has changed. A text
// that it does not know is passed on whole.

import (
	"regexp"
	"strings"

	"client-go-workshop/internal/testkit/failure"
)

const diffLines = 20

// fromMessage makes a failure of what Errorf was given. The message of an assertion is the name of its value.
func fromMessage(message string) failure.Failure {
	parts := sections(message)
	if parts["Error"] == "" {
		first, rest, _ := strings.Cut(strings.Trim(message, "\n"), "\n")
		return failure.Failure{Kind: failure.Other, Problem: first, Rest: lines(rest)}
	}
	return fromAssertion(strings.TrimRight(parts["Error"], "\n"), strings.TrimSpace(parts["Messages"]))
}

// lines splits a text; an empty text has no lines.
func lines(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

var labelled = regexp.MustCompile(`^\t(Error Trace|Error|Test|Messages): *\t(.*)$`)

// sections reads testify's labels; nil if there are none. Each line starts with a tab, a column for the label, and
// another tab; the column is blank where a text goes on.
func sections(message string) map[string]string {
	parts := map[string]string{}
	label := ""
	for line := range strings.SplitSeq(strings.Trim(message, "\n"), "\n") {
		if m := labelled.FindStringSubmatch(line); m != nil {
			label = m[1]
			parts[label] = m[2]
			continue
		}
		column, text, ok := strings.Cut(strings.TrimPrefix(line, "\t"), "\t")
		if label == "" || !ok || strings.Trim(column, " ") != "" {
			return nil
		}
		parts[label] += "\n" + text
	}
	return parts
}

// assertion is one way in which testify words a failure. The pattern's groups "wanted", "got" and "diff" are taken
// over; a template that is given instead may use the groups.
type assertion struct {
	pattern              *regexp.Regexp
	problem, wanted, got string
}

func says(pattern, problem, wanted, got string) assertion {
	return assertion{regexp.MustCompile(`(?s)^(?:` + pattern + `)$`), problem, wanted, got}
}

var assertions = []assertion{
	says(`(?:Not equal: |Error message not equal:)\s*\nexpected: (?P<wanted>.*)\n`+
		`actual  : (?P<got>.*?)(?:\n\nDiff:\n(?P<diff>.*))?`, "not equal", "", ""),
	says(`Not same: \nexpected: (?P<a>.*) (?P<wanted>\(\S+\)\(0x[0-9a-f]+\))\n`+
		`actual  : (?P<b>.*) (?P<got>\(\S+\)\(0x[0-9a-f]+\))`, "not the same object", "$wanted\n$a", "$got\n$b"),
	says(`Should not be: (?P<got>.*)`, "must be another value", "anything but $got", ""),

	says(`Received unexpected error:\n?(?P<got>.*)`, "unexpected error", "no error", ""),
	says(`An error is expected but got nil\.(?:\nexpected: (?P<type>.*))?`, "no error", "an error $type", "nil"),
	says(`Expected error with (?P<wanted>.*) in chain but got nil\.`, "no error", "$wanted, or an error that wraps it",
		"nil"),
	says(`(?:Target error s|S)hould be in err(?:or)? chain:\nexpected: (?P<wanted>.*?)\nin chain: (?P<got>.*)`,
		"another error", "$wanted, or an error that wraps it", ""),
	says(`Target error should not be in err chain:\nfound: (?P<found>.*?)\nin chain: (?P<got>.*)`,
		"this error must not occur", "no error that is or wraps $found", ""),
	says(`Error (?P<got>.*) does not contain (?P<text>.*)`, "another error", "an error that says $text", ""),

	says(`"(?P<list>.*)" should have (?P<n>\d+) item\(s\), but has (?P<got>\d+)`,
		"wrong length", "length $n", "length $got: $list"),
	says(`Should be empty, but was (?P<got>.*)`, "not empty", "nothing", ""),
	says(`Should NOT be empty, but was (?P<got>.*)`, "empty", "at least one element", ""),
	says(`(?P<got>.*) does not contain (?P<part>.*)`, "not contained", "something with $part", ""),
	says(`(?P<got>.*) should not contain (?P<part>.*)`, "contained", "something without $part", ""),

	says(`Expected nil, but got: (?P<got>.*)`, "not nil", "nil", ""),
	says(`Expected value not to be nil\.`, "nil", "a value, not nil", "nil"),
	says(`Should be zero, but was (?P<got>.*)`, "not zero", "the zero value", ""),
	says(`Should not be zero, but was (?P<got>.*)`, "zero", "anything but the zero value", ""),
	says(`"(?P<got>.*)" is not (?P<than>(?:greater|less) than(?: or equal to)?) "(?P<limit>.*)"`,
		"out of range", "$than $limit", ""),
	says(`Max difference between (?P<wanted>.*) and (?P<got>.*) allowed is (?P<delta>.*), but difference was (?P<off>.*)`,
		"too far off", "$wanted, give or take $delta", "$got, which is $off off"),
	says(`Object expected to be of type (?P<wanted>.*), but was (?P<got>.*)`, "another type", "", ""),
	says(`func \S+ should panic\n\tPanic value:\t.*`, "no panic", "a panic", "the function returned"),
	says(`Condition never satisfied`, "never so", "the condition becomes true in time", "it never did"),
}

// fromAssertion makes a failure of what an assertion says about a value.
func fromAssertion(text, value string) failure.Failure {
	f := failure.Failure{Kind: failure.Assertion, Value: value}
	switch {
	case value != "" && text == "Should be true": // the name of a condition is a claim
		f.Problem, f.Wanted, f.Got = "not so", value, "it is not so"
		return f
	case value != "" && text == "Should be false":
		f.Problem, f.Wanted, f.Got = "must not be so", "not so: "+value, "it is so"
		return f
	case elementsDiffer(text, &f):
		return f
	}
	for _, a := range assertions {
		m := a.pattern.FindStringSubmatchIndex(text)
		if m == nil {
			continue
		}
		part := func(template, group string) string {
			if template == "" {
				template = "${" + group + "}"
			}
			return strings.TrimSpace(string(a.pattern.ExpandString(nil, template, text, m)))
		}
		f.Problem, f.Wanted, f.Got, f.Diff = a.problem, part(a.wanted, "wanted"), part(a.got, "got"), part("", "diff")
		if f.Got == "" {
			f.Got = "an empty text"
		}
		fit(&f)
		return f
	}
	first, rest, _ := strings.Cut(text, "\n")
	f.Kind, f.Problem, f.Rest = failure.Other, first, lines(rest)
	return f
}

// fit keeps a failure readable: a diff only for values that are long or have several lines, and of long values only
// what is around their first difference.
func fit(f *failure.Failure) {
	long := func(s string) bool { return len(s) > lineWidth || strings.Contains(s, `\n`) }
	if !long(f.Wanted) && !long(f.Got) {
		f.Diff = ""
		return
	}
	if f.Diff != "" {
		f.Diff = "- wanted, + got\n" + capLines(cutDiff(f.Diff), diffLines)
	}
	f.Wanted, f.Got = apart(f.Wanted, f.Got)
}

// apart cuts two texts, line by line, to where they begin to differ.
func apart(wanted, got string) (string, string) {
	const before = 30
	a, b := strings.Split(wanted, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		var same int
		if i < len(a) && i < len(b) {
			for x, y := []rune(a[i]), []rune(b[i]); same < len(x) && same < len(y) && x[same] == y[same]; {
				same++
			}
		}
		for _, lines := range [][]string{a, b} {
			if i < len(lines) {
				lines[i] = window(lines[i], max(0, same-before))
			}
		}
	}
	return strings.Join(a, "\n"), strings.Join(b, "\n")
}

// window shows a line from a character on if it is too long to be shown whole.
func window(line string, from int) string {
	runes := []rune(line)
	if len(runes) <= lineWidth {
		return line
	}
	if from > 0 && len(runes)-from < lineWidth {
		from = len(runes) - lineWidth
	}
	cut := shorten(string(runes[from:]), lineWidth)
	if from > 0 {
		cut = "…" + cut
	}
	return cut
}

// cutDiff takes the file names off a unified diff, and shortens the marks between its parts.
func cutDiff(diff string) string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(diff, " \n"), "\n") {
		switch {
		case strings.HasPrefix(line, "--- Expected"), strings.HasPrefix(line, "+++ Actual"):
		case strings.HasPrefix(line, "@@ "):
			if len(out) > 0 {
				out = append(out, "…")
			}
		default:
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

var listsDiffer = regexp.MustCompile(`(?s)^elements differ(?:\n\nextra elements in list A:\n(.*?))?` +
	`(?:\n\nextra elements in list B:\n(.*?))?\n\nlistA:\n(.*?)\n\nlistB:\n(.*)$`)

// elementsDiffer reads what ElementsMatch says, which dumps up to four lists, into f. It reports whether it could.
func elementsDiffer(text string, f *failure.Failure) bool {
	m := listsDiffer.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	f.Problem, f.Wanted, f.Got = "elements differ", elements(m[3])+", in any order", elements(m[4])
	if m[1] != "" {
		f.Got += "\nmissing: " + elements(m[1])
	}
	if m[2] != "" {
		f.Got += "\ntoo many: " + elements(m[2])
	}
	f.Got = capLines(f.Got, diffLines)
	return true
}

var (
	dumpedList  = regexp.MustCompile(`(?s)^\([^\n]*\{\n(.*?)\n?\}\n*$`)
	dumpedValue = regexp.MustCompile(`^ \([^()]+\) (?:\(len=\d+\) )?(.*?),?$`)
)

// elements turns the dump of a list of simple values into one line; other dumps it leaves as they are.
func elements(dump string) string {
	m := dumpedList.FindStringSubmatch(dump)
	if m == nil {
		if strings.Contains(dump, "<nil>") {
			return "nothing"
		}
		return strings.TrimRight(dump, "\n")
	}
	if m[1] == "" {
		return "nothing"
	}
	var values []string
	for line := range strings.SplitSeq(m[1], "\n") {
		v := dumpedValue.FindStringSubmatch(line)
		if v == nil || strings.HasSuffix(v[1], "{") {
			return strings.TrimRight(dump, "\n")
		}
		values = append(values, v[1])
	}
	return strings.Join(values, ", ")
}
