package share

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// PutModules puts out the modules that the given go.sum files name, from the download folder of a module cache, and
// returns how many of them there are with their source. Nothing else in that folder can be had, and that is the point:
// the cache of somebody who works has the modules of that work in it. What a go.sum names is in the repository for all
// to read.
func (s *Shelf) PutModules(download string, goSums ...string) (int, error) {
	root, err := s.open(download)
	if err != nil {
		return 0, fmt.Errorf("open the module cache: %w; `go env GOMODCACHE` says where it is, "+
			"and `go mod download` fills it", err)
	}
	zips := 0
	versions := map[string]map[string]bool{}
	for _, goSum := range goSums {
		text, err := os.ReadFile(goSum)
		if err != nil {
			return 0, fmt.Errorf("read which modules the workshop needs: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) == 0 {
				continue
			}
			if len(fields) != 3 {
				return 0, fmt.Errorf("read which modules the workshop needs: %s has a line that is none of go.sum's: %q", goSum,
					line)
			}
			version, onlyMod := strings.CutSuffix(fields[1], "/go.mod")
			folder := escape(fields[0]) + "/@v/"
			endings := []string{".mod", ".info"}
			if !onlyMod {
				endings = append(endings, ".zip")
			}
			for _, ending := range endings {
				name := folder + escape(version) + ending
				if _, known := s.items["/"+name]; known {
					continue
				}
				it := item{kind: plain}
				if ending == ".zip" {
					it.kind = "application/zip"
				}
				if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() {
					it.root, it.name = root, name
				} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return 0, fmt.Errorf("look for a module in the cache: %w", err)
				}
				s.items["/"+name] = it
				if ending == ".zip" && it.root != nil {
					zips++
					if versions[folder] == nil {
						versions[folder] = map[string]bool{}
					}
					versions[folder][version] = true
				}
			}
		}
	}
	// The cache's own list has versions that are not here.
	for folder, some := range versions {
		var list []string
		for version := range some {
			list = append(list, version+"\n")
		}
		s.items["/"+folder+"list"] = item{content: []byte(strings.Join(list, "")), kind: plain}
	}
	return zips, nil
}

// escape writes a module path or version as the protocol does, for file systems that do not tell A from a: !a.
func escape(name string) string {
	var b strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('!')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// ModuleCache is the download folder of the module cache that the go command uses.
func ModuleCache(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE").Output()
	if err != nil {
		return "", fmt.Errorf("ask `go env GOMODCACHE` where the module cache is: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "cache", "download"), nil
}

// Complete returns an error unless this machine has every module that the main module in dir requires, on whatever
// system. It asks the go command, which looks at nothing but the cache.
func Complete(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS=")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	failed := cmd.Run()
	var missing []string
	for decoder := json.NewDecoder(&stdout); ; {
		var m struct{ Path, Version, Error string }
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("read what `go mod download -json` says in %s: %w", dir, err)
		}
		if m.Error != "" {
			missing = append(missing, m.Path+"@"+m.Version)
		}
	}
	switch {
	case failed == nil && missing == nil:
		return nil
	case missing == nil: // not even what the modules require in turn can be read
		return fmt.Errorf("the module cache is not complete: run go mod download in %s, with internet; without, it says: "+
			"%s (%w)",
			dir, bytes.TrimSpace(stderr.Bytes()), failed)
	case len(missing) > 3:
		missing = append(missing[:3:3], fmt.Sprintf("%d more", len(missing)-3))
	}
	return fmt.Errorf("the module cache lacks %s: run go mod download in %s, with internet", strings.Join(missing, ", "),
		dir)
}
