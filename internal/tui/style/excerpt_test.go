package style

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
)

func TestExcerpt_ends_with_the_declaration(t *testing.T) {
	lines := strings.Split("func a() {\n}\n\n// b does.\nfunc b() {\n\tone()\n\ttwo()\n}\n\nfunc c() {\n}", "\n")
	excerpt := func(at, rows int) string { return ansi.Strip(strings.Join(Excerpt(lines, at, rows), "\n")) }
	require.Equal(t, "     4  // b does.\n     5  func b() {\n>    6      one()\n     7      two()\n     8  }",
		excerpt(6, 20))
	require.Equal(t, "     5  func b() {\n     6      one()\n>    7      two()\n     8  }", excerpt(7, 4))
	require.Equal(t, ">    6      one()", excerpt(6, 1))
	require.Equal(t, ">    8  }", excerpt(8, 1))
	require.Equal(t, "    10  func c() {\n>   11  }", excerpt(11, 9))
	for _, none := range []int{-1, 0, 12} {
		require.Empty(t, Excerpt(lines, none, 9))
	}
	for at := 1; at <= len(lines); at++ {
		for rows := 1; rows < 15; rows++ {
			out := Excerpt(lines, at, rows)
			require.LessOrEqual(t, len(out), rows)
			require.Contains(t, strings.Join(out, "\n"), "> ", "line %d in %d rows", at, rows)
		}
	}
}

// The signature of a method over three lines was taken for the end of a declaration.
func TestExcerpt_has_a_long_signature(t *testing.T) {
	lines := strings.Split("import (\n)\n// b does.\nfunc b(\n\tc int,\n) error {\n\tpanic(c)\n}", "\n")
	out := ansi.Strip(strings.Join(Excerpt(lines, 7, 20), "\n"))
	require.Equal(t, "     3  // b does.\n     4  func b(\n     5      c int,\n     6  ) error {\n"+
		">    7      panic(c)\n     8  }", out)
}
