// Package scripts tests the shell scripts beside it. They are all optional; nothing in the workshop needs them.
//
//   - scripts_test.go, this one: a world for the scripts to run in, and what holds for all of them.
//   - kind_test.go: kind-up.sh and kind-down.sh, on a Docker and a kind that are played (testdata/bin).
//   - containers_test.go: containers.sh, played, too.
//   - image_test.go: image.sh, on a real Docker, where there is one.
//   - node_image_test.go: the beginning of node-image.sh, played, and .ci/kind/engine.sh, where there is a Docker.
//   - real_test.go, kind_real_test.go: containers.sh, node-image.sh and kind-up.sh on real clusters (the flag -real).
//   - progress_test.go: progress.sh and class.sh.
//   - release_test.go: release.sh, in a repository of its own.
//   - editors_test.go: the files for editors and for GitHub.
package scripts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// world is a copy of the scripts and a PATH with a Docker and a Go that are played. Nothing in it reaches the
// repository, the real Docker, or a network.
type world struct {
	t     *testing.T
	root  string // a repository, as far as the scripts look at it
	bin   string // all of PATH
	state string // how things are, and what the scripts have done; testdata/bin/docker says how
	temp  string // TMPDIR
	stdin string // of the next script
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts are for bash on Linux and macOS")
	}
	dir := t.TempDir()
	w := &world{t: t, root: filepath.Join(dir, "repository"), bin: filepath.Join(dir, "bin"),
		state: filepath.Join(dir, "state"), temp: filepath.Join(dir, "temp")}
	for _, folder := range []string{w.root, w.bin, w.state, w.temp} {
		require.NoError(t, os.Mkdir(folder, 0o755))
	}
	for _, pattern := range []string{"scripts/*.sh", "scripts/kind.yaml", "cluster/go.mod",
		"solutions/07-controller/deploy/*"} {
		files, err := filepath.Glob(filepath.Join("..", pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, "nothing is called %s", pattern)
		for _, file := range files {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			w.write(filepath.Join(w.root, strings.TrimPrefix(file, ".."+string(filepath.Separator))), string(content))
		}
	}
	// The scripts may use these and no others, so that they run on a machine that has not got much.
	for _, tool := range strings.Fields("bash env basename cat chmod cp dirname git grep head ls mkdir mktemp rm sed " +
		"sleep sort tail touch") {
		path, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(w.bin, tool)))
	}
	for _, played := range []string{"docker", "go"} {
		path, err := filepath.Abs(filepath.Join("testdata", "bin", played))
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(w.bin, played)))
	}
	w.is("program", "a binary\n")
	return w
}

func (w *world) write(path, content string) {
	w.t.Helper()
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(content), 0o755))
}

// is makes something so.
func (w *world) is(name, content string) {
	w.t.Helper()
	w.write(filepath.Join(w.state, name), content)
}

// told is what the scripts have left in the world's state.
func (w *world) told(name string) string {
	content, err := os.ReadFile(filepath.Join(w.state, name))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(w.t, err)
	}
	return string(content)
}

func (w *world) forget(name string) {
	w.t.Helper()
	require.NoError(w.t, os.Remove(filepath.Join(w.state, name)))
}

// run runs a script, from a folder that is not the repository's.
func (w *world) run(script string, args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(w.bin, "bash"),
		append([]string{filepath.Join(w.root, "scripts", script)}, args...)...)
	cmd.Dir = w.temp
	cmd.Env = []string{"PATH=" + w.bin, "WORLD=" + w.state, "TMPDIR=" + w.temp, "HOME=" + w.temp,
		"KIND_SETTINGS=" + os.Getenv("KIND_SETTINGS")}
	var out, errOut strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(w.stdin), &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	left, err := os.ReadDir(w.temp)
	require.NoError(w.t, err)
	require.Empty(w.t, left, "%s has left files in the folder for temporary ones", script)
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// runs is run for a script that has to succeed.
func (w *world) runs(script string, args ...string) (stdout string) {
	w.t.Helper()
	stdout, stderr, code := w.run(script, args...)
	require.Equal(w.t, 0, code, "%s %s\n%s%s", script, strings.Join(args, " "), stdout, stderr)
	return stdout
}

// shellFiles are all files of shell here, as they are called from the root, where shellcheck looks for what they
// source.
func shellFiles(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"*.sh", "node-image/*.sh", "../.ci/kind/*.sh", "testdata/bin/*"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, "nothing is called %s", pattern)
		for _, file := range found {
			files = append(files, filepath.ToSlash(filepath.Join("scripts", file)))
		}
	}
	return files
}

func TestScripts_are_shell_that_bash_can_read(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	for _, file := range shellFiles(t) {
		cmd := exec.CommandContext(t.Context(), bash, "-n", file)
		cmd.Dir = ".."
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, "bash -n %s:\n%s", file, said)
	}
}

func TestScripts_are_shellcheck_clean(t *testing.T) {
	shellcheck, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed here")
	}
	cmd := exec.CommandContext(t.Context(), shellcheck, append([]string{"--external-sources"}, shellFiles(t)...)...)
	cmd.Dir = ".."
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "shellcheck:\n%s", said)
}

func TestScripts_have_lines_of_120_columns(t *testing.T) {
	files := shellFiles(t)
	for _, pattern := range []string{"*.yaml", "node-image/*.yaml", "../.ci/kind/*.yaml"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, "nothing is called %s", pattern)
		for _, file := range found {
			files = append(files, filepath.ToSlash(filepath.Join("scripts", file)))
		}
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
		require.NoError(t, err)
		for i, line := range strings.Split(string(content), "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 120, "%s:%d: %s", file, i+1, line)
		}
	}
}

func TestScripts_can_be_called_by_name(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permission")
	}
	for _, script := range []string{"kind-up.sh", "kind-down.sh", "image.sh", "node-image.sh", "containers.sh",
		"progress.sh", "class.sh", "release.sh", "check.sh"} {
		info, err := os.Stat(script)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o111, "%s has to be executable", script)
	}
}
