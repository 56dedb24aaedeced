package guard

// This file takes apart what testify says about a failed assertion: a block of labels ("Error Trace", "Error", "Test",
// "Messages"), and in "Error" a text of each assertion's own. What it does not know is passed on whole. The texts are
// those of testify 1.12; a test runs every assertion below and sees that none has changed.

import (
	"regexp"
	"strings"
)

const diffLines = 20

// fromMessage makes a failure of what Errorf was given.
func fromMessage(message string) failure {
	parts := sections(message)
	if parts["Error"] == "" {
		first, rest, _ := strings.Cut(strings.Trim(message, "\n"), "\n")
		return failure{title: first, rest: rest}
	}
	f := fromAssertion(strings.TrimRight(parts["Error"], "\n"))
	f.why = parts["Messages"]
	return f
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

// assertion is one way in which testify words a failure. The pattern's groups "wanted", "got" and "diff" are taken over;
// where it has no such group, the text given here is.
type assertion struct {
	pattern     *regexp.Regexp
	title       string
	wanted, got string // may use the groups, as in "more than $limit"
}

func says(pattern, title, wanted, got string) assertion {
	return assertion{regexp.MustCompile(`(?s)^` + pattern + `$`), title, wanted, got}
}

var assertions = []assertion{
	says(`Not equal: \nexpected: (?P<wanted>.*)\nactual  : (?P<got>.*?)(?:\n\nDiff:\n(?P<diff>.*))?`, "not equal", "", ""),
	says(`Not equal \(comparing only exported fields\): \nexpected: (?P<wanted>.*)\nactual  : (?P<got>.*?)(?:\n\nDiff:\n(?P<diff>.*))?`, "not equal", "", ""),
	says(`Error message not equal:\nexpected: (?P<wanted>.*)\nactual  : (?P<got>.*)`, "another error", "", ""),
	says(`Not same: \nexpected: (?P<a>.*) (?P<wanted>\(\S+\)\(0x[0-9a-f]+\))\nactual  : (?P<b>.*) (?P<got>\(\S+\)\(0x[0-9a-f]+\))`,
		"not the same object", "$wanted\n$a", "$got\n$b"),
	says(`Expected and actual point to the same object: (?P<got>.*)`, "the same object", "another object", "$got"),
	says(`Should not be: (?P<got>.*)`, "equal", "anything but $got", "$got"),

	says(`Received unexpected error:\n(?P<got>.*)`, "unexpected error", "no error", ""),
	says(`An error is expected but got nil\.`, "no error", "an error", "nil"),
	says(`An error is expected but got nil\.\nexpected: (?P<wanted>.*)`, "no error", "an error of type $wanted", "nil"),
	says(`Expected error with (?P<wanted>.*) in chain but got nil\.`, "no error", "the error $wanted, or one that wraps it", "nil"),
	says(`Target error should be in err chain:\nexpected: (?P<wanted>.*?)\nin chain: (?P<got>.*)`, "another error",
		"the error $wanted, or one that wraps it", "$got"),
	says(`Should be in error chain:\nexpected: (?P<wanted>.*?)\nin chain: (?P<got>.*)`, "another error",
		"an error of type $wanted, or one that wraps it", "$got"),
	says(`Target error should not be in err chain:\nfound: (?P<found>.*?)\nin chain: (?P<got>.*)`, "an error that must not be",
		"no error that is or wraps $found", "$got"),
	says(`Error (?P<got>.*) does not contain (?P<wanted>.*)`, "another error", "an error that says $wanted", "$got"),

	says(`"(?P<list>.*)" should have (?P<n>\d+) item\(s\), but has (?P<got>\d+)`, "wrong number of elements", "$n elements", "$got: $list"),
	says(`Should be empty, but was (?P<got>.*)`, "not empty", "nothing", "$got"),
	says(`Should NOT be empty, but was (?P<got>.*)`, "empty", "at least one element", "$got"),
	says(`(?P<got>.*) does not contain (?P<wanted>.*)`, "not contained", "one with $wanted", "$got"),
	says(`(?P<got>.*) should not contain (?P<wanted>.*)`, "contained", "one without $wanted", "$got"),
	says(`(?P<wanted>.*) is a subset of (?P<got>.*)`, "a subset", "something without $wanted", "$got"),

	says(`Expected nil, but got: (?P<got>.*)`, "not nil", "nil", ""),
	says(`Expected value not to be nil\.`, "nil", "a value, not nil", "nil"),
	says(`Should be true`, "not true", "true", "false"),
	says(`Should be false`, "not false", "false", "true"),
	says(`Should be zero, but was (?P<got>.*)`, "not zero", "the zero value", "$got"),
	says(`Should not be zero, but was (?P<got>.*)`, "zero", "anything but the zero value", "$got"),
	says(`"(?P<got>.*)" is not (?P<wanted>(?:greater|less) than(?: or equal to)? ".*")`, "out of range", "$wanted", "$got"),
	says(`"(?P<got>.*)" is not (?P<wanted>positive|negative)`, "out of range", "$wanted", "$got"),
	says(`Max difference between (?P<wanted>.*) and (?P<got>.*) allowed is (?P<delta>.*), but difference was (?P<off>.*)`,
		"too far off", "$wanted, give or take $delta", "$got, which is $off off"),
	says(`Object expected to be of type (?P<wanted>.*), but was (?P<got>.*)`, "another type", "$wanted", "$got"),
	says(`(?P<got>.*) must implement (?P<wanted>.*)`, "not implemented", "$wanted", "$got"),
	says(`Expect "(?P<got>.*)" to match "(?P<wanted>.*)"`, "no match", "a match of $wanted", "$got"),
	says(`Expect "(?P<got>.*)" to NOT match "(?P<wanted>.*)"`, "a match", "no match of $wanted", "$got"),

	says(`func \S+ should panic\n\tPanic value:\t.*`, "no panic", "a panic", "the function returned"),
	says(`func \S+ should panic with value:\t(?P<wanted>[^\n]*)\n\tPanic value:\t(?P<got>[^\n]*)\n.*`, "another panic", "", ""),
	says(`func \S+ should not panic\n\tPanic value:\t(?P<got>.*?)\n\tPanic stack:\t.*`, "panic: $got", "no panic", "panic: $got"),
	says(`Condition never satisfied`, "never so", "the condition becomes true in time", "it never did"),
	says(`Condition satisfied`, "it happened", "the condition never becomes true", "it did"),
	says(`Condition failed!`, "not so", "the condition holds", "it does not"),
}

// fromAssertion lays out what an assertion says.
func fromAssertion(text string) failure {
	if f, ok := elementsDiffer(text); ok {
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
			return string(a.pattern.ExpandString(nil, template, text, m))
		}
		f := failure{title: part(a.title, ""), wanted: part(a.wanted, "wanted"), got: part(a.got, "got"), diff: part("", "diff")}
		f.fit()
		return f
	}
	return failure{title: "not so", wanted: "what the assertion on this line says", got: text}
}

