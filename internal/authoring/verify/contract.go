package verify

// This file checks that the chapter keeps its promises. A promise is a sentence of the contract in the README, or of
// the doc comment of a function that the learner writes (promises.go). The rule of a test has to begin with one reading
// of it, and a wrong version has to fail with a rule that does. So the contract, the test and the failure say the same.
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
	"slices"
	"strconv"
	"strings"

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

// contract checks the promises twice: each is the rule of a test, and a wrong version fails with that rule.
func contract(r *run) (string, []string) {
	promises, err := r.promises()
	if err != nil {
		return "", []string{err.Error()}
	}
	rules, err := rulesIn(filepath.Join(r.root, r.chapter.Dir))
	if err != nil {
		return "", []string{err.Error()}
	}
	table, err := readPromises(filepath.Join(r.root, r.chapter.Solution(), Promises))
	if err != nil {
		return "", []string{err.Error()}
	}
	var p problems
	tested := keeper{rules: slices.Collect(maps.Keys(rules)), table: table, used: map[int]bool{}}
	for _, promise := range promises {
		if !promise.isIn(tested.has) {
			p.add("%s: no test has a rule that begins with %s", promise.where, tested.missing(promise))
		}
	}
	for _, e := range table {
		if !tested.used[e.line] {
			p.add("%s:%d: no promise begins with %q", Promises, e.line, e.promise)
		}
	}
	if p != nil {
		return fmt.Sprintf("%d promises; the wrong versions were not asked", len(promises)), p
	}
	set, problems := r.runBugs()
	if problems != nil {
		return "", problems
	}
	caught := keeper{rules: r.rulesThatFailed(set, rules), table: table, used: map[int]bool{}}
	for _, promise := range promises {
		if !promise.isIn(caught.has) {
			p.add("%s: no wrong version fails with a rule that begins with %s", promise.where, caught.missing(promise))
		}
	}
	return fmt.Sprintf("%d promises, each with a test and a wrong version", len(promises)), p
}

// keeper knows which promises are kept: those that are the beginning of a rule, and those that the table answers for.
type keeper struct {
	rules []string
	table []exception
	used  map[int]bool // the lines of the table that were needed
}

// has reports whether a rule begins with one reading of a promise, or with what the table has for it.
func (k keeper) has(reading string) bool {
	for _, e := range k.table {
		if !begins(reading, e.promise) {
			continue
		}
		k.used[e.line] = true
		if e.rule == "" || k.isRule(e.rule) {
			return true
		}
	}
	return k.isRule(reading)
}

func (k keeper) isRule(text string) bool {
	return slices.ContainsFunc(k.rules, func(rule string) bool { return begins(rule, text) })
}

// missing names the promise for a report, with its parts that no rule begins with if it has several.
func (k keeper) missing(p promise) string {
	text := strconv.Quote(p.text)
	var parts []string
	for _, part := range p.parts() {
		if !p.holds(part, p.subjects, p.conditions, k.has) {
			parts = append(parts, strconv.Quote(part))
		}
	}
	if len(p.parts()) > 1 {
		text += ", nor one with " + strings.Join(parts, ", ")
	}
	return text
}

// promises returns the sentences of the chapter's contract and of the comments of its todos.
func (r *run) promises() (all []promise, err error) {
	points, err := course.Contract(r.root, r.chapter)
	if err != nil {
		return nil, err
	}
	for _, point := range points {
		where := fmt.Sprintf("%s/README.md:%d", r.chapter.Dir, point.Line)
		all = appendSentences(all, promise{where: where}, plain(point.Text))
	}
	solution, err := r.solution()
	if err != nil {
		return nil, err
	}
	for _, f := range solution.Files {
		todos, err := stub.Todos(f.Name, f.Content)
		if err != nil {
			return nil, err
		}
		for _, h := range todos {
			where := fmt.Sprintf("%s/%s:%d (%s)", r.chapter.Solution(), f.Name, h.Line, h.Symbol)
			all = append(all, promisesIn(where, h.Symbol[strings.LastIndex(h.Symbol, ".")+1:], h.Doc)...)
		}
	}
	return all, nil
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
					text = plain(text)
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
func (r *run) rulesThatFailed(set bugs.Set, rules map[string][]string) (failed []string) {
	for _, b := range set.Bugs {
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
				failed = append(failed, plain(f.Rule), plain(f.Why))
			}
		}
	}
	return failed
}
