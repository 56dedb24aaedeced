package verify

// This file checks what a learner meets after a chapter: the game, and the answers to the questions.

import (
	"path/filepath"
	"regexp"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
)

// game checks the list of the game's wrong versions.
func (r *run) game() []string {
	dir := filepath.Join(r.root, r.chapter.Solution())
	set, err := bugs.Load(dir)
	if err != nil {
		return nil // reported with the set
	}
	return bugs.GameProblems(dir, bugs.WithoutBonus(r.chapter, set))
}

// sentence is two words or more that end in a full stop, a question mark or an exclamation mark.
var sentence = regexp.MustCompile(`\S\s+\S[^.!?]*[.!?]`)

// answers checks that every question of the chapter has an answer of at least one sentence.
func (r *run) answers() []string {
	var p problems
	for _, q := range must(course.Questions(r.root, r.chapter)) {
		if !sentence.MatchString(q.Answer) {
			p.add("%s/README.md:%d: the question has no answer; below it belongs an indented "+
				"<details><summary>Answer</summary> … </details> with a sentence or more", r.chapter.Dir, q.Line)
		}
	}
	return p
}
