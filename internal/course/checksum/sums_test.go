package checksum

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestList_comes_back_as_it_was_written(t *testing.T) {
	path := filepath.Join(t.TempDir(), Stubs)
	all := map[string]string{"store.go": Of([]byte("a")), "cmd/run/main.go": Of(nil), "a file.go": Of([]byte("b"))}
	require.NoError(t, Write(path, all))
	read, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, all, read)
}

// The list is in git, so it must not change when nothing has.
func TestList_is_sorted_as_sha256sum_prints_it(t *testing.T) {
	path := filepath.Join(t.TempDir(), Tests)
	require.NoError(t, Write(path, map[string]string{"b.go": "2", "a.go": "1"}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "1  a.go\n2  b.go\n", string(text))
	require.Equal(t, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Of(nil))
}

func TestList_that_is_not_there_is_empty(t *testing.T) {
	all, err := Read(filepath.Join(t.TempDir(), "none"))
	require.NoError(t, err)
	require.Empty(t, all)
	require.NotNil(t, all)
}

func TestList_with_blank_lines_and_Windows_line_ends_is_read(t *testing.T) {
	path := filepath.Join(t.TempDir(), Stubs)
	require.NoError(t, os.WriteFile(path, []byte("1  a.go\r\n\r\n2  b.go\r\n"), 0o644))
	all, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a.go": "1", "b.go": "2"}, all)
}

func TestList_that_is_none_is_an_error_that_names_the_file_and_the_line(t *testing.T) {
	path := filepath.Join(t.TempDir(), Stubs)
	require.NoError(t, os.WriteFile(path, []byte("1  a.go\n<<<<<<< HEAD\n"), 0o644))
	_, err := Read(path)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "<<<<<<< HEAD")
	_, err = Read(t.TempDir())
	require.ErrorContains(t, err, "read check sums")
	require.ErrorContains(t, Write(filepath.Join(t.TempDir(), "none", "x"), nil), "write check sums")
}
