package main

// This file adds to the catalogue those modules of the module cache that the workshop needs.
//
// The files below GOMODCACHE/cache/download have the paths of the module proxy protocol, so a proxy only has to serve
// them. The cache may also contain modules of the instructor's other work, so only those in a go.sum are served.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/mod/module"
)

// addModules adds the modules that some go.sum files name, from the download folder of a module cache. It returns the
// number of modules that are there with their source.
func (c *catalogue) addModules(download string, goSums ...string) (zips int, err error) {
	cache, err := os.OpenRoot(download)
	if err != nil {
		return 0, fmt.Errorf("open the module cache: %w; `go env GOMODCACHE` prints its folder, "+
			"and `go mod download` fills it", err)
	}
	for _, goSum := range goSums {
		text, err := os.ReadFile(goSum)
		if err != nil {
			return 0, fmt.Errorf("read which modules the workshop needs: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			n, err := c.addModule(cache, strings.Fields(line))
			if err != nil {
				return 0, fmt.Errorf("%s: %q: %w", goSum, strings.TrimSpace(line), err)
			}
			zips += n
		}
	}
	return zips, nil
}

// addModule adds the files of the module version in one line of a go.sum. It returns 1 if its source is new, else 0.
func (c *catalogue) addModule(cache *os.Root, fields []string) (zips int, err error) {
	if len(fields) == 0 {
		return 0, nil
	}
	if len(fields) != 3 {
		return 0, errors.New("not a line of a go.sum")
	}
	version, onlyMod := strings.CutSuffix(fields[1], "/go.mod")
	escapedPath, pathErr := module.EscapePath(fields[0])
	escapedVersion, versionErr := module.EscapeVersion(version)
	if err := errors.Join(pathErr, versionErr); err != nil {
		return 0, err
	}
	folder := escapedPath + "/@v/"
	for _, ending := range []string{".mod", ".info", ".zip"} {
		name := folder + escapedVersion + ending
		if _, known := c.items["/"+name]; known || ending == ".zip" && onlyMod {
			continue
		}
		c.items["/"+name] = item{folder: cache, name: name}
		_, err := cache.Stat(name)
		if err == nil && ending == ".zip" { // the cache's own list names versions that are not served
			list := c.items["/"+folder+"list"].content
			c.items["/"+folder+"list"] = item{content: append(list, version+"\n"...)}
			zips = 1
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("look for it in the module cache: %w", err)
		}
	}
	return zips, nil
}

// complete returns an error unless the module cache has every module that the main module in dir requires, on any
// system. It uses no network. The error names three modules at most.
func complete(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return nil
	}
	var missing []string
	for decoder := json.NewDecoder(bytes.NewReader(out)); len(missing) < 3; {
		var m struct{ Path, Version, Error string }
		if decoder.Decode(&m) != nil {
			break
		}
		if m.Error != "" {
			missing = append(missing, m.Path+"@"+m.Version)
		}
	}
	lacks := cmp.Or(strings.Join(missing, ", "), strings.TrimSpace(stderr.String()))
	return fmt.Errorf("the module cache is not complete: run go mod download in %s, with internet; it lacks: %s (%w)",
		dir, lacks, err)
}
