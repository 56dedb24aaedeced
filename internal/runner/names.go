package runner

// This file finds the tests that a run should have.

import (
	"go/build/constraint"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

var (
	testFunc       = regexp.MustCompile(`(?m)^func (Test[^a-z(]\w*)\(`)
	constraintLine = regexp.MustCompile(`(?m)^//go:build .*$`)
)

// testNames returns the top-level tests in the test files of dir, of those files that the build tags select. It skips
// what it cannot read, because go test reports it.
func testNames(dir string, tags []string) (names []string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, file := range files {
		source, _ := os.ReadFile(file)
		line := constraintLine.Find(source)
		expr, err := constraint.Parse(string(line))
		if line != nil && (err != nil || !expr.Eval(func(tag string) bool { return slices.Contains(tags, tag) })) {
			continue
		}
		for _, m := range testFunc.FindAllSubmatch(source, -1) {
			if name := string(m[1]); name != "TestMain" {
				names = append(names, name)
			}
		}
	}
	return names
}
