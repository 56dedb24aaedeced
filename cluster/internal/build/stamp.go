// The stamp: a hash of everything that the programs are made from, written
// next to them. A clock would not do: git sets modification times as it likes.

package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"client-go-workshop/cluster/internal/workspace"
)

// stamp says what the programs would be made from now: the Go that makes them,
// which is the one that built the launcher, and the sources.
func stamp(w workspace.Workspace) (string, error) {
	sources, err := sources(w)
	return runtime.Version() + " " + sources, err
}

// sources is the hash of the sources as they are now, for this platform. The
// launcher's own packages are not among them: no program imports one.
func sources(w workspace.Workspace) (string, error) {
	files := []string{"go.mod", "go.sum"} // go.sum in turn pins every module's content
	for _, name := range Programs {
		sources, err := filepath.Glob(filepath.Join(w.Module(), "cmd", name, "*.go"))
		if err != nil {
			return "", fmt.Errorf("looking for the source of %s: %w", name, err)
		}
		for _, source := range sources {
			files = append(files, filepath.Join("cmd", name, filepath.Base(source)))
		}
	}
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.GOOS, runtime.GOARCH)
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(w.Module(), file))
		if err != nil {
			return "", fmt.Errorf("reading the source of the cluster's programs: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n", filepath.ToSlash(file), len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func stampFile(w workspace.Workspace) string { return filepath.Join(w.Bin(), "cluster-programs.stamp") }

// current reports whether all programs are there and made from the sources
// that want is the stamp of.
func current(w workspace.Workspace, want string) bool {
	have, err := os.ReadFile(stampFile(w))
	if err != nil || string(have) != want {
		return false
	}
	return !slices.ContainsFunc(Programs, func(name string) bool {
		_, err := os.Stat(w.Program(name))
		return err != nil
	})
}

func writeStamp(w workspace.Workspace, content string) error {
	if err := os.WriteFile(stampFile(w), []byte(content), 0o644); err != nil {
		return fmt.Errorf("noting what the programs were built from: %w", err)
	}
	return nil
}
