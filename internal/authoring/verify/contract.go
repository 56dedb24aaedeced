package verify

// This file checks that the chapter keeps its promises. A promise is a sentence of the contract in the README, or of
// the doc comment of a function that the learner writes. The rule of a test has to begin with its words (promises.go),
// and a wrong version has to fail with a rule that does. So the contract, the test and the failure say the same.
//
// Where they cannot, the solution's folder has a table, promises.txt.

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/gotest"
)

// Promises is the table, in a solution's folder, of promises that no rule begins with. A line is one of
//
//	BEGINNING OF A PROMISE => BEGINNING OF A RULE
//	BEGINNING OF A PROMISE => none: REASON
const Promises = "promises.txt"

// contract checks the promises twice: each is the rule of a test, and a wrong version fails with that rule.
func contract(r *run) (string, []string) {
	promises, rules := r.promises(), rulesIn(filepath.Join(r.root, r.chapter.Dir))
	table := must(readEntries(filepath.Join(r.root, r.chapter.Solution(), Promises), " => "))
	var p problems
	tested := keeper{slices.Collect(maps.Keys(rules)), table, map[int]bool{}}
	p.broken(promises, tested, "no test has")
	for _, e := range table {
		if !tested.used[e.line] {
			p.add("%s:%d: no promise begins with %q", Promises, e.line, e.left)
		}
	}
	if p != nil {
		return fmt.Sprintf("%d promises; the wrong versions were not asked", len(promises)), p
	}
	failed := keeper{r.rulesThatFailed(must(r.bugs()), rules), table, map[int]bool{}}
	p.broken(promises, failed, "no wrong version fails with")
	return fmt.Sprintf("%d promises, each with a test and a wrong version", len(promises)), p
}

// broken adds the promises that are not kept, with their parts that are not if they have several.
func (p *problems) broken(promises []promise, k keeper, none string) {
	for _, promise := range promises {
		if k.keeps(promise, promise.text) {
			continue
		}
		text := strconv.Quote(promise.text)
		if parts := joints.Split(promise.text, -1); len(parts) > 1 {
			parts = slices.DeleteFunc(parts, func(part string) bool { return k.keeps(promise, part) })
			text += fmt.Sprintf(", nor one with %q", parts)
		}
		p.add("%s: %s a rule that begins with %s", promise.where, none, text)
	}
}

// keeper knows which promises are kept: those that a rule says, and those that the table answers for.
type keeper struct {
	rules []string
	table []entry
	used  map[int]bool // the lines of the table that were needed
}

// keeps reports whether a text of the promise is kept, or both of the texts that "and" joins in it.
func (k keeper) keeps(p promise, text string) bool {
	for _, e := range k.table {
		if !begins(text, plain(e.left)) {
			continue
		}
		k.used[e.line] = true
		is := strings.TrimRight(plain(e.right), ".")
		said := slices.ContainsFunc(k.rules, func(rule string) bool { return begins(rule, is) })
		if said || strings.HasPrefix(is, "none:") {
			return true
		}
	}
	if p.isSaid(text, k.rules) {
		return true
	}
	for _, at := range joints.FindAllStringIndex(text, -1) {
		left, right := text[:at[0]], text[at[1]:]
		whole := strings.Contains(left, " ") && strings.Contains(right, " ") && !onlyCondition.MatchString(left)
		if whole && k.keeps(p, right) && k.keeps(p, left) {
			return true
		}
	}
	return false
}

// promises returns the sentences of the chapter's contract and of the comments of its todos.
func (r *run) promises() (all []promise) {
	for _, point := range must(course.Contract(r.root, r.chapter)) {
		where := fmt.Sprintf("%s/README.md:%d", r.chapter.Dir, point.Line)
		all = append(all, promise{where: where}.sentences(plain(point.Text))...)
	}
	for _, h := range r.todos {
		where := fmt.Sprintf("%s:%d (%s)", h.file, h.Line, h.Symbol)
		all = append(all, promisesIn(where, h.Symbol[strings.LastIndex(h.Symbol, ".")+1:], h.Doc)...)
	}
	return all
}

// rulesIn returns what may be rules in the tests of a folder, and for each the functions that name it: all constant
// strings of three words or more. Which of them are rules shows when wrong versions fail.
func rulesIn(dir string) map[string][]string {
	var files []*ast.File
	set := token.NewFileSet()
	for _, name := range must(filepath.Glob(filepath.Join(dir, "*_test.go"))) {
		tree := must(parser.ParseFile(set, name, nil, parser.SkipObjectResolution))
		tree.Name.Name = "tests" // one package, for the checker
		files = append(files, tree)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Error: func(error) {}} // without imports, much is an error, but no constant string
	_, _ = config.Check("tests", set, files, info)
	rules := map[string][]string{}
	for _, file := range files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				e, _ := n.(ast.Expr)
				value := info.Types[e].Value
				if value == nil || value.Kind() != constant.String {
					return true
				}
				if text := plain(constant.StringVal(value)); strings.Count(text, " ") >= 2 {
					rules[text] = append(rules[text], f.Name.Name)
				}
				return false
			})
		}
	}
	return rules
}

// rulesThatFailed returns the rules with which wrong versions fail. A wrong version that could not be run, because it
// needs the race detector, counts for the rules of its test.
func (r *run) rulesThatFailed(ran *caught, rules map[string][]string) (failed []string) {
	for _, b := range r.sets[0].Bugs {
		res, found := ran.runs[b.Name]
		if !found {
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
