package cmdtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"

	"client-go-workshop/internal/course"
)

// Workshop writes the small workshop in a txtar file to the folder root: the files of the archive, go.mod, go.sum, and
// the packages that the tests of chapters import, with all that those import from this module.
//
// A txtar file cannot contain another one. In a file of the archive that is one, the markers begin with a space.
func Workshop(root, archive string) error {
	a, err := txtar.ParseFile(archive)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, f := range a.Files {
		files[f.Name] = f.Data
		if strings.HasSuffix(f.Name, ".txtar") {
			files[f.Name] = []byte(strings.ReplaceAll("\n"+string(f.Data), "\n -- ", "\n-- ")[1:])
		}
	}
	from, err := course.Root(".")
	if err != nil {
		return err
	}
	paths, err := sources(from, "./internal/testkit/guard", "./internal/testkit/todo")
	if err != nil {
		return err
	}
	for _, name := range append(paths, "go.mod", "go.sum") {
		if files[name], err = os.ReadFile(filepath.Join(from, name)); err != nil {
			return err
		}
	}
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sources lists the non-test Go files of some packages and of all packages of this module that they import, relative to
// the root. Files for other systems are included.
func sources(root string, packages ...string) (names []string, err error) {
	const dirs = `{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}`
	cmd := exec.Command("go", append([]string{"list", "-deps", "-f", dirs}, packages...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages that the chapters' tests import: %w", err)
	}
	for dir := range strings.Lines(string(out)) {
		paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(dir), "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			if err != nil {
				return nil, err
			}
			if !strings.HasSuffix(name, "_test.go") {
				names = append(names, name)
			}
		}
	}
	return names, nil
}
