// Package anchor keeps a chapter's wrong versions in step with its solution.
//
// A wrong version is a diff of whole declarations, so it holds the declaration that it was made from. If the solution's
// declaration has changed since, Update merges three texts: the old declaration, the wrong one and the new one. It
// returns the wrong versions whose merge has a conflict; their authors rewrite them.
//
// Merging needs git. Check does not.
package anchor

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

const command = "go tool author generate"

// Check returns the wrong versions of a set that Update would change or report.
func Check(set bugs.Set) (problems []string) {
	for _, b := range set.Bugs {
		for i := range b.Changes {
			was := b.Changes[i]
			conflict := fit(&b.Changes[i], set.Code.Files, func(_, _, _ string) (string, error) { return "", errConflict })
			if conflict != nil || b.Changes[i] != was {
				problems = append(problems, fmt.Sprintf("the wrong version %s is not made from the %s's %s in %s; run `%s`",
					b.Name, set.Code.Name, was.Symbol, was.File, command))
			}
		}
	}
	return problems
}

// Update merges changes of the right code into the wrong versions of a set, and writes its file. It returns the names
// of the wrong versions that it changed, and a sentence for each that needs an author.
func Update(set bugs.Set) (changed, conflicts []string, err error) {
	if set.Bugs == nil {
		return nil, nil, nil
	}
	for _, b := range set.Bugs {
		was := slices.Clone(b.Changes)
		for i := range b.Changes {
			if err := fit(&b.Changes[i], set.Code.Files, merge); err != nil {
				conflicts = append(conflicts,
					fmt.Sprintf("the wrong version %s, %s %s: %v", b.Name, was[i].File, was[i].Symbol, err))
			}
		}
		if !slices.Equal(was, b.Changes) {
			changed = append(changed, b.Name)
		}
	}
	path := filepath.Join(set.Dir, set.File)
	old, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if now := bugs.Format(string(txtar.Parse(old).Comment), set.Bugs); !bytes.Equal(now, old) {
		err = os.WriteFile(path, now, 0o644)
	}
	return changed, conflicts, err
}

var errConflict = errors.New("the solution has changed in the same lines; " +
	"put the whole wrong declaration here, without diff marks")

// fit makes a change fit today's solution. It leaves the change as it was if it returns an error.
func fit(c *bugs.Change, files []overlay.File, merge func(now, old, wrong string) (string, error)) error {
	if c.Symbol == bugs.Imports {
		return nil
	}
	wrong, err := gofmt(c.Wrong)
	if err != nil {
		return err
	}
	file, now, err := locate(*c, files)
	switch {
	case err != nil:
		return err
	case now == "" && c.Right != "":
		return errors.New("the solution does not declare it; name the declaration that has taken its place")
	case c.Right != "" && c.Right != now:
		if wrong, err = merge(now, c.Right, wrong); err != nil {
			return err
		}
	}
	if wrong == now {
		return errors.New("it is the solution's declaration")
	}
	*c = bugs.Change{File: file, Symbol: c.Symbol, Right: now, Wrong: wrong}
	return nil
}

// locate returns the file that declares the change's symbol, and the declaration. That may be another file than before;
// if no file declares it, the file is the same, and the declaration is empty.
func locate(c bugs.Change, files []overlay.File) (file, declaration string, err error) {
	file = c.File
	for _, f := range files {
		text, err := bugs.Declaration(f.Content, c.Symbol)
		if err != nil {
			return "", "", err
		}
		if text != "" && (declaration == "" || f.Name == c.File) {
			file, declaration = f.Name, text
		}
	}
	return file, declaration, nil
}

// gofmt formats one declaration. It accepts an empty one.
func gofmt(declaration string) (string, error) {
	out, err := format.Source([]byte("package p\n\n" + declaration + "\n"))
	if err != nil {
		return "", fmt.Errorf("the wrong declaration is not Go: %w", err)
	}
	tree, err := parser.ParseFile(token.NewFileSet(), "", out, parser.SkipObjectResolution)
	if err == nil && len(tree.Decls) > 1 {
		err = fmt.Errorf("%d declarations in one part; a part has one", len(tree.Decls))
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "package p\n")), err
}

// merge applies the difference between old and wrong to now.
func merge(now, old, wrong string) (string, error) {
	dir, err := os.MkdirTemp("", "workshop-merge-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"now": now, "old": old, "wrong": wrong} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
			return "", err
		}
	}
	cmd := exec.Command("git", "merge-file", "-p", "-q", "now", "old", "wrong")
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() < 128: // the number of conflicts
		return "", errConflict
	case err != nil:
		return "", fmt.Errorf("git merge-file: %w", err)
	}
	merged, err := gofmt(strings.TrimSuffix(string(out), "\n"))
	if err == nil && merged == now {
		err = errors.New("nothing of it is left: the solution has taken up the same change")
	}
	return merged, err
}
