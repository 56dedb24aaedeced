package pdbapp

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the demonstration into the README")

var (
	shownDemo = regexp.MustCompile("(?s)<!-- demo -->\n```console\n\\$ [^\n]*\n(.*?)```\n")
	at        = regexp.MustCompile(`(?m)^ +\d+\.\ds`)
	// After the outage two Reflectors come back, each after a random back-off. So the number of errors in between is
	// random.
	byChance = regexp.MustCompile(`(?s)(the API server is back\n).*(minAvailable (?:to )?1\n)`)
	leftOut  = regexp.MustCompile(`(?m)^…\n`)
)

// The README shows what a newcomer sees. Here the demonstration runs by the simulated clock.
func TestReadme_shows_the_demo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options, err := parse()
		require.NoError(t, err)
		var out text
		require.NoError(t, runDemo(t.Context(), options, &out))

		path := filepath.Join("..", "..", "..", "README.md")
		readme, err := os.ReadFile(path)
		require.NoError(t, err)
		shown := shownDemo.FindSubmatch(readme)
		require.NotNil(t, shown, "%s has a block <!-- demo -->", path)
		same := func(text string) string {
			return byChance.ReplaceAllString(at.ReplaceAllString(text, " TIME"), "$1…\n")
		}
		// In the README a line "…" stands for some lines that it leaves out.
		pattern := leftOut.ReplaceAllLiteralString(regexp.QuoteMeta(same(string(shown[1]))), "(?:.*\n)+")
		if regexp.MustCompile(`\A` + pattern + `\z`).MatchString(same(out.b.String())) {
			return
		}
		if *update {
			updated := strings.Replace(string(readme), string(shown[1]), out.b.String(), 1)
			require.NoError(t, os.WriteFile(path, []byte(updated), 0o644))
			return
		}
		require.Equal(t, same(out.b.String()), same(string(shown[1])), "the demonstration in the README, but for its lines "+
			"…; go test ./internal/testkit/pdbapp -run Readme -update writes all of it")
	})
}
