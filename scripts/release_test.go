package scripts

// These tests run release.sh in a repository of its own, whose checks are a script of one line.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const greenChecks = "echo 'the checks ran'\n"

// git runs git in the world's repository, and returns what it prints.
func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir = w.root
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	require.NoError(w.t, err, "git %s: %s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}

// newRelease is a world whose repository is ready for the release of 1.2.0.
func newRelease(t *testing.T) *world {
	w := newWorld(t)
	w.write(filepath.Join(w.root, "scripts", "check.sh"), greenChecks)
	w.write(filepath.Join(w.root, "CHANGELOG.md"),
		"# Changelog\n\n## 1.2.0 - 2026-12-24\n\n- New.\n\n## 1.1.0 - 2026-11-24\n")
	w.git("init", "-q")
	w.git("config", "user.name", "a")
	w.git("config", "user.email", "a@example.org")
	w.commit()
	return w
}

func (w *world) commit() {
	w.t.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "x")
}

func TestRelease_makes_an_annotated_tag_and_publishes_nothing(t *testing.T) {
	w := newRelease(t)
	said := w.runs("release.sh", "1.2.0")
	require.Contains(t, said, "the checks ran\n")
	require.Contains(t, said, "\n  git push origin v1.2.0\n", "what a person does next")
	require.Equal(t, "v1.2.0", w.git("tag", "--list"))
	require.Equal(t, "tag", w.git("cat-file", "-t", "v1.2.0"))
	require.Equal(t, w.git("rev-parse", "HEAD"), w.git("rev-parse", "v1.2.0^{commit}"))
	require.Equal(t, "The client-go workshop 1.2.0", w.git("tag", "--list", "--format=%(contents:subject)"))
}

func TestRelease_as_a_dry_run_makes_no_tag(t *testing.T) {
	w := newRelease(t)
	for _, args := range [][]string{{"--dry-run", "1.2.0"}, {"1.2.0", "--dry-run"}} {
		said := w.runs("release.sh", args...)
		require.Contains(t, said, "the checks ran\n")
		require.Contains(t, said, "none, because of --dry-run. To make it: scripts/release.sh 1.2.0\n")
		require.NotContains(t, said, "git push")
	}
	require.Empty(t, w.git("tag", "--list"))
}

func TestRelease_takes_the_version_before_a_release(t *testing.T) {
	w := newRelease(t)
	w.write(filepath.Join(w.root, "CHANGELOG.md"), "# Changelog\n\n## 2.0.0-rc.1 - 2026-12-24\n")
	w.commit()
	require.Contains(t, w.runs("release.sh", "--dry-run", "2.0.0-rc.1"), "2.0.0-rc.1 - 2026-12-24")
}

func TestRelease_stops_at_the_first_thing_that_is_not_ready(t *testing.T) {
	changelog := func(text string) func(*world) {
		return func(w *world) {
			w.write(filepath.Join(w.root, "CHANGELOG.md"), text)
			w.commit()
		}
	}
	checks := func(text string) func(*world) {
		return func(w *world) {
			w.write(filepath.Join(w.root, "scripts", "check.sh"), text)
			w.commit()
		}
	}
	for name, c := range map[string]struct {
		make func(w *world)
		want string
		ran  bool // the checks
	}{
		"a changed file": {func(w *world) {
			w.write(filepath.Join(w.root, "CHANGELOG.md"), "## 1.2.0 - 2026-12-24\n")
		}, "changes that are not committed ( M CHANGELOG.md); commit or remove them", false},
		"a new file": {func(w *world) {
			w.write(filepath.Join(w.root, "notes"), "")
		}, "changes that are not committed (?? notes)", false},
		"a tag": {func(w *world) {
			w.git("tag", "v1.2.0")
		}, "there is a tag v1.2.0 already; choose the next version", false},
		"unreleased changes": {changelog("## Unreleased\n\n## 1.2.0 - 2026-12-24\n"),
			`its newest heading is "Unreleased"; write "## 1.2.0 - DATE"`, false},
		"an older version":        {changelog("## 1.1.0 - 2026-11-24\n"), `newest heading is "1.1.0 - 2026-11-24"; `, false},
		"no date":                 {changelog("## 1.2.0\n"), `its newest heading is "1.2.0"; `, false},
		"a version before it":     {changelog("## 1.2.0-rc.1 - 2026-12-24\n"), `its newest heading is "1.2.0-rc.1 - `, false},
		"a dot that is no dot":    {changelog("## 1x2.0 - 2026-12-24\n"), `its newest heading is "1x2.0 - `, false},
		"no heading":              {changelog("# Changelog\n"), `its newest heading is ""; `, false},
		"checks that fail":        {checks(greenChecks + "exit 1\n"), "a check fails, and says above why; fix it", true},
		"checks that leave files": {checks(greenChecks + "touch left\n"), "it has changed while the checks ran", true},
		"a commit in between": {checks(greenChecks + "git commit -q --allow-empty -m y\n"),
			"it has changed while the checks ran", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRelease(t)
			c.make(w)
			before := w.git("tag", "--list")
			for _, args := range [][]string{{"--dry-run", "1.2.0"}, {"1.2.0"}} {
				stdout, stderr, code := w.run("release.sh", args...)
				require.Equal(t, 1, code, stdout+stderr)
				require.Regexp(t, `^release\.sh: [^\n]+; [^\n]+\n$`, stderr)
				if args[0] == "--dry-run" {
					require.Contains(t, stderr, c.want)
					require.Equal(t, c.ran, strings.Contains(stdout, "the checks ran"), stdout)
				}
			}
			require.Equal(t, before, w.git("tag", "--list"))
		})
	}
}

func TestRelease_says_what_is_wrong_with_its_arguments(t *testing.T) {
	w := newRelease(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "name the version, such as: scripts/release.sh --dry-run 1.0.0"},
		{[]string{"--dry-run"}, "name the version"},
		{[]string{"1.2.0", "1.3.0"}, "it takes one version, not 1.2.0 and 1.3.0"},
		{[]string{"--publish", "1.2.0"}, "there is no option --publish; the only one is --dry-run"},
		{[]string{"v1.2.0"}, "v1.2.0 is not a semantic version without a v, such as 1.0.0 or 1.1.0-rc.1"},
		{[]string{"1.2"}, "1.2 is not a semantic version"},
		{[]string{"1.02.0"}, "1.02.0 is not a semantic version"},
		{[]string{"1.2.0-"}, "1.2.0- is not a semantic version"},
		{[]string{"1.2.0; rm"}, "1.2.0; rm is not a semantic version"},
	} {
		stdout, stderr, code := w.run("release.sh", c.args...)
		require.Equal(t, 2, code, c.args)
		require.Empty(t, stdout, c.args)
		require.Regexp(t, `^release\.sh: [^\n]+\n$`, stderr, c.args)
		require.Contains(t, stderr, c.want)
	}
	require.Empty(t, w.git("tag", "--list"))
}
