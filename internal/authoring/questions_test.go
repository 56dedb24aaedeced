package authoring_test

// This file checks the answers of docs/learn/faq.md and docs/learn/hard-questions.md: each test that they name exists
// in a file that they link, and each test of an answer is named by one of them.

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// linkedFile finds the links to files, which are relative to docs/learn.
var linkedFile = regexp.MustCompile(`\]\((\.\./[^)#]+_test\.go)\)`)

func TestQuestions_name_tests_that_exist(t *testing.T) {
	var text, sources string
	for _, page := range []string{"faq.md", "hard-questions.md"} {
		read, err := os.ReadFile(filepath.Join("../../docs/learn", page))
		require.NoError(t, err)
		text += string(read)
	}
	for _, link := range linkedFile.FindAllStringSubmatch(text, -1) {
		read, err := os.ReadFile(filepath.Join("../../docs/learn", filepath.FromSlash(link[1])))
		require.NoError(t, err)
		sources += string(read)
	}
	named := map[string]bool{}
	for _, name := range testName.FindAllStringSubmatch(text, -1) {
		named[name[1]] = true
		require.Contains(t, sources, "func "+name[1]+"(", "a test that an answer names, in the files that the pages link")
	}
	for _, test := range regexp.MustCompile(`func (TestQuestion_\w+)\(`).FindAllStringSubmatch(sources, -1) {
		require.True(t, named[test[1]], "%s belongs to an answer, and no answer names it", test[1])
	}
	require.Greater(t, len(named), 15)
}
