package authoring_test

// This file checks docs/develop/reliability.md: its promises are one table, each says what was tried, and each test
// that it names exists, in a folder of the same row.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const reliabilityPage = "../../docs/develop/reliability.md"

var (
	testName   = regexp.MustCompile("`(Test\\w+)(?:/(\\w+))?`")
	rowsFolder = regexp.MustCompile(`\]\((\.\./[^)]+)\)`)
)

func TestReliability_names_tests_that_exist(t *testing.T) {
	page, err := os.ReadFile(reliabilityPage)
	require.NoError(t, err)
	rows := 0
	for row := range strings.Lines(string(page)) {
		if !strings.HasPrefix(row, "| ") || !strings.Contains(row, "`Test") {
			continue
		}
		rows++
		if cells := strings.Split(strings.Trim(row, "|\n "), " | "); len(cells) != 3 {
			t.Errorf("not a promise, what was tried, and a test: %s", row)
		}
		for _, name := range missingTests(row, filepath.Dir(reliabilityPage)) {
			t.Errorf("no folder of this row has %s: %s", name, row)
		}
	}
	require.Greater(t, rows, 20)
	require.Equal(t, 1, strings.Count(string(page), "| promise |"))
}

// missingTests returns the tests of a row that none of its folders has. Folders are relative to dir.
func missingTests(row, dir string) (missing []string) {
	sources, scripts := "", map[string]bool{}
	for _, folder := range rowsFolder.FindAllStringSubmatch(row, -1) {
		at := filepath.Join(dir, filepath.FromSlash(folder[1]))
		files, _ := filepath.Glob(filepath.Join(at, "*_test.go"))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			sources += string(text)
		}
		files, _ = filepath.Glob(filepath.Join(at, "testdata", "script", "*.txtar"))
		for _, file := range files {
			scripts[strings.TrimSuffix(filepath.Base(file), ".txtar")] = true
		}
	}
	for _, name := range testName.FindAllStringSubmatch(row, -1) {
		if !strings.Contains(sources, "func "+name[1]+"(") || name[2] != "" && !scripts[name[2]] {
			missing = append(missing, name[0])
		}
	}
	return missing
}

func TestReliability_check_finds(t *testing.T) {
	for row, want := range map[string][]string{
		"| x | `TestReliability_check_finds` | [here](../authoring) |":                     nil,
		"| x | `TestReliability_check`, `TestLevels_check_finds` | [here](../authoring) |": {"`TestReliability_check`"},
		"| x | `TestScripts/endless` | [there](../../cmd/workshop) |":                      nil,
		"| x | `TestScripts/nothing` | [there](../../cmd/workshop) |":                      {"`TestScripts/nothing`"},
	} {
		require.Equal(t, want, missingTests(row, "."), row)
	}
}
