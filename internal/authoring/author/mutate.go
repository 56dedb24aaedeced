package author

// This file is `author mutate`: small mechanical changes of a chapter's solution (== becomes !=, < becomes <=), each
// under the chapter's tests. bugs.txtar has the mistakes that people make; these are those that nobody thought of.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/authoring/verify"
	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/overlay"
)

// survivors is a file in a solution's folder. A line has a mutant that no test can catch, and the reason:
// "index.go CONDITIONALS_BOUNDARY if n > 0 { => with n = 0 the loop does nothing".
const survivors = "survivors.txt"

// mutator is the program that makes the mutants, with the kinds of changes that it leaves out unless it is asked.
var mutator = strings.Fields(`tool -modfile=.ci/mutate/go.mod gremlins unleash --silent --workers=1
	--timeout-coefficient=10 --invert-logical --invert-loopctrl --invert-assignments --remove-self-assignments`)

func newMutate() *cobra.Command {
	return &cobra.Command{
		Use:   "mutate chapter…",
		Short: "Change a solution mechanically, and list the changes that no test notices",
		Long: `Change a solution mechanically, one operator at a time, and list the changes that no
test notices. Each needs a test; one that changes nothing but speed needs a line with
the reason in the solution's ` + survivors + `. A chapter takes 5 to 40 minutes.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, some, err := chapters(args)
			if err != nil {
				return err
			}
			left := 0
			for _, c := range some {
				n, err := mutate(cmd, root, c)
				if err != nil {
					return fmt.Errorf("mutate %s: %w", c.Dir, err)
				}
				left += n
			}
			if left == 0 {
				return nil
			}
			return fmt.Errorf("%d findings: what passes needs a test, or a line in %s with the reason", left, survivors)
		},
	}
}

// mutate prints a chapter's mutants that pass its tests without a reason, and the reasons without a mutant. It returns
// the number of both.
func mutate(cmd *cobra.Command, root string, c course.Chapter) (open int, err error) {
	reasons, err := verify.Reasons(filepath.Join(root, c.Solution(), survivors), " => ")
	if err != nil {
		return 0, err
	}
	folder, err := os.MkdirTemp("", "mutate-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	// The chapter is as it is on the disk, with its solution in place of the stub; the rest is as in git's index.
	index := []string{"git", "checkout-index", "--all", "--prefix=" + folder + string(filepath.Separator)}
	if err := in(root, overlay.Command(cmd.Context(), index...)); err != nil {
		return 0, err
	}
	pkg, err := finish(root, c, filepath.Join(folder, c.Dir))
	if err != nil {
		return 0, err
	}
	renamed, err := rename(folder, c.Dir, pkg)
	if err != nil {
		return 0, err
	}
	report := filepath.Join(folder, "mutants.json")
	unleash := append(slices.Clone(mutator), "--output="+report, "./"+renamed)
	if err := in(folder, overlay.GoCommand(cmd.Context(), unleash...)); err != nil {
		return 0, err
	}
	all, err := readMutants(report, filepath.Join(folder, renamed))
	if err != nil {
		return 0, err
	}
	out, explained := cmd.OutOrStdout(), map[string]bool{}
	for _, m := range all {
		switch key := m.key(); {
		case m.Status != "LIVED": // NOT COVERED are constants and conditions of cases, which go test does not measure
		case reasons[key] != "":
			explained[key] = true
		default:
			place := fmt.Sprintf("%s/%s:%d:%d", c.Solution(), m.File, m.Line, m.Column)
			fmt.Fprintf(out, "%s: %s\n  %s\n", place, strings.ToLower(m.Status), key)
			open++
		}
	}
	for key := range reasons {
		if !explained[key] {
			fmt.Fprintf(out, "%s/%s: a test fails, or the line is gone\n  %s\n", c.Solution(), survivors, key)
			open++
		}
	}
	fmt.Fprintf(out, "%s: %d mutants, %d pass for a known reason, %d findings\n", c.Dir, len(all), len(explained), open)
	return open, nil
}

func in(dir string, command *exec.Cmd) error {
	command.Dir = dir
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command.Args[:3], " "), err, said)
	}
	return nil
}

// finish writes a chapter's solution and tests into a folder. It returns the name of the package.
func finish(root string, c course.Chapter, folder string) (pkg string, err error) {
	files, err := course.Code(filepath.Join(root, c.Solution()))
	if err != nil {
		return "", err
	}
	for name, text := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly)
		if err != nil {
			return "", err
		}
		pkg = tree.Name.Name
	}
	tests, _ := filepath.Glob(filepath.Join(root, c.Dir, "*_test.go")) // the pattern is right
	for _, path := range tests {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return "", err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return "", err
		}
	}
	return pkg, nil
}

// rename gives the folder of a chapter the name of its package, in a copy of the workshop. It returns the new folder.
// The mutation tester looks for a folder whose name ends with the package's. Without one it runs no test, and counts
// each mutant as caught.
func rename(copied, dir, pkg string) (renamed string, err error) {
	renamed = path.Join(path.Dir(dir), pkg)
	if err := os.Rename(filepath.Join(copied, dir), filepath.Join(copied, renamed)); err != nil {
		return "", err
	}
	before, after := []byte(`"client-go-workshop/`+dir), []byte(`"client-go-workshop/`+renamed)
	return renamed, filepath.WalkDir(copied, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(file, bytes.ReplaceAll(text, before, after), 0o644)
	})
}

// mutant is a change at one place.
type mutant struct {
	File         string
	Line, Column int
	Type         string // the kind of the change, such as CONDITIONALS_BOUNDARY
	Status       string // such as KILLED and LIVED
	text         string // the line before the change
}

// key names a mutant in survivors.txt. It stays the same when the line moves.
func (m mutant) key() string { return m.File + " " + m.Type + " " + m.text }

// readMutants reads the mutation tester's report on a folder.
func readMutants(report, folder string) (all []mutant, err error) {
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var found struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []mutant
		}
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("read the mutation tester's report: %w", err)
	}
	for _, f := range found.Files {
		source, err := os.ReadFile(filepath.Join(folder, f.Name))
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(source), "\n")
		for _, m := range f.Mutations {
			m.File, m.text = f.Name, strings.TrimSpace(lines[m.Line-1])
			all = append(all, m)
		}
	}
	return all, nil
}
