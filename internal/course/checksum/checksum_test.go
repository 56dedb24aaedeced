package checksum

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead_returns_what_Write_wrote(t *testing.T) {
	dir := t.TempDir()
	list := List{
		Stubs: map[string]string{"store.go": Of([]byte("a")), "a file.go": Of([]byte("b"))},
		Tests: map[string]string{"store_test.go": Of([]byte("a")), "cmd/run/main_test.go": Of(nil)},
	}
	require.NoError(t, list.Write(dir))
	read, err := Read(dir)
	require.NoError(t, err)
	require.Equal(t, list, read)
}

// The list is in git, so it must not change when no file has changed.
func TestWrite_sorts_and_prints_in_the_form_of_sha256sum(t *testing.T) {
	dir := t.TempDir()
	list := New()
	for _, name := range []string{"c_test.go", "b.go", "d.go", "a_test.go"} {
		list.Add(name, "sum of "+name)
	}
	require.NoError(t, list.Write(dir))
	text, err := os.ReadFile(filepath.Join(dir, "checksums.txt"))
	require.NoError(t, err)
	require.Equal(t, "sum of b.go  b.go\nsum of d.go  d.go\nsum of a_test.go  a_test.go\nsum of c_test.go  c_test.go\n",
		string(text))
	require.Equal(t, "6c62272e07bb014262b821756295c58d", Of(nil))
}

func TestRead_of_a_missing_list_returns_an_empty_one(t *testing.T) {
	list, err := Read(filepath.Join(t.TempDir(), "none"))
	require.NoError(t, err)
	require.Equal(t, New(), list)
	require.NotNil(t, list.Stubs)
}

func TestRead_accepts_blank_lines_and_Windows_line_ends(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, Name), []byte("1  a.go\r\n\r\n2  b_test.go\r\n"), 0o644))
	list, err := Read(dir)
	require.NoError(t, err)
	require.Equal(t, List{map[string]string{"a.go": "1"}, map[string]string{"b_test.go": "2"}}, list)
}

func TestErrors_name_the_file_and_the_line(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, Name), []byte("1  a.go\n<<<<<<< HEAD\n"), 0o644))
	_, err := Read(dir)
	require.ErrorContains(t, err, filepath.Join(dir, Name))
	require.ErrorContains(t, err, "<<<<<<< HEAD")
	require.NoError(t, os.Remove(filepath.Join(dir, Name)))
	require.NoError(t, os.Mkdir(filepath.Join(dir, Name), 0o755))
	_, err = Read(dir)
	require.ErrorContains(t, err, "read checksums")
	require.ErrorContains(t, New().Write(filepath.Join(dir, "none")), "write checksums")
}
