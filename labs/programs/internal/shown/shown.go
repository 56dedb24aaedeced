// Package shown compares the output of a program with its output in docs/learn/since-the-articles.md, in tests.
package shown

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Require requires that the page shows an output as the first text block below a heading of level 3. It is for tests of
// the programs: the page is found from their folders.
func Require(t testing.TB, heading, output string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "learn", "since-the-articles.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n### "+heading+"\n")
	require.True(t, found, "docs/learn/since-the-articles.md has the heading %q", heading)
	section, _, _ = strings.Cut(section, "\n### ")
	_, block, found := strings.Cut(section, "\n```text\n")
	require.True(t, found, "docs/learn/since-the-articles.md shows an output below %q", heading)
	block, _, _ = strings.Cut(block, "```\n")
	require.Equal(t, output, block, "what docs/learn/since-the-articles.md shows below %q", heading)
}
