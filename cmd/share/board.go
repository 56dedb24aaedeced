package main

// This file is the instructor's board: where the learners are who said yes. It is in memory only, so it is forgotten
// when share ends. boardserver.go is its HTTP side.

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/workspace/report"
)

const (
	mostLearners = 200
	// awayAfter is the time without a report after which a learner is away: the time at the task stands still.
	awayAfter = 3*report.Every + 5*time.Second
	// forgottenAfter is the time without a report after which a learner is not on the board any more.
	forgottenAfter = 2 * time.Hour
	// longAtARule is the time with the same failing rule after which a learner may need help.
	longAtARule = 15 * time.Minute
	// fewestOfARule is how many learners a rule needs before it is shown without names.
	fewestOfARule = 2
)

// board is where the learners are.
type board struct {
	chapters []course.Chapter
	letters  map[string]string // the letters of a chapter's tests, by its folder; see newBoard

	mu       sync.Mutex
	learners map[string]*learner // by report.Report.ID
}

// learner is the last report of a learner, and the board's own clocks. The learner's machine sends no times.
type learner struct {
	report.Report
	task           course.Task   // of the report; zero if no task is left
	atTask, atRule time.Duration // with the live view open, up to the last report
	last           time.Time     // of the last report
}

// newBoard returns an empty board for the workshop at root. It shows a rule only if the chapter's tests have it, letter
// by letter, so nothing that a learner wrote can appear as a rule.
func newBoard(root string) (*board, error) {
	chapters, err := course.All(root)
	if err != nil {
		return nil, err
	}
	b := &board{chapters: chapters, letters: map[string]string{}, learners: map[string]*learner{}}
	for _, c := range chapters {
		files, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(c.Dir), "*_test.go")) // the pattern is well-formed
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read the rules of %s: %w", c.Dir, err)
			}
			all.WriteString(letters(string(text)) + " ")
		}
		b.letters[c.Dir] = all.String()
	}
	return b, nil
}

// letters returns the letters and digits of a text. Texts that are split over several lines of Go have the same ones.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// errFull is the error of receive if the board has no place for another learner.
var errFull = errors.New("the board is full")

// receive stores a report that report.Read has checked, if it is of a task of the course.
func (b *board) receive(r report.Report) error {
	var task course.Task
	if i := slices.IndexFunc(b.chapters, func(c course.Chapter) bool { return c.Dir == r.Chapter }); i >= 0 {
		task, _ = b.chapters[i].Task(r.Task)
	}
	if r.Task != task.Number {
		return fmt.Errorf("this board has no task %d of %.40q: is your clone at the instructor's commit?", r.Task, r.Chapter)
	}
	if len(letters(r.Rule)) < 20 || !strings.Contains(b.letters[r.Chapter], letters(r.Rule)) {
		r.Rule = ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.forget(now)
	l := b.learners[r.ID]
	if l == nil {
		if len(b.learners) >= mostLearners {
			return errFull
		}
		l = &learner{Report: r, last: now}
		b.learners[r.ID] = l
	}
	atTask, atRule := l.times(now)
	if l.Chapter != r.Chapter || l.Task != r.Task {
		atTask, atRule = 0, 0
	}
	if l.Rule != r.Rule || r.Rule == "" {
		atRule = 0
	}
	*l = learner{Report: r, task: task, atTask: atTask, atRule: atRule, last: now}
	return nil
}

// remove forgets the learner of a report. It returns nil.
func (b *board) remove(r report.Report) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.learners, r.ID)
	return nil
}

// forget removes learners who have been away for long; on a full board, the one who has been away longest.
func (b *board) forget(now time.Time) {
	oldest := ""
	for id, l := range b.learners {
		if now.Sub(l.last) > forgottenAfter {
			delete(b.learners, id)
		} else if l.away(now) && (oldest == "" || l.last.Before(b.learners[oldest].last)) {
			oldest = id
		}
	}
	if len(b.learners) >= mostLearners {
		delete(b.learners, oldest)
	}
}

