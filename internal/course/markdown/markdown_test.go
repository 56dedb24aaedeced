package markdown

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeadings_have_the_anchors_of_GitHub(t *testing.T) {
	doc := Parse([]byte("# One\n## Two `code`, *more*\n```\n# none\n```\n## One\r\n\nSetext [link](x)\n---\n" +
		"### A_b, ÄÖ-1 ##\n"))
	require.Equal(t, []Heading{
		{1, "One", "one", 1}, {2, "Two `code`, *more*", "two-code-more", 2}, {2, "One", "one-1", 6},
		{2, "Setext [link](x)", "setext-link", 8}, {3, "A_b, ÄÖ-1", "a_b-äö-1", 10},
	}, doc.Headings)
	require.Equal(t, "One", doc.Title())
	require.Empty(t, Parse([]byte("## Two\n")).Title())
}

func TestAbove_and_Section_go_by_the_rank_of_headings(t *testing.T) {
	doc := Parse([]byte("before\n# A\n## B\n\nb\n\n### C\n```\n## no\n```\n## D\n"))
	require.Equal(t, "B", doc.Above(8, 2).Text)
	require.Equal(t, "C", doc.Above(8, 3).Text)
	require.Equal(t, "A", doc.Above(8, 1).Text)
	require.Zero(t, doc.Above(2, 6))
	text, ok := doc.Section(2, "B")
	require.True(t, ok)
	require.Equal(t, "b\n\n### C\n```\n## no\n```", text)
	text, ok = doc.Section(2, "D")
	require.True(t, ok)
	require.Empty(t, text)
	_, ok = doc.Section(1, "B")
	require.False(t, ok)
}

func TestBlocks_know_their_fence_their_comment_and_their_end(t *testing.T) {
	doc := Parse([]byte("<!-- a -->\n\n```go nocheck\nx\n\ty\n```\n\n<!-- b -->\ntext\n\n> ~~~~\n> ```\n> ~~~~\n\n" +
		"- ```\n  in a list\n  ```\n```\nno end"))
	require.Equal(t, []*Block{
		{Line: 3, Info: []string{"go", "nocheck"}, Lines: []string{"x", "\ty"}, Closed: true, Comment: &Text{1, "a"}},
		{Line: 11, Lines: []string{"```"}, Closed: true},
		{Line: 15, Lines: []string{"in a list"}, Closed: true},
		{Line: 18, Lines: []string{"no end"}},
	}, doc.Blocks)
	require.Equal(t, []string{"text"}, strings.Fields(strings.Join(doc.Prose, " ")), "blocks and comments are not prose")
}

func TestCommands_are_what_a_reader_would_type(t *testing.T) {
	text := "go test ./nowhere\n\n```sh\n# a comment\ngo test ./a  # why\ngo run ./b \\\n  --c d\n```\n\n" +
		"```console\n$ ls\nout\n$ cat \\\n  x\n```\n\n```text\ngo no\n```\n"
	var found []Text
	for _, b := range Parse([]byte(text)).Blocks {
		found = append(found, b.Commands()...)
	}
	require.Equal(t, []Text{{5, "go test ./a"}, {6, "go run ./b --c d"}, {11, "ls"}, {13, "cat x"}}, found)
}

func TestLinks_and_code_have_lines(t *testing.T) {
	doc := Parse([]byte("[`a`\nb](c.md) ![i](p.png)\n\n| x |\n|---|\n| `d\\|e` [f](g.md) |\n\n" +
		"<a href=\"j.md\">k</a>\n" +
		"https://l.example/m. <https://n.example> [o] [q][O]\n\n[o]: r.md\n"))
	require.ElementsMatch(t, []Link{{1, "`a` b", "c.md"}, {2, "i", "p.png"}, {6, "f", "g.md"},
		{8, "", "j.md"}, {9, "", "https://l.example/m"},
		{9, "", "https://n.example"}, {9, "o", "r.md"}, {9, "q", "r.md"}, {11, "", "r.md"}}, doc.Links)
	require.Equal(t, []Text{{1, "a"}, {6, "d|e"}}, doc.Code)
}

// Cut at every byte, each text of the workshop has everything left open somewhere.
func TestParse_reads_any_text_to_its_end(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "0*", "hints.md"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		text = append([]byte("<!-- a\n--> b\n> ```\n> c\n- ~~~\n\t~~~\n1. <a href=\"d\">\n\n[e]: f\n"), text[:500]...)
		for end := range len(text) + 1 {
			require.Len(t, Parse(text[:end]).Prose, 1+strings.Count(string(text[:end]), "\n"))
			require.Len(t, Parse(text[end:]).Prose, 1+strings.Count(string(text[end:]), "\n"))
		}
	}
}
