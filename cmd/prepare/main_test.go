package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const said = "internal/abi\nruntime\n# example.com/x\n./x.go:3:1: syntax error\nfmt\nos\n"

func TestFollow_counts_packages_and_keeps_errors(t *testing.T) {
	var out strings.Builder
	problems := follow(&out, true, 4, strings.NewReader(said))
	require.Equal(t, []string{"# example.com/x", "./x.go:3:1: syntax error"}, problems)
	require.Equal(t, "\r\x1b[K1 of 4 packages are compiled\r\x1b[K2 of 4 packages are compiled"+
		"\r\x1b[K3 of 4 packages are compiled\r\x1b[K4 of 4 packages are compiled\n", out.String())
	out.Reset()
	follow(&out, false, 40, strings.NewReader(strings.Repeat("fmt\n", 7)))
	require.Equal(t, "4 of 40 packages are compiled\n", out.String(), "a log has no line that changes")
	out.Reset()
	follow(&out, false, 0, strings.NewReader("fmt\n"))
	require.Equal(t, "1 of 1 packages are compiled\n", out.String(), "never more than all")
}

func TestPrepare_says_where_to_run_it(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module x\n"), 0o644))
	out, err := os.Create(filepath.Join(dir, "out"))
	require.NoError(t, err)
	defer out.Close()
	bin := t.TempDir() // with the go command and nothing else
	goCommand, err := exec.LookPath("go")
	require.NoError(t, err)
	if os.Symlink(goCommand, filepath.Join(bin, "go")) != nil {
		t.Skip("this user cannot make links")
	}
	t.Setenv("PATH", bin)
	require.ErrorContains(t, prepare(out, dir), "run this command in the folder client-go-workshop")
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	require.Contains(t, string(text), "about a minute")
	require.Contains(t, string(text), "git is not found: git diff and git stash do not work here. Everything else does.\n")
}
