// From one clone's programs to another's, and every way in which that must fail.

package build

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/cluster/internal/workspace"
)

// newBuilt is a clone with programs in it that are as good as built.
func newBuilt(t *testing.T) workspace.Workspace {
	t.Helper()
	w := newWorkspace(t)
	for _, name := range Programs {
		write(t, w.Program(name), "the program "+name)
	}
	made, err := stamp(w)
	require.NoError(t, err)
	require.NoError(t, writeStamp(w, made))
	return w
}

// serve serves a pack as `workshop share` does.
func serve(t *testing.T, pack []byte) string {
	t.Helper()
	name := "cluster-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /files/SHA256SUMS", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%x  go1.26.8.msi\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(pack), name)
	})
	mux.HandleFunc("GET /files/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pack) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestFetchedProgramsAreThePackedOnes(t *testing.T) {
	theirs := newBuilt(t)
	require.NoError(t, Pack(t.Context(), theirs, io.Discard))
	pack, err := os.ReadFile(theirs.Pack())
	require.NoError(t, err)
	var said bytes.Buffer
	require.NoError(t, Pack(t.Context(), theirs, &said))
	require.Empty(t, said.String(), "a pack that is current is left as it is")

	ours := newWorkspace(t)
	url := serve(t, pack)
	require.NoError(t, Fetch(t.Context(), ours, url+"/", &said))
	require.Contains(t, said.String(), "6 programs, built with "+runtime.Version())
	require.Contains(t, said.String(), fmt.Sprintf("%x", sha256.Sum256(pack))[:16])
	for _, name := range Programs {
		content, err := os.ReadFile(ours.Program(name))
		require.NoError(t, err)
		require.Equal(t, "the program "+name, string(content))
		info, err := os.Stat(ours.Program(name))
		require.NoError(t, err)
		require.True(t, runtime.GOOS == "windows" || info.Mode()&0o100 != 0, "%s can be run", name)
	}
	require.NoError(t, Ensure(t.Context(), ours, io.Discard), "nothing is left to build")

	said.Reset()
	require.NoError(t, Fetch(t.Context(), ours, "http://127.0.0.1:1", &said))
	require.Contains(t, said.String(), "here already", "nothing is asked for that is here")
}

func TestPackFollowsThePrograms(t *testing.T) {
	w := newBuilt(t)
	require.NoError(t, Pack(t.Context(), w, io.Discard))
	before, err := packed(w.Pack())
	require.NoError(t, err)
	write(t, filepath.Join(w.Module(), "cmd", "kwok", "main.go"), "package main // changed\n")
	made, err := stamp(w)
	require.NoError(t, err)
	require.NoError(t, writeStamp(w, made))
	require.NoError(t, Pack(t.Context(), w, io.Discard))
	after, err := packed(w.Pack())
	require.NoError(t, err)
	require.NotEqual(t, before, after)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(w.Pack()), ".packing-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// entry is one of a pack that somebody else has made.
type entry struct {
	name, content string
	kind          byte
}

func packOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o755, Size: int64(len(e.content))}
		if e.kind == tar.TypeSymlink {
			header.Linkname, header.Size = e.content, 0
		}
		require.NoError(t, archive.WriteHeader(header))
		if header.Size > 0 {
			_, err := io.WriteString(archive, e.content)
			require.NoError(t, err)
		}
	}
	require.NoError(t, archive.Close())
	require.NoError(t, zipped.Close())
	return b.Bytes()
}

func TestFetchTakesNothingElse(t *testing.T) {
	w := newWorkspace(t)
	made, err := stamp(w)
	require.NoError(t, err)
	first := entry{madeFrom, made, tar.TypeReg}
	etcd := filepath.Base(w.Program("etcd"))
	for want, pack := range map[string][]byte{
		"made from other sources":     packOf(t, entry{madeFrom, runtime.Version() + " 1234", tar.TypeReg}),
		"it begins with":              packOf(t, entry{etcd, "x", tar.TypeReg}),
		"unpacking: gzip":             []byte("hello, this is no archive"),
		"is missing":                  packOf(t, first, entry{etcd, "x", tar.TypeReg}),
		`"../etcd" should not be`:     packOf(t, first, entry{"../etcd", "x", tar.TypeReg}),
		`"build.lock" should not`:     packOf(t, first, entry{"build.lock", "x", tar.TypeReg}),
		`"` + etcd + `" should not b`: packOf(t, first, entry{etcd, "/bin/sh", tar.TypeSymlink}),
		`"` + etcd + `" should not`:   packOf(t, first, entry{etcd, "x", tar.TypeReg}, entry{etcd, "y", tar.TypeReg}),
	} {
		err := Fetch(t.Context(), w, serve(t, pack), io.Discard)
		require.ErrorContains(t, err, want)
		left, err := filepath.Glob(filepath.Join(w.Bin(), "*"))
		require.NoError(t, err)
		require.Equal(t, []string{w.BuildLock()}, left, "%s: nothing is left behind", want)
	}
}

func TestFetchSaysWhatIsWrongThere(t *testing.T) {
	w := newWorkspace(t)
	for _, address := range []string{"192.168.1.7:7100", "ftp://192.168.1.7", "file:///tmp", "", "http://"} {
		require.ErrorContains(t, Fetch(t.Context(), w, address, io.Discard), "is no address of a machine that shares",
			address)
	}
	require.ErrorContains(t, Fetch(t.Context(), w, "http://127.0.0.1:1", io.Discard),
		"does `go tool workshop share` run there")

	elsewhere := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	t.Cleanup(elsewhere.Close)
	require.ErrorContains(t, Fetch(t.Context(), w, elsewhere.URL, io.Discard), "302 Found")

	empty := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(empty.Close)
	require.ErrorContains(t, Fetch(t.Context(), w, empty.URL, io.Discard),
		"there is none for "+runtime.GOOS+"/"+runtime.GOARCH)

	broken := httptest.NewServer(http.HandlerFunc(func(wr http.ResponseWriter, r *http.Request) {
		if filepath.Base(r.URL.Path) == "SHA256SUMS" {
			fmt.Fprintf(wr, "%x  %s\n", sha256.Sum256([]byte("whole")), filepath.Base(w.Pack()))
			return
		}
		fmt.Fprint(wr, "half")
	}))
	t.Cleanup(broken.Close)
	require.ErrorContains(t, Fetch(t.Context(), w, broken.URL, io.Discard), "try again")

	ctx, cancel := context.WithCancelCause(t.Context())
	gone := fmt.Errorf("gone for lunch")
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(gone)
		<-r.Context().Done()
	}))
	t.Cleanup(stuck.Close)
	require.ErrorIs(t, Fetch(ctx, w, stuck.URL, io.Discard), gone)
}
