package authoring_test

// This file checks the rules for source that no linter of scripts/check.sh has: comments of exported names, the length
// of lines and of files.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Not the workshop's own source: generated code and copies of Kubernetes' code. An oracle is documented in its chapter.
var (
	foreign      = regexp.MustCompile(`^labs/custom-resource/generated/|/upstream/|/testdata/`)
	uncommented  = regexp.MustCompile(`_test\.go$|^internal/testkit/oracle/`)
	forLearners  = regexp.MustCompile(`^(0[1-9]-[^/]+|labs/[^/]+)/[^/]+_test\.go$`)
	rangeOverMap = regexp.MustCompile(`\brange map\[`)
	wideOnScreen = regexp.MustCompile(`[─▶│└┘]`) // a drawing
)

func TestSource_keeps_the_rules(t *testing.T) {
	list := exec.Command("git", "ls-files", "-z", "*.go")
	list.Dir = "../.."
	out, err := list.Output()
	require.NoError(t, err)
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		if foreign.MatchString(name) {
			continue
		}
		source, err := os.ReadFile(filepath.Join(list.Dir, name))
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		require.NoError(t, err)
		for _, problem := range problems(name, source) {
			t.Errorf("%s:%s", name, problem)
		}
	}
}

// problems lists the rules that a file breaks, each after its line.
func problems(name string, source []byte) (found []string) {
	lines := bytes.Split(source, []byte("\n"))
	if len(lines) > 401 {
		found = append(found, fmt.Sprintf("401: the file has more than 400 lines: %d", len(lines)-1))
	}
	for i, line := range lines {
		literal := strings.HasSuffix(name, "_test.go") && bytes.ContainsAny(line, "\"`") // data of a test, in one piece
		if utf8.RuneCount(line) > 120 && !literal && !wideOnScreen.Match(line) {
			found = append(found, fmt.Sprintf("%d: the line is longer than 120 columns", i+1))
		}
		if forLearners.MatchString(name) && rangeOverMap.Match(line) {
			found = append(found, fmt.Sprintf("%d: the cases come in another order in each run; use guard.InOrder", i+1))
		}
	}
	if uncommented.MatchString(name) {
		return found
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return append(found, "1: "+err.Error())
	}
	missing := func(at ast.Node, name *ast.Ident) {
		found = append(found, fmt.Sprintf("%d: %s is exported and has no comment", set.Position(at.Pos()).Line, name))
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && d.Recv == nil {
				missing(d, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
					missing(s, s.Name)
				}
			}
		}
	}
	return found
}

func TestSource_problems_are_found(t *testing.T) {
	long := strings.Repeat("x", 121)
	for source, want := range map[string]string{
		"package p\n\nfunc F() {}\n":                     "3: F is exported and has no comment",
		"package p\n\ntype T int\n":                      "3: T is exported and has no comment",
		"package p\n\n// " + long + "\nfunc f() {}\n":    "3: the line is longer than 120 columns",
		"package p\n" + strings.Repeat("\n", 400):        "401: the file has more than 400 lines: 401",
		"package p\n\n// F does it.\nfunc F() {}\n":      "",
		"package p\n\n// " + long + "─\nfunc f() {}\n":   "",
		"package p\n" + strings.Repeat("\n", 399):        "",
		"package p\n\n// T is it.\ntype (\n\tT int\n)\n": "",
	} {
		require.Equal(t, want, strings.Join(problems("p.go", []byte(source)), "; "), source)
	}
	cases := []byte("package p\n\nfor range map[string]int{} {\n")
	require.Equal(t, []string{"3: the cases come in another order in each run; use guard.InOrder"},
		problems("01-box/task1_put_test.go", cases))
	require.Empty(t, problems("solutions/01-box/put_test.go", cases))
}
