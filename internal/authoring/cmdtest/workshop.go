package cmdtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"client-go-workshop/internal/course"
)

// Add writes the files of a txtar file to the folder root. It returns an error if one of them exists.
//
// A txtar file cannot contain another one. In a file of the archive that is one, the markers begin with a space.
func Add(root, archive string) error {
	a, err := txtar.ParseFile(archive)
	if err != nil {
		return err
	}
	for i, f := range a.Files {
		if strings.HasSuffix(f.Name, ".txtar") {
			a.Files[i].Data = []byte(strings.ReplaceAll("\n"+string(f.Data), "\n -- ", "\n-- ")[1:])
		}
	}
	files, err := txtar.FS(a)
	if err != nil {
		return err
	}
	return os.CopyFS(root, files)
}

// Workshop writes the small workshop in a txtar file to the folder root: the files of the archive as Add does, go.mod,
// go.sum, and the packages that the tests of chapters import, with all that those import from this module.
func Workshop(root, archive string) error {
	if err := Add(root, archive); err != nil {
		return err
	}
	from, err := course.Root(".")
	if err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, name), content, 0o644); err != nil {
			return err
		}
	}
	dirs, err := testPackages()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		to, err := filepath.Rel(from, dir)
		if err != nil {
			return err
		}
		if err := os.CopyFS(filepath.Join(root, to), os.DirFS(dir)); err != nil {
			return err
		}
	}
	return nil
}

// testPackages returns the folders of this module's packages that the tests of chapters import.
var testPackages = sync.OnceValues(func() ([]string, error) {
	from, err := course.Root(".")
	if err != nil {
		return nil, err
	}
	const folders = `{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}`
	cmd := exec.Command("go", "list", "-deps", "-f", folders, "./internal/testkit/guard", "./internal/testkit/todo")
	cmd.Dir = from
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages that the chapters' tests import: %w", err)
	}
	return strings.Fields(string(out)), nil
})
