package verify

// This file reads promises: the sentences of a contract or of a doc comment, as a Go author writes them. The rules of
// the tests stand alone, and a comment does not. Its sentences say "it" for the function, share a condition, are joined
// by "and", or are the items of a list. So a promise has several readings, each of which could be a rule:
//
//	If a name is taken, Add returns an error. It then adds none of them.
//
// The second sentence can be read as "Add adds none of them", "If a name is taken, Add adds none of them", and "Add
// adds none of them if a name is taken". A test has to be named for one of them.
//
// A reading need not be good English, because it is only compared with rules that people wrote.

import (
	"go/doc/comment"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"client-go-workshop/internal/course"
)

// promise is a sentence that callers rely on, or an item of a list.
type promise struct {
	where      string   // file and line
	text       string   // without its full stop
	lead       string   // of a list, without its colon; empty if the promise is not an item
	subjects   []string // what a pronoun may stand for: the function's name, and the beginning of the sentence before
	conditions []string // those of the sentences before, in the same paragraph
}

// promisesIn returns the sentences of a doc comment, but for code and for the sentence that says what the code mirrors.
// name is that of the function, or empty.
func promisesIn(where, name, doc string) (all []promise) {
	blocks := new(comment.Parser).Parse(doc).Content
	first := promise{where: where, subjects: []string{name}}
	for i, block := range blocks {
		switch b := block.(type) {
		case *comment.Paragraph:
			text := textOf(b)
			first.lead = ""
			if i+1 < len(blocks) && isList(blocks[i+1]) {
				text, first.lead = cutLead(text)
			}
			all = appendSentences(all, promise{where: where, subjects: []string{name}}, text)
		case *comment.List:
			for _, item := range b.Items {
				for _, part := range item.Content {
					all = appendSentences(all, first, textOf(part.(*comment.Paragraph)))
				}
			}
		}
	}
	return all
}

// textOf returns the text of a paragraph on one line.
func textOf(p *comment.Paragraph) string {
	text := (&comment.Printer{TextWidth: -1}).Text(&comment.Doc{Content: []comment.Block{p}})
	return plain(string(text))
}

var sentenceEnd = regexp.MustCompile(`[.!?]\)? +[^a-z]`)

func isList(b comment.Block) bool {
	_, ok := b.(*comment.List)
	return ok
}

// cutLead cuts off the lead of a list: the last sentence of the paragraph before it, if it ends in a colon.
func cutLead(paragraph string) (rest, lead string) {
	text, ok := strings.CutSuffix(paragraph, ":")
	if !ok {
		return paragraph, ""
	}
	at := 0
	for _, end := range sentenceEnd.FindAllStringIndex(text, -1) {
		at = end[1] - 1
	}
	return text[:at], text[at:]
}

// appendSentences appends the promises of a paragraph to all. The first is like first, but for its text. The others
// also take subjects and conditions from the sentences before them.
func appendSentences(all []promise, first promise, paragraph string) []promise {
	next := first
	for paragraph != "" {
		sentence := paragraph
		if at := sentenceEnd.FindStringIndex(paragraph); at != nil {
			sentence = paragraph[:at[1]-1]
		}
		paragraph = paragraph[len(sentence):]
		next.text = strings.TrimRight(sentence, ".: ")
		if next.text != "" && !mirrors.MatchString(next.text) {
			all = append(all, next)
		}
		next.conditions = slices.Concat(next.conditions, conditionsOf(next.text))
		next.subjects = slices.Concat(first.subjects, beginnings(next.text))
		next.lead = ""
	}
	return all
}

// mirrors matches the sentence that names the symbol of client-go.
var mirrors = regexp.MustCompile(`^(?:\S+ mirrors|Mirrors) `)

// plain returns a text on one line, without the marks of Markdown.
func plain(text string) string {
	text = strings.NewReplacer("`", "", "*", "", "[", "", "]", "").Replace(course.PlainLinks(text))
	return strings.Join(strings.Fields(text), " ")
}

// isIn reports whether each part of the promise is one of the statements that has knows: the whole promise, or all the
// parts that "and" joins.
func (p promise) isIn(has func(reading string) bool) bool {
	return p.holds(p.text, p.subjects, p.conditions, has)
}

// joints are where a sentence may be two.
var joints = regexp.MustCompile(`(?:;|,)? (?:and|but|so) |; |: |, `)

// likewise is the second part of "An unknown index is an error, and so is an index function that fails".
var likewise = regexp.MustCompile(`^so (?:is|are|does|do) (.+)$`)

