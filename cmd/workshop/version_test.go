package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/semver"
)

func TestVersion_is_the_newest_in_the_changelog(t *testing.T) {
	for _, c := range []struct{ changes, want string }{
		{"# Changelog\n\n## 1.2.0 - 2026-12-24\n\n## 1.1.0 - 2026-11-24\n", "1.2.0"},
		{"## 2.0.0-rc.1 - 2026-12-24\r\n", "2.0.0-rc.1"},
		{"## Unreleased\n\n### Added\n\n## 1.1.0 - 2026-11-24\n", "1.1.0, with unreleased changes"},
		{"## 1.1.0 - 2026-11-24\n\n## Unreleased\n", "1.1.0"},
	} {
		got, err := newestVersion([]byte(c.changes))
		require.NoError(t, err, c.changes)
		require.Equal(t, c.want, got, c.changes)
	}
	for _, changes := range []string{
		"", "## Unreleased\n", "## 1.1.0\n", "### 1.1.0 - 2026-11-24\n", "## 1.1 - 2026-11-24\n",
	} {
		_, err := newestVersion([]byte(changes))
		require.ErrorContains(t, err, "no heading with a version", changes)
	}
}

// The version of client-go is the one that go.mod requires.
func TestVersion_of_this_workshop(t *testing.T) {
	stdout, stderr, code := run(t, "../../05-indexer", "version")
	require.Equal(t, 0, code, stderr)
	require.Regexp(t, `^workshop   \d+\.\d+\.\d+.*\nclient-go  v0\.\d+\.\d+\S*\ngo         go\S+ \w+/\w+\n$`, stdout)
	goMod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	clientGo := strings.Fields(strings.Split(stdout, "\n")[1])[1]
	require.Contains(t, string(goMod), "\tk8s.io/client-go "+clientGo+"\n")
}

func TestChangelog_has_versions_from_the_newest_to_the_oldest(t *testing.T) {
	content, err := os.ReadFile("../../CHANGELOG.md")
	require.NoError(t, err)
	above := ""
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "## ") || unreleased.MatchString(line) {
			continue
		}
		m := released.FindStringSubmatch(line)
		require.NotNil(t, m, "%q is not like ## 1.0.0 - 2026-11-24", line)
		require.True(t, above == "" || semver.Compare("v"+m[1], "v"+above) < 0, "%s is below %s", m[1], above)
		above = m[1]
	}
	require.NotEmpty(t, above)
}
