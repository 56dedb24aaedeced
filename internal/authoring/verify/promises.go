package verify

// This file reads promises: the sentences of a contract or of a doc comment, as a Go author writes them. The rules of
// the tests stand alone, and a comment does not. Its sentences say "it" for the function, share a condition, are joined
// by "and", or are the items of a list:
//
//	If a name is taken, Add returns an error. It then adds none of them.
//
// A rule says the second sentence if it begins with all of its words, in any order, and with no others than those of
// the sentences before it and the function's name: "If a name is taken, Add adds none of them", "Add adds none of them
// if a name is taken".

import (
	"go/doc/comment"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"client-go-workshop/internal/course"
)

// promise is a sentence that callers rely on, or an item of a list.
type promise struct {
	where  string // file and line
	text   string // without its full stop
	around string // the function's name, the beginning of the list, and the sentences before it in the paragraph
}

// promisesIn returns the sentences of a doc comment, but for code and for the sentence that says what the code mirrors.
// name is that of the function.
func promisesIn(where, name, doc string) (all []promise) {
	first := promise{where: where, around: name}
	lead := ""
	for _, block := range new(comment.Parser).Parse(doc).Content {
		switch b := block.(type) {
		case *comment.Paragraph:
			all, lead = append(all, first.sentences(textOf(b))...), textOf(b)
		case *comment.List:
			item := first
			if n := len(all); strings.HasSuffix(lead, ":") && n > 0 { // its last sentence begins each item
				item.around += " " + all[n-1].text
				all = all[:n-1]
			}
			for _, i := range b.Items {
				for _, part := range i.Content {
					all = append(all, item.sentences(textOf(part.(*comment.Paragraph)))...)
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

var (
	sentenceEnd = regexp.MustCompile(`[.!?]\)? +[^a-z]`)
	mirrors     = regexp.MustCompile(`^(?:\S+ mirrors|Mirrors) `) // the sentence that names the symbol of client-go
	aside       = regexp.MustCompile(` \([^)]*\)`)
	// joints are where a sentence may be two, unless what is before them is only a condition.
	joints        = regexp.MustCompile(`(?:;|,)? (?:and|but|so) |; |: |, `)
	onlyCondition = regexp.MustCompile(`(?i)^(?:(?:even|only) )?(?:if|when|whenever|while|after|before|until|unless|for|` +
		`without|with|in|on|once|during|between|as long as)\b[^,]*$`)
)

// sentences returns the promises of a paragraph. Each may repeat words of those before it.
func (p promise) sentences(paragraph string) (all []promise) {
	for paragraph != "" {
		sentence := paragraph
		if at := sentenceEnd.FindStringIndex(paragraph); at != nil {
			sentence = paragraph[:at[1]-1]
		}
		paragraph = paragraph[len(sentence):]
		p.text = strings.TrimRight(sentence, ".: ")
		if p.text != "" && !mirrors.MatchString(p.text) {
			all = append(all, p)
		}
		p.around += " " + p.text
	}
	return all
}

// plain returns a text on one line, without the marks of Markdown.
func plain(text string) string {
	text = strings.NewReplacer("`", "", "*", "", "[", "", "]", "").Replace(course.PlainLinks(text))
	return strings.Join(strings.Fields(text), " ")
}

// isSaid reports whether a rule begins with the words of a text, which is the promise or a part of it. What is in
// parentheses need not be in the rule.
func (p promise) isSaid(text string, rules []string) bool {
	needed, known := wordSet(aside.ReplaceAllString(text, "")), wordSet(p.text+" "+p.around)
	return len(needed) > 0 && slices.ContainsFunc(rules, func(rule string) bool {
		missing := maps.Clone(needed)
		for _, word := range wordsOf(rule) {
			if !known[word] {
				return false
			}
			if delete(missing, word); len(missing) == 0 {
				return true
			}
		}
		return false
	})
}

// free are the words that a sentence needs because of those around it.
var free = strings.Fields("it they this these its their that the a an then so but and therefore otherwise also if")

// wordsOf returns the words of a text in lower case, without those that are free.
func wordsOf(text string) []string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	})
	return slices.DeleteFunc(all, func(word string) bool { return slices.Contains(free, word) })
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range wordsOf(text) {
		set[word] = true
	}
	return set
}

// begins reports whether a rule begins with a text, whatever the case of the letters.
func begins(rule, text string) bool {
	if len(rule) < len(text) || !strings.EqualFold(rule[:len(text)], text) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rule[len(text):])
	return !unicode.IsLetter(next) && !unicode.IsDigit(next)
}