func (p promise) holds(text string, subjects, conditions []string, has func(string) bool) bool {
	if slices.ContainsFunc(p.readings(text, subjects, conditions), has) {
		return true
	}
	for _, at := range joints.FindAllStringIndex(text, -1) {
		left, right := text[:at[0]], text[at[1]:]
		if strings.Count(left, " ") < 1 || strings.Count(right, " ") < 1 || onlyCondition(left) {
			continue
		}
		after := slices.Concat(conditions, conditionsOf(left))
		rightHolds := p.holds(right, slices.Concat(subjects, beginnings(left)), after, has)
		if m := likewise.FindStringSubmatch(right); m != nil {
			for _, predicate := range endings(left) {
				said := m[1] + " " + predicate
				rightHolds = rightHolds || slices.ContainsFunc(p.readings(said, subjects, after), has)
			}
		}
		if rightHolds && p.holds(left, subjects, slices.Concat(conditions, conditionsOf(right)), has) {
			return true
		}
	}
	return false
}

// onlyCondition reports whether a text is a condition, without what follows from it.
func onlyCondition(text string) bool {
	return condition.MatchString(text+", ") && !strings.Contains(text, ",")
}

// parts returns the promise cut at each place where it may be two, for a report.
func (p promise) parts() []string { return joints.Split(p.text, -1) }

var (
	// condition is what a sentence may begin with, and lastCondition what it may end with.
	condition = regexp.MustCompile(`(?i)^((?:even |only )?(?:if|when|whenever|while|after|before|until|unless|for|` +
		`without|with|in|on|once|during|between|as long as)\b[^,]*), `)
	lastCondition = regexp.MustCompile(`(?i),? ((?:even |only )?(?:if|when|whenever|while|after|before|until|unless|` +
		`once|during|as long as)\b[^,]*)$`)
	pronoun = regexp.MustCompile(`(?i)\b(?:it|they|this|these)\b`)
	aside   = regexp.MustCompile(` \([^)]*\)`)
	its     = regexp.MustCompile(`(?i)(^|, )(its|their|this|that) `)
	filler  = regexp.MustCompile(`(?i)^(?:so|then|but|and|therefore|otherwise|also),? | (?:then|also|therefore)\b`)
)

// conditionsOf returns the condition with which a text begins, and the one with which it ends.
func conditionsOf(text string) (all []string) {
	for _, pattern := range []*regexp.Regexp{condition, lastCondition} {
		if m := pattern.FindStringSubmatch(text); m != nil {
			all = append(all, m[1])
		}
	}
	return all
}

// longestSubject is the number of words that a sentence's subject or predicate may have.
const longestSubject = 8

// beginnings returns what may be the subject of a sentence: its first word, its first two words, and so on.
func beginnings(text string) (all []string) {
	words := strings.Fields(condition.ReplaceAllString(text, ""))
	for n := 1; n < len(words) && n <= longestSubject; n++ {
		all = append(all, strings.Join(words[:n], " "))
	}
	return all
}

// endings returns what may be the predicate of a sentence: its last word, its last two words, and so on.
func endings(text string) (all []string) {
	words := strings.Fields(text)
	for n := 1; n < len(words) && n <= longestSubject; n++ {
		all = append(all, strings.Join(words[len(words)-n:], " "))
	}
	return all
}

// readings returns what a text may mean that has one of the subjects and may have one of the conditions.
func (p promise) readings(text string, subjects, conditions []string) []string {
	all := []string{text, filler.ReplaceAllString(text, ""), aside.ReplaceAllString(text, "")}
	if p.lead != "" {
		all = append(all, p.lead+" "+text)
		if at := lastCase.FindStringIndex(p.lead); at != nil {
			all = append(all, p.lead[:at[0]]+" if "+text, "if "+text+", "+p.lead[:at[0]])
		}
	}
	for _, s := range all {
		all = append(all, its.ReplaceAllString(s, "${1}the "))
		for _, subject := range subjects {
			if at := pronoun.FindStringIndex(s); at != nil {
				all = append(all, s[:at[0]]+subject+s[at[1]:])
			}
			all = append(all, subject+" "+s)
		}
	}
	for _, s := range all {
		if m := condition.FindStringSubmatch(s); m != nil {
			all = append(all, s[len(m[0]):]+" "+m[1])
			continue
		}
		if m := lastCondition.FindStringSubmatch(s); m != nil {
			all = append(all, m[1]+", "+strings.TrimSuffix(s, m[0]))
		}
		for _, c := range conditions {
			all = append(all, c+", "+s, s+" "+c)
		}
	}
	return all
}

// lastCase is the end of a lead whose items are conditions: "Do sends the request again if:", "… in these cases:".
var lastCase = regexp.MustCompile(` (?:if|when|in \w+ cases?|in \w+ of these cases)$`)

// begins reports whether a rule begins with a text, whatever the case of the letters.
func begins(rule, text string) bool {
	if len(rule) < len(text) || !strings.EqualFold(rule[:len(text)], text) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rule[len(text):])
	return !unicode.IsLetter(next) && !unicode.IsDigit(next)
}
