package customresource

// The program's registry, and the files that are made from the definition.

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFileRegistry_replaces_and_removes(t *testing.T) {
	r := FileRegistry{t.TempDir()}
	entry := Entry{ID: "uid-1", Namespace: "default", Name: "demo", Chain: "regtest"}
	require.NoError(t, r.Register(t.Context(), entry))
	entry.Chain = "test"
	require.NoError(t, r.Register(t.Context(), entry), "the second entry of an ID replaces the first one")
	files, err := os.ReadDir(r.Dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(filepath.Join(r.Dir, "uid-1.json"))
	require.NoError(t, err)
	require.Contains(t, string(data), `"Chain":"test"`)
	require.NoError(t, r.Remove(t.Context(), "uid-1"))
	require.NoError(t, r.Remove(t.Context(), "uid-1"), "an ID without an entry is not an error")
	require.NoFileExists(t, filepath.Join(r.Dir, "uid-1.json"))
}

func TestFileRegistry_says_what_it_tried(t *testing.T) {
	r := FileRegistry{filepath.Join(t.TempDir(), "missing")}
	require.ErrorContains(t, r.Register(t.Context(), Entry{ID: "uid-1"}), "writing an entry")
}

func TestDeployed_definition_is_that_of_Manifest(t *testing.T) {
	content, err := os.ReadFile("deploy/crd.yaml")
	require.NoError(t, err)
	require.Equal(t, Manifest(), string(content), "run the program with --print-crd, and write its output to deploy/crd.yaml")
}
