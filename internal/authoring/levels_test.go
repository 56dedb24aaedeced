// Package authoring_test checks the order of the levels: which packages of the workshop may import which.
//
//	levels      the order, from the ground up
//	violations  the rules, applied to one import
//	TestLevels…  the packages as `go list` reports them, and planted violations
//
// docs/develop/architecture.md describes the levels. Not checked here: what a package does with what it imports.
package authoring_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "client-go-workshop/"

// A level is a set of folders. A folder's name ends in "/", or in "*" if the rest of the path is free.
type level struct {
	name    string
	folders []string
}

// levels are in order, from the ground up. The chapters, their solutions and the testkit are one level: a chapter's
// tests compile all three together.
var levels = []level{
	{"testkit", []string{"internal/testkit/", "observe/", "solutions/", "labs/", "0*"}},
	{"course", []string{"internal/course/"}},
	{"runner", []string{"internal/runner/"}},
	{"workspace", []string{"internal/workspace/"}},
	{"tui", []string{"internal/tui/"}},
	{"authoring", []string{"internal/authoring/", "scripts/"}},
	{"cmd", []string{"cmd/"}},
}

// data are the packages of the testkit that every level may import: data, for the most part. They import only the
// standard library.
var data = []string{"internal/testkit/failure", "internal/testkit/env", "internal/testkit/deadline"}

// onClientGo are the programs above the testkit that import client-go: they speak to an API server.
var onClientGo = []string{"cmd/fakeapi", "cmd/wiretap", "cmd/show"}

// exceptions are imports that break a rule, each with its reason. One that breaks no rule any more is an error.
var exceptions = map[string]string{
	"solutions → internal/runner/finished":                     "a test runs each chapter's tests over its solution",
	"labs/solutions → internal/runner/finished":                "a test runs each lab's tests over its solution",
	"labs/solutions/todays-informer → internal/course":         "a test runs chapter 07's tests on the lab",
	"labs/solutions/todays-informer → internal/runner/overlay": "and puts the lab's code in place",
	"solutions/07-controller → internal/course":                "a test lists the chapters whose wrong versions it finds",
	"solutions/07-controller → internal/runner/bugs":           "that test reads the wrong versions",
	"solutions/07-controller → internal/runner/overlay":        "and puts them in place",
}

// An imports is one package and all that it imports.
type imports struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
	Deps                               []string // all that Imports need in turn
}

// violations returns the rules that a package breaks, by the import that breaks them.
func violations(p imports) map[string]string {
	broken := map[string]string{}
	from := short(p.ImportPath)
	if levelOf(from) < 0 {
		return map[string]string{from: "it is in no level: give its folder one in internal/authoring/levels_test.go"}
	}
	for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		to := short(path)
		here, there := levelOf(from), levelOf(to)
		switch {
		case !strings.HasPrefix(path+"/", module):
		case here < there && !isData(to):
			broken[from+" → "+to] = fmt.Sprintf("%s lies below %s, and a level imports only itself and the levels below it (%s)",
				levels[here].name, levels[there].name, order())
		}
	}
	for _, path := range p.Imports {
		to := short(path)
		if levelOf(from) > 0 && levelOf(to) == 0 && !isData(to) && !slices.Contains(onClientGo, from) {
			broken[from+" → "+to] = "outside of tests, the levels above testkit import only its data: " +
				strings.Join(data, ", ")
		}
	}
	if levelOf(from) > 0 && !slices.Contains(onClientGo, from) && slices.Contains(p.Deps, "k8s.io/client-go/rest") {
		broken[from+" → k8s.io/client-go"] = "only the testkit, the solutions, the chapters, " +
			strings.Join(onClientGo, " and ") +
			" may need client-go: the command line has to compile in seconds"
	}
	return broken
}

// order is the levels' names, for messages.
func order() string {
	var names []string
	for _, r := range levels {
		names = append(names, r.name)
	}
	return strings.Join(names, " < ")
}

func short(path string) string { return strings.TrimPrefix(path, module) }

func isData(path string) bool { return slices.Contains(data, path) }

// levelOf returns the index of a package's level, -1 if it has none.
func levelOf(path string) int {
	return slices.IndexFunc(levels, func(r level) bool {
		return slices.ContainsFunc(r.folders, func(folder string) bool {
			return strings.HasPrefix(path+"/", strings.TrimSuffix(folder, "*"))
		})
	})
}

func TestLevels_import_only_downwards(t *testing.T) {
	broken := map[string]string{}
	for _, p := range workshop(t) {
		maps.Copy(broken, violations(p))
	}
	for what, rule := range broken {
		if _, excepted := exceptions[what]; !excepted {
			t.Errorf("%s: %s", what, rule)
		}
	}
	for what := range exceptions {
		if _, still := broken[what]; !still {
			t.Errorf("%s: this import breaks no rule any more: remove it from exceptions", what)
		}
	}
}

// TestLevels_check_finds plants a violation of each rule.
func TestLevels_check_finds(t *testing.T) {
	for _, test := range []struct {
		name     string
		pkg      imports
		what     string // the import that the message names, "" if none breaks a rule
		contains string
	}{
		{
			name: "an import of a higher level",
			pkg:  imports{ImportPath: module + "internal/runner", Imports: []string{module + "internal/tui/style"}},
			what: "internal/runner → internal/tui/style", contains: "runner lies below tui",
		},
		{
			name: "the same in a test",
			pkg:  imports{ImportPath: module + "internal/course", XTestImports: []string{module + "internal/runner"}},
			what: "internal/course → internal/runner", contains: "course lies below runner",
		},
		{
			name: "a chapter that imports the command line",
			pkg:  imports{ImportPath: module + "05-indexer", TestImports: []string{module + "internal/workspace"}},
			what: "05-indexer → internal/workspace", contains: "testkit lies below workspace",
		},
		{
			name: "the testkit in the command line",
			pkg:  imports{ImportPath: module + "internal/runner", Imports: []string{module + "internal/testkit/guard"}},
			what: "internal/runner → internal/testkit/guard", contains: "import only its data",
		},
		{
			name: "client-go in the command line, by way of another module",
			pkg:  imports{ImportPath: module + "cmd/workshop", Deps: []string{"example.com/x", "k8s.io/client-go/rest"}},
			what: "cmd/workshop → k8s.io/client-go", contains: "has to compile in seconds",
		},
		{
			name: "a folder without a level",
			pkg:  imports{ImportPath: module + "internal/attic", Imports: []string{module + "internal/course"}},
			what: "internal/attic", contains: "in no level",
		},
		{name: "data", pkg: imports{ImportPath: module + "internal/tui",
			Imports: []string{module + "internal/testkit/failure"}}},
		{name: "a lower level", pkg: imports{ImportPath: module + "cmd/workshop", Imports: []string{module + "internal/tui"}}},
		{name: "the testkit in a test", pkg: imports{ImportPath: module + "internal/runner",
			TestImports: []string{module + "internal/testkit/guard"}}},
		{name: "other modules", pkg: imports{ImportPath: module + "internal/tui",
			Imports: []string{"fmt", "charm.land/bubbletea/v2"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			broken := violations(test.pkg)
			if test.what == "" {
				require.Empty(t, broken)
				return
			}
			require.Len(t, broken, 1)
			require.Contains(t, broken[test.what], test.contains)
		})
	}
}

// workshop lists the packages of this module, with the files for the tag `yours` too.
func workshop(t *testing.T) []imports {
	cmd := exec.Command("go", "list", "-tags=yours", "-json=ImportPath,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []imports
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p imports
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	require.Greater(t, len(all), 40, "go list found the packages of the module")
	return all
}
