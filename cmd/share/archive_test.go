package main

// The archive that attendees clone, and what is missing in a room.

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArchive_is_what_was_committed(t *testing.T) {
	_, _, _, err := archiveOf(t.Context(), t.TempDir())
	require.ErrorContains(t, err, "git")
	require.False(t, strings.Contains(err.Error(), "\n"), "one line: %v", err)
}

// An attendee sees what they changed, and can put it aside. Nothing in the archive names the instructor's machine.
func TestArchive_is_a_git_repository_with_one_commit(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	root := folder(t, "a.txt", "one\n", "sub/run.sh", "#!/bin/sh\n", "b.txt", "secret\n")
	git := func(dir string, args ...string) string {
		out, err := output(t.Context(), dir, "git", args...)
		require.NoError(t, err)
		return string(out)
	}
	commit := func(message string) {
		git(root, "add", "-A")
		git(root, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", message)
	}
	git(root, "init", "-q")
	require.NoError(t, os.Chmod(filepath.Join(root, "sub", "run.sh"), 0o755))
	commit("first")
	require.NoError(t, os.Remove(filepath.Join(root, "b.txt")))
	commit("second")
	require.NoError(t, os.WriteFile(filepath.Join(root, "uncommitted.txt"), nil, 0o644))

	archive, short, changed, err := archiveOf(t.Context(), root)
	require.NoError(t, err)
	require.True(t, changed)
	dir := t.TempDir()
	cmd := exec.Command("tar", "-xzf", "-") // without git
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(archive)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	dir = filepath.Join(dir, "client-go-workshop")
	require.NoFileExists(t, filepath.Join(dir, "uncommitted.txt"))
	require.FileExists(t, filepath.Join(dir, "sub", "run.sh"))

	require.Equal(t, short+" second\n", git(dir, "log", "--format=%h %s"), "the commit, and none before it")
	require.Empty(t, git(dir, "status", "--porcelain"))
	require.Empty(t, git(dir, "diff"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("two\n"), 0o644))
	require.Contains(t, git(dir, "diff"), "\n-one\n+two\n")
	git(dir, "stash")
	require.Equal(t, "one\n", read(t, filepath.Join(dir, "a.txt")))
	git(dir, "stash", "pop")
	require.Equal(t, "two\n", read(t, filepath.Join(dir, "a.txt")))
	git(dir, "fsck", "--strict")
	require.Empty(t, git(dir, "remote"))
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			require.NotContains(t, read(t, path), root, path)
		}
		return err
	}))
}

func TestComplete_names_what_is_missing(t *testing.T) {
	t.Setenv("GOMODCACHE", folder(t,
		"cache/download/example.com/gone/@v/v1.3.0.info", `{"Version":"v1.3.0"}`,
		"cache/download/example.com/gone/@v/v1.3.0.mod", "module example.com/gone\n"))
	t.Setenv("GOSUMDB", "off")
	dir := folder(t, "go.mod", "module main\n\ngo 1.26.0\n\nrequire example.com/gone v1.3.0\n", "empty/go.mod",
		"module main\n\ngo 1.26.0\n")
	require.ErrorContains(t, complete(t.Context(), dir), "the module cache is not complete: run go mod download in "+
		dir+", with internet; it lacks: example.com/gone@v1.3.0 (")
	require.NoError(t, complete(t.Context(), filepath.Join(dir, "empty")))
}
