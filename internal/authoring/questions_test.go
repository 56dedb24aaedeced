package authoring_test

// This file checks the answers of docs/learn/questions.md: each test that an answer names exists in the file that the
// name links, and each test of a question is named by an answer.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// linkedTest finds the tests that answers link, in files relative to docs/learn.
var linkedTest = regexp.MustCompile(`\[\x60(Test\w+)\x60\]\((\.\./[^)#]+_test\.go)\)`)

func TestQuestions_link_tests_that_exist(t *testing.T) {
	text, err := os.ReadFile("../../docs/learn/questions.md")
	require.NoError(t, err)
	links := linkedTest.FindAllStringSubmatch(string(text), -1)
	require.Len(t, testName.FindAllString(string(text), -1), len(links), "each test that an answer names is a link")
	require.Greater(t, len(links), 15)
	linked, sources := map[string]bool{}, map[string]string{}
	for _, link := range links {
		name, file := link[1], link[2]
		read, err := os.ReadFile(filepath.Join("../../docs/learn", filepath.FromSlash(file)))
		require.NoError(t, err)
		require.True(t, strings.Contains(string(read), "func "+name+"("), "%s, which an answer links, is in %s", name, file)
		linked[name], sources[file] = true, string(read)
	}
	for file, source := range sources {
		for _, test := range regexp.MustCompile(`func (TestQuestion_\w+)\(`).FindAllStringSubmatch(source, -1) {
			require.True(t, linked[test[1]], "%s in %s belongs to an answer, and no answer links it", test[1], file)
		}
	}
}
