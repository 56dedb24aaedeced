// What the launcher's own tests (cmd/cluster), which build for real, cannot see.

package build

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/cluster/internal/workspace"
)

func newWorkspace(t *testing.T) workspace.Workspace {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "cluster", "go.mod"), "module client-go-workshop/cluster\n")
	write(t, filepath.Join(root, "cluster", "go.sum"), "")
	for _, name := range Programs {
		write(t, filepath.Join(root, "cluster", "cmd", name, "main.go"), "package main\n")
	}
	w, err := workspace.At(root)
	require.NoError(t, err)
	return w
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func TestStampChangesWithEverySource(t *testing.T) {
	w := newWorkspace(t)
	before, err := stamp(w)
	require.NoError(t, err)
	again, err := stamp(w)
	require.NoError(t, err)
	require.Equal(t, before, again)

	seen := map[string]string{before: "nothing"}
	for _, file := range []string{"go.mod", "go.sum", "cmd/etcd/main.go", "cmd/kwok/main.go", "cmd/kwok/more.go"} {
		path := filepath.Join(w.Module(), filepath.FromSlash(file))
		content, _ := os.ReadFile(path)
		write(t, path, string(content)+"// changed\n")
		after, err := stamp(w)
		require.NoError(t, err)
		require.Empty(t, seen[after], "a change of %s must change the stamp", file)
		seen[after] = file
	}
	latest, err := stamp(w)
	require.NoError(t, err)
	write(t, filepath.Join(w.Module(), "internal", "launcher", "start.go"), "package launcher\n")
	after, err := stamp(w)
	require.NoError(t, err)
	require.Equal(t, latest, after, "no program is made from the launcher's source: no reason for minutes of building")
}

func TestCurrent(t *testing.T) {
	w := newWorkspace(t)
	want, err := stamp(w)
	require.NoError(t, err)
	require.False(t, current(w, want))
	for _, name := range Programs {
		write(t, w.Program(name), "")
	}
	require.False(t, current(w, want), "programs of unknown origin")
	require.NoError(t, writeStamp(w, want))
	require.True(t, current(w, want))
	require.False(t, current(w, "another stamp"))
	require.NoError(t, os.Remove(w.Program("kwok")))
	require.False(t, current(w, want), "a program is missing")
}

func TestFullDiskIsOneSentence(t *testing.T) {
	err := buildError("build", errors.New("exit status 1"), "# x\nwrite $WORK/b001/pkg.a: no space left on device")
	require.ErrorContains(t, err, "the disk is full")
	require.NotContains(t, err.Error(), "\n")
}

// Everything that the go command says lands in one of four places.
func TestProgressReadsTheGoCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := startProgress(&out)
		lines := &lineWriter{each: p.line}
		say := func(text string) {
			_, err := lines.Write([]byte(text))
			require.NoError(t, err)
		}
		say("go: downloading k8s.io/api v0.36.3\ngo: downl")
		say("oading k8s.io/utils v0.1.0\n")
		p.show()
		p.expect(work{"internal/abi": 100, "k8s.io/api/core/v1": 1000, "client-go-workshop/cluster/cmd/etcd": 1900,
			"sigs.k8s.io/kwok/pkg/kwok/cmd": 999, "last": 6000})
		p.show()
		say("internal/abi\n")
		time.Sleep(3 * time.Second)
		say("k8s.io/api/core/v1\r\n")
		p.show()
		time.Sleep(30 * time.Second)
		say("client-go-workshop/cluster/cmd/etcd\n")
		p.show()
		time.Sleep(267 * time.Second)
		say("sigs.k8s.io/kwok/pkg/kwok/cmd\n# k8s.io/api/core/v1\nx.go:1:1: oops")
		lines.flush()
		p.show()
		p.stop()

		require.Equal(t, 2, p.fetched)
		require.Equal(t, []string{"etcd"}, p.linking, "a package of another module is no program of ours")
		require.Equal(t, "# k8s.io/api/core/v1\nx.go:1:1: oops", p.complaints())
		for _, line := range []string{
			"    0:00  fetching modules: 2 so far",
			"    0:00  looking for what has to be compiled",
			"    0:03   1% done: k8s.io/api/core/v1", // too soon to say how long it takes
			"    0:33  etcd is compiled and being linked (1 of 6)",
			"    0:33  11% done, about 5 min left: linking takes a while now",
			"    5:00  30% done, about 12 min left: sigs.k8s.io/kwok/pkg/kwok/cmd", // the machine has become busy
		} {
			require.Contains(t, out.String(), line+"\n")
		}
		require.False(t, strings.Contains(out.String(), "\r"), "no terminal, no escape sequences")
	})
}

func TestWorkIsTheSizeOfWhatIsNotInTheCache(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.go"), "package a\n")
	write(t, filepath.Join(dir, "b.go"), "package a\n\nvar b int\n")
	write(t, filepath.Join(dir, "a_test.go"), strings.Repeat("// long\n", 1000))
	list := func(path string, stale bool, files string) string {
		return fmt.Sprintf(`{"ImportPath": %q, "Dir": %q, "GoFiles": [%s], "Stale": %t}`, path, dir, files, stale)
	}
	w, err := readWork([]byte(list("k8s.io/a", true, `"a.go", "b.go"`) + list("fmt", false, `"a.go"`) +
		list("unsafe", true, "") + list("client-go-workshop/cluster/cmd/etcd", true, `"a.go"`)))
	require.NoError(t, err)
	require.Equal(t, work{"k8s.io/a": startWeight + 31, "unsafe": startWeight,
		"client-go-workshop/cluster/cmd/etcd": startWeight + 10 + linkWeight}, w)
	_, err = readWork([]byte("{"))
	require.ErrorContains(t, err, "reading what there is to build")
}
