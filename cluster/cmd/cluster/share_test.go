// Programs from another machine's clone.

package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// An attendee's clone has no programs, and needs no Go to get them and to run
// them. It is the same folder here, emptied.
func TestFetchedProgramsRun(t *testing.T) {
	r := newRepository(t)
	r.must(0, "pack")
	pack, err := os.ReadFile(r.Pack())
	require.NoError(t, err)
	name := filepath.Base(r.Pack())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /files/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pack) })
	mux.HandleFunc("GET /files/SHA256SUMS", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(pack), name)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	require.NoError(t, os.RemoveAll(r.Bin()))
	require.NoError(t, os.Remove(r.Pack()))

	for _, args := range [][]string{{"fetch", server.URL}, {"up"}} {
		cmd := launch(r.Root(), args...)
		cmd.Env = append(cmd.Env, "PATH="+t.TempDir())
		got, err := finish(cmd)
		require.NoError(t, err)
		require.Equal(t, 0, got.code, "%v: %s", args, got.stderr)
		require.NotContains(t, got.stderr, "Building")
	}
}
