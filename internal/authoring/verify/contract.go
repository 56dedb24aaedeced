package verify

// This file checks that the chapter keeps its word. A promise is a sentence of the contract in the README, or of the
// doc comment of a function that the learner writes. The rule of a test has to begin with it, and a wrong version has
// to fail with a rule that does. So the contract, the test and the failure say the same words.
//
// Where they cannot, the solution's folder has a table, promises.txt.

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
)

// Promises is the table, in a solution's folder, of promises that no rule begins with. A line is one of
//
//	BEGINNING OF A PROMISE => BEGINNING OF A RULE
//	BEGINNING OF A PROMISE => none: REASON
const Promises = "promises.txt"

// promise is a sentence that callers rely on.
type promise struct {
	where string // file and line
	text  string // without its full stop
	rule  string // the beginning of the rules that stand for it; empty if it needs none
}

func contract(r *run) (string, []string) {
	promises, err := r.promises()
	if err != nil {
		return "", []string{err.Error()}
	}
	rules, err := rulesIn(filepath.Join(r.root, r.chapter.Dir))
	if err != nil {
		return "", []string{err.Error()}
	}
	exceptions, err := readPromises(filepath.Join(r.root, r.chapter.Solution(), Promises))
	if err != nil {
		return "", []string{err.Error()}
	}
	var p problems
	promises = p.translate(promises, exceptions)
	for _, promise := range promises {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(rules)), promise.isKeptBy) {
			p.add("%s: no test has a rule that begins with %q", promise.where, promise.rule)
		}
	}
	if p != nil {
		return fmt.Sprintf("%d promises; the wrong versions were not asked", len(promises)), p
	}
	bank, problems := r.runBugs()
	if problems != nil {
		return "", problems
	}
	failed := r.rulesThatFailed(bank, rules)
	for _, promise := range promises {
		if !slices.ContainsFunc(failed, promise.isKeptBy) {
			p.add("%s: no wrong version fails with a rule that begins with %q", promise.where, promise.rule)
		}
	}
	return fmt.Sprintf("%d promises, each with a test and a wrong version", len(promises)), p
}

// isKeptBy reports whether a rule begins with the promise.
func (p promise) isKeptBy(rule string) bool {
	rest, ok := strings.CutPrefix(plain(rule), p.rule)
	next, _ := utf8.DecodeRuneInString(rest)
	return ok && !unicode.IsLetter(next) && !unicode.IsDigit(next)
}

// promises returns the sentences of the chapter's contract and of the comments of its holes.
func (r *run) promises() (all []promise, err error) {
	points, err := course.Contract(r.root, r.chapter)
	if err != nil {
		return nil, err
	}
	for _, point := range points {
		all = append(all, promisesIn(fmt.Sprintf("%s/README.md:%d", r.chapter.Dir, point.Line), point.Text)...)
	}
	solution, err := r.solution()
	if err != nil {
		return nil, err
	}
	for _, f := range solution.Files {
		holes, err := stub.Holes(f.Name, f.Content)
		if err != nil {
			return nil, err
		}
		for _, h := range holes {
			where := fmt.Sprintf("%s/%s:%d (%s)", r.chapter.Solution(), f.Name, h.Line, h.Symbol)
			all = append(all, promisesIn(where, h.Doc)...)
		}
	}
	return all, nil
}

var sentenceEnd = regexp.MustCompile(`[.!?]\)? +[^a-z]`)

// promisesIn returns the sentences of a text, but for code and for the one that says what the code mirrors.
func promisesIn(where, text string) (all []promise) {
	var prose []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "    ") {
			prose = append(prose, strings.TrimRight(line, "\n"))
		}
	}
	for paragraph := range strings.SplitSeq(strings.Join(prose, "\n"), "\n\n") {
		paragraph = plain(paragraph)
		for paragraph != "" {
			sentence := paragraph
			if at := sentenceEnd.FindStringIndex(paragraph); at != nil {
				sentence = paragraph[:at[1]-1]
			}
			paragraph = paragraph[len(sentence):]
			sentence = strings.TrimRight(sentence, ". ")
			if sentence != "" && !strings.HasPrefix(sentence, "Mirrors ") && !strings.HasPrefix(sentence, "It mirrors ") {
				all = append(all, promise{where, sentence, sentence})
			}
		}
	}
	return all
}