// fit keeps a failure readable: a diff only for values that are long or have several lines, and of long values only
// what is around their first difference.
func (f *failure) fit() {
	long := func(s string) bool { return len(s) > textWide || strings.Contains(s, `\n`) }
	if !long(f.wanted) && !long(f.got) {
		f.diff = ""
		return
	}
	if f.diff != "" {
		f.diff = "- wanted, + got\n" + capLines(cutDiff(f.diff), diffLines)
	}
	f.wanted, f.got = apart(f.wanted, f.got)
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
	if len(runes) <= textWide {
		return line
	}
	if from > 0 && len(runes)-from < textWide {
		from = len(runes) - textWide
	}
	cut := shorten(string(runes[from:]), textWide)
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

var listsDiffer = regexp.MustCompile(`(?s)^elements differ(?:\n\nextra elements in list A:\n(.*?))?(?:\n\nextra elements in list B:\n(.*?))?\n\nlistA:\n(.*?)\n\nlistB:\n(.*)$`)

// elementsDiffer reads what ElementsMatch says, which dumps up to four lists.
func elementsDiffer(text string) (f failure, ok bool) {
	m := listsDiffer.FindStringSubmatch(text)
	if m == nil {
		return f, false
	}
	f = failure{title: "elements differ", wanted: elements(m[3]) + ", in any order", got: elements(m[4])}
	if m[1] != "" {
		f.got += "\nmissing: " + elements(m[1])
	}
	if m[2] != "" {
		f.got += "\ntoo many: " + elements(m[2])
	}
	f.got = capLines(f.got, diffLines)
	return f, true
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
