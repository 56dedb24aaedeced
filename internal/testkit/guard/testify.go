package guard

// This file turns what testify says about a failed assertion into a failure.Failure. It knows the forms that make up
// nearly all failures; any other text is passed on whole.

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"client-go-workshop/internal/testkit/failure"
)

const (
	diffLines = 20
	lineWidth = 100 // columns; a longer line of a value is cut
)

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

// sections reads testify's block of labels ("Error", "Messages", …); nil if there is none. Each line starts with a tab,
// a column for the label, and another tab; the column is blank where a text goes on.
func sections(message string) map[string]string {
	parts := map[string]string{}
	label := ""
	for line := range strings.SplitSeq(strings.Trim(message, "\n"), "\n") {
		column, text, ok := strings.Cut(strings.TrimPrefix(line, "\t"), "\t")
		switch name, named := strings.CutSuffix(strings.TrimRight(column, " "), ":"); {
		case ok && named:
			label = name
			parts[label] = text
		case ok && name == "" && label != "":
			parts[label] += "\n" + text
		default:
			return nil
		}
	}
	return parts
}

// form is one way in which testify words a failure. The templates use the pattern's groups.
type form struct {
	pattern              *regexp.Regexp
	problem, wanted, got string
}

func says(pattern, problem, wanted, got string) form {
	return form{regexp.MustCompile(`(?s)^(?:` + pattern + `)$`), problem, wanted, got}
}

var forms = []form{
	says(`(?:Not equal|Error message not equal): *\nexpected: (.*)\nactual  : (.*?)(?:\n\nDiff:\n(?P<diff>.*))?`,
		"not equal", "$1", "$2"),
	says(`Not same: *\nexpected: (.*)\nactual  : (.*)`, "not the same object", "$1", "$2"),
	says(`Received unexpected error:\n?(.*)`, "unexpected error", "no error", "$1"),
	says(`An error is expected but got nil\.(?:\nexpected: (.*))?`, "no error", "an error $1", "nil"),
	says(`Expected error with (.*) in chain but got nil\.`, "no error", "$1, or an error that wraps it", "nil"),
	says(`(?:Target error s|S)hould be in err(?:or)? chain:\nexpected: (.*?)\nin chain: (.*)`,
		"another error", "$1, or an error that wraps it", "$2"),
	says(`Error (.*) does not contain (.*)`, "another error", "an error that says $2", "$1"),
	says(`"0x[0-9a-f]+" should have (\d+) item\(s\), but has (\d+)`, "wrong length", "length $1", "length $2"),
	says(`"(.*)" should have (\d+) item\(s\), but has (\d+)`, "wrong length", "length $2", "length $3: $1"),
	says(`Expected nil, but got: (.*)`, "not nil", "nil", "$1"),
	says(`Expected value not to be nil\.`, "nil", "not nil", "nil"),
	says(`Should be empty, but was (.*)`, "not empty", "nothing", "$1"),
	says(`Should NOT be empty, but was (.*)`, "empty", "not empty", "$1"),
	says(`Should be zero, but was (.*)`, "not zero", "0", "$1"),
	says(`Should not be(?: zero, but was|:) (.*?)\n?`, "must not be so", "not $1", "$1"),
	says(`(.*) should not contain (.*)`, "contained", "nothing with $2", "$1"),
	says(`(.*) does not contain (.*)`, "not contained", "something with $2", "$1"),
	says(`func \(assert\.PanicTestFunc\)\(0x[0-9a-f]+\) should panic.*`, "no panic", "a panic", "none"),
	says(`"(.*)" is not ((?:greater|less) than(?: or equal to)?) "(.*)"`, "out of range", "$2 $3", "$1"),
	says(`elements differ.*\n\nlistA:\n(.*?)\n\nlistB:\n(.*)`, "elements differ", "in any order: $1", "$2"),
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
	}
	for _, a := range forms {
		m := a.pattern.FindStringSubmatchIndex(text)
		if m == nil {
			continue
		}
		part := func(template string) string {
			return strings.TrimSpace(string(a.pattern.ExpandString(nil, template, text, m)))
		}
		f.Problem, f.Wanted, f.Got, f.Diff = a.problem, part(a.wanted), cmp.Or(part(a.got), "an empty text"), part("$diff")
		if f.Problem == "elements differ" {
			f.Wanted, f.Got = plain(f.Wanted), plain(f.Got)
		}
		fit(&f)
		return f
	}
	f.Problem, f.Wanted, f.Got = "an assertion failed", "the assertion holds", capLines(text, diffLines)
	return f
}

// dumped is what ElementsMatch writes around the values of a list.
var dumped = regexp.MustCompile(`\(\[\]\S+( \{\})?\) (\(len=\d+\) )?(\(cap=\d+\) )?|(?m)^ +\(\w+\) (\(len=\d+\) )?`)

// plain turns the dump of a list into one line.
func plain(text string) string {
	return strings.Join(strings.Fields(dumped.ReplaceAllString(text, "")), " ")
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
	a, b := []rune(f.Wanted), []rune(f.Got)
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	f.Wanted, f.Got = window(a, same), window(b, same)
}

// window cuts a long text to what is around a character.
func window(text []rune, at int) string {
	const before = 30
	from := max(0, min(at-before, len(text)-lineWidth))
	if space := slices.Index(text[from:max(from, at)], ' '); from > 0 && space >= 0 {
		from += space + 1 // at the beginning of a word
	}
	cut := string(text[from:min(from+lineWidth, len(text))])
	if from > 0 {
		cut = "…" + cut
	}
	if left := len(text) - from - lineWidth; left > 0 {
		cut += fmt.Sprintf("… (%s)", failure.Count(left, "more character"))
	}
	return cut
}

// capLines keeps the first n lines and says how many there were more.
func capLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= n {
		return strings.Join(lines, "\n")
	}
	return strings.Join(lines[:n], "\n") + fmt.Sprintf("\n… %s", failure.Count(len(lines)-n, "more line"))
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