// plain returns a text on one line, without the marks of Markdown.
func plain(text string) string {
	text = strings.NewReplacer("`", "", "*", "").Replace(course.PlainLinks(text))
	return strings.Join(strings.Fields(text), " ")
}

// exception is a line of the table.
type exception struct {
	line               int
	promise, rule, why string
}

func readPromises(path string) (all []exception, err error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		promise, rule, ok := strings.Cut(line, " => ")
		why, none := strings.CutPrefix(rule, "none:")
		if !ok || strings.TrimSpace(rule) == "" || none && strings.TrimSpace(why) == "" {
			return nil, fmt.Errorf("%s:%d: %q is not \"PROMISE => RULE\" or \"PROMISE => none: REASON\"", path, number, line)
		}
		e := exception{line: number, promise: plain(promise)}
		if none {
			e.why = why
		} else {
			e.rule = strings.TrimRight(plain(rule), ".")
		}
		all = append(all, e)
	}
	return all, nil
}

// translate gives promises the rules that the table has for them, and leaves out those that need none.
func (p *problems) translate(promises []promise, table []exception) (kept []promise) {
	used := map[int]bool{}
	for _, promise := range promises {
		i := slices.IndexFunc(table, func(e exception) bool { return strings.HasPrefix(promise.text, e.promise) })
		if i >= 0 {
			used[i] = true
			promise.rule = table[i].rule
		}
		if promise.rule != "" {
			kept = append(kept, promise)
		}
	}
	for i, e := range table {
		if !used[i] {
			p.add("%s:%d: no promise begins with %q", Promises, e.line, e.promise)
		}
	}
	return kept
}

// rulesIn returns what may be rules in the tests of a folder, and for each the functions that name it: all constant
// strings of three words or more, also if they use constants of the package. Which of them are rules shows when wrong
// versions fail.
func rulesIn(dir string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	var trees []*ast.File
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read the rules of the tests: %w", err)
		}
		trees = append(trees, tree)
	}
	named := constantsOf(trees)
	rules := map[string][]string{}
	for _, tree := range trees {
		for _, decl := range tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			for n := range ast.Preorder(f) {
				e, isExpr := n.(ast.Expr)
				if text, ok := named.value(e); isExpr && ok && strings.Count(text, " ") >= 2 {
					rules[text] = append(rules[text], f.Name.Name)
				}
			}
		}
	}
	return rules, nil
}

// constants are the values of a package's constants that are text.
type constants map[string]string

// constantsOf returns the constants that files declare outside of functions. One that is made of another comes after
// it.
func constantsOf(trees []*ast.File) constants {
	c := constants{}
	for _, tree := range trees {
		for _, decl := range tree.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				s := spec.(*ast.ValueSpec)
				for i, value := range s.Values {
					if text, ok := c.value(value); ok {
						c[s.Names[i].Name] = text
					}
				}
			}
		}
	}
	return c
}

// value returns the text of an expression that is made of literals and constants.
func (c constants) value(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.value(e.X)
	case *ast.Ident:
		text, ok := c[e.Name]
		return text, ok
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, ok := c.value(e.X)
		right, also := c.value(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	}
	return "", false
}

// rulesThatFailed returns the rules with which wrong versions fail. A wrong version that could not be run, because it
// needs the race detector, counts for the rules of its test.
func (r *run) rulesThatFailed(bank bugs.Bank, rules map[string][]string) (failed []string) {
	for _, b := range bank.Bugs {
		res, ran := r.caught.runs[b.Name]
		if !ran {
			for rule, tests := range rules {
				if slices.Contains(tests, b.Test) {
					failed = append(failed, rule)
				}
			}
		}
		for _, t := range res.Tests {
			if t.Status != gotest.Failed {
				continue
			}
			for _, f := range t.Failures {
				failed = append(failed, f.Rule, f.Why)
			}
		}
	}
	return failed
}