func (l *learner) away(now time.Time) bool { return now.Sub(l.last) > awayAfter }

// times returns how long the learner has been at the task and at the rule.
func (l *learner) times(now time.Time) (atTask, atRule time.Duration) {
	if l.away(now) {
		return l.atTask, l.atRule
	}
	return l.atTask + now.Sub(l.last), l.atRule + now.Sub(l.last)
}

// view is what a page shows.
type view struct {
	Names  bool      `json:"names"` // whether it has the rows
	People int       `json:"people"`
	Away   int       `json:"away"`
	Done   int       `json:"done"`
	Places []atPlace `json:"places"` // the tasks with learners who are not away, in the order of the course
	Rules  []atRule  `json:"rules"`  // the rules that the last failures named, the most frequent first
	Rows   []row     `json:"rows,omitempty"`
}

type atPlace struct {
	Chapter string `json:"chapter"`
	Task    int    `json:"task"`
	Title   string `json:"title"`
	People  int    `json:"people"`
}

type atRule struct {
	Rule   string `json:"rule"`
	People int    `json:"people"`
}

// row is a learner on the instructor's page.
type row struct {
	Name        string `json:"name"`
	Chapter     string `json:"chapter"`
	Task        int    `json:"task"` // 0 if no task is left
	Title       string `json:"title"`
	Minutes     int    `json:"minutes"` // at the task
	Planned     int    `json:"planned"` // for the task
	Hints       int    `json:"hints"`
	Rule        string `json:"rule"`
	RuleMinutes int    `json:"ruleMinutes"` // that Rule has been failing
	Long        bool   `json:"long"`        // longer than the task is planned, or than longAtARule
	Away        bool   `json:"away"`
	score       float64
}

// look returns the view, with names or without. Without names, a rule needs two learners.
func (b *board) look(names bool) view {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	v := view{Names: names, Places: []atPlace{}, Rules: []atRule{}}
	rules, tasks := map[string]int{}, map[string]int{} // tasks by their ID
	for _, l := range b.learners {
		r := l.row(now)
		v.Rows = append(v.Rows, r)
		v.People++
		switch {
		case r.Away:
			v.Away++
		case r.Task == 0:
			v.Done++
		default:
			tasks[l.task.ID]++
			rules[r.Rule]++
		}
	}
	for _, c := range b.chapters {
		for _, t := range c.Tasks {
			if n := tasks[t.ID]; n > 0 {
				v.Places = append(v.Places, atPlace{c.Dir, t.Number, t.Title, n})
			}
		}
	}
	for rule, n := range rules {
		if rule != "" && n >= fewestOfARule {
			v.Rules = append(v.Rules, atRule{rule, n})
		}
	}
	slices.SortFunc(v.Rules, func(a, b atRule) int {
		return cmp.Or(cmp.Compare(b.People, a.People), cmp.Compare(a.Rule, b.Rule))
	})
	slices.SortFunc(v.Rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Name, b.Name))
	})
	if !names {
		v.Rows = nil
	}
	return v
}

// row returns a learner's row. The score is 1 or more if the learner has been there for long,
// and negative if the learner has finished or is away.
func (l *learner) row(now time.Time) row {
	atTask, atRule := l.times(now)
	r := row{Name: l.Name, Chapter: l.Chapter, Task: l.Task, Title: l.task.Title, Minutes: int(atTask.Minutes()),
		Planned: l.task.Minutes, Hints: l.Hints, Rule: l.Rule, RuleMinutes: int(atRule.Minutes()), Away: l.away(now)}
	switch {
	case r.Away:
		r.score = -2
	case r.Planned == 0:
		r.score = -1
	default:
		r.score = max(atTask.Minutes()/float64(r.Planned), atRule.Seconds()/longAtARule.Seconds())
	}
	r.Long = r.score >= 1
	return r
}
