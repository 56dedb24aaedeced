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

var update = flag.Bool("update", false, "write the story anew into the README")

var (
	shownStory = regexp.MustCompile("(?s)<!-- story -->\n```console\n\\$ [^\n]*\n(.*?)```\n")
	at         = regexp.MustCompile(`(?m)^ +\d+\.\ds`)
	// After the outage two Reflectors come back, each in its own time. Which is the first, and how often the controller asks in
	// vain, is a matter of chance; what there is in the end is not.
	byChance = regexp.MustCompile(`(?s)(the API server is back\n).*(minAvailable (?:to )?1\n)`)
)

// The README shows what a newcomer sees. The story is told here by the simulated clock.
func TestReadme_shows_the_story(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options, err := parse()
		require.NoError(t, err)
		var out text
		require.NoError(t, tellStory(t.Context(), options, &out))

		path := filepath.Join("..", "..", "..", "README.md")
		readme, err := os.ReadFile(path)
		require.NoError(t, err)
		shown := shownStory.FindSubmatch(readme)
		require.NotNil(t, shown, "%s has a block <!-- story -->", path)
		same := func(text string) string {
			return byChance.ReplaceAllString(at.ReplaceAllString(text, " TIME"), "$1…")
		}
		if *update && same(string(shown[1])) != same(out.b.String()) {
			mended := strings.Replace(string(readme), string(shown[1]), out.b.String(), 1)
			require.NoError(t, os.WriteFile(path, []byte(mended), 0o644))
			return
		}
		require.Equal(t, same(out.b.String()), same(string(shown[1])), "go test ./internal/testkit/pdbapp -run Readme -update writes it")
	})
}
