package workspace

// Replace and the files of a chapter.

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBrokenFiles_are_missing_or_of_another_package(t *testing.T) {
	root := newRoot(t, t.TempDir())
	missing, misnamed := BrokenFiles(root, box)
	require.Empty(t, append(missing, misnamed...))
	write(t, root, "01-box/box.go", "package boxes\n")
	require.NoError(t, os.Remove(filepath.Join(root, "01-box/lid.go")))
	missing, misnamed = BrokenFiles(root, box)
	require.Equal(t, []string{"lid.go"}, missing)
	require.Equal(t, []string{"box.go"}, misnamed)
	write(t, root, "01-box/box.go", "package box\n\nfunc broken( {\n")
	_, misnamed = BrokenFiles(root, box)
	require.Empty(t, misnamed, "the compiler reports a syntax error")
}

func TestReplace_tidies_up_after_a_kill(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".workshop-new", "what another process has left, which is longer")
	require.NoError(t, Replace(filepath.Join(dir, "box.go"), []byte("x")))
	require.Equal(t, "x", text(t, dir, "box.go"))
	require.NoFileExists(t, filepath.Join(dir, ".workshop-new"))
}

func TestReplace_leaves_no_half_of_a_file(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "box.go"), 0o755))
	require.Error(t, Replace(filepath.Join(dir, "box.go"), []byte("x")), "a folder is in its place")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing temporary is left")
	require.True(t, errors.Is(Replace(filepath.Join(dir, "none", "box.go"), nil), os.ErrNotExist))
}
