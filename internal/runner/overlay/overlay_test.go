package overlay

// Each trap of overlays is shown here twice: sprung, with a hand-made overlay or command, so that we would notice if Go
// changed; and harmless, with this package.

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module makes a throw-away module with one chapter, whose learner has written Answer wrong.
func module(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "")
	write(t, root, "go.mod", "module client-go-workshop\n\ngo 1.26\n")
	write(t, root, "01-box/box.go", "package box\n\nfunc Answer() int { return 1 }\n")
	write(t, root, "01-box/box_test.go", `package box_test

import (
	"testing"

	box "client-go-workshop/01-box"
)

func TestAnswer(t *testing.T) {
	if box.Answer() != 42 {
		t.Fatal("wrong answer")
	}
}
`)
	write(t, root, "solutions/01-box/box.go", "package box\n\nfunc Answer() int { return 42 }\n")
	return root
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

// byHand runs go test with an overlay of one's own.
func byHand(t *testing.T, dir string, replace map[string]string, args ...string) (string, error) {
	t.Helper()
	content, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(path, content, 0o644))
	cmd := exec.Command("go", append([]string{"test", "-overlay", path}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// over runs go test over the solution of the module.
func over(t *testing.T, root string, args ...string) (string, error) {
	t.Helper()
	layer, err := ReadDir("01-box", "solution", filepath.Join(root, "solutions", "01-box"))
	require.NoError(t, err)
	o, err := Write(root, layer)
	require.NoError(t, err)
	cmd, err := o.Go(context.Background(), "test", args...)
	require.NoError(t, err)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestOverlay_puts_the_solution_under_the_tests(t *testing.T) {
	root := module(t)
	out, err := over(t, root, "./01-box")
	require.NoError(t, err, out)
}

func TestTrap_cover_drops_the_overlay(t *testing.T) {
	root := module(t)
	replace := map[string]string{filepath.Join(root, "01-box/box.go"): filepath.Join(root, "solutions/01-box/box.go")}
	out, err := byHand(t, root, replace, "./01-box")
	require.NoError(t, err, out)
	out, err = byHand(t, root, replace, "-cover", "./01-box")
	require.Error(t, err, "if this passes, Go has learned to measure coverage through an overlay, and we need not "+
		"refuse it: %s", out)
	require.Contains(t, out, "wrong answer")

	layer, err := ReadDir("01-box", "solution", filepath.Join(root, "solutions/01-box"))
	require.NoError(t, err)
	o, err := Write(root, layer)
	require.NoError(t, err)
	for _, flag := range []string{"-cover", "--cover", "-coverprofile=c.out", "-covermode=atomic", "-coverpkg=./..."} {
		_, err = o.Go(context.Background(), "test", flag, "./01-box")
		require.ErrorContains(t, err, "drops the overlay", flag)
	}
	t.Setenv("GOFLAGS", "-cover")
	_, err = o.Go(context.Background(), "test", "./01-box")
	require.ErrorContains(t, err, "drops the overlay", "also when the flag comes through the environment")
}

func TestTrap_relative_paths_match_nothing(t *testing.T) {
	root := module(t)
	replace := map[string]string{"01-box/box.go": "solutions/01-box/box.go"}
	out, err := byHand(t, filepath.Join(root, "01-box"), replace, ".")
	require.Error(t, err, "relative to the working directory, the overlay names other files without a warning: %s", out)
	require.Contains(t, out, "wrong answer")

	layer, err := ReadDir("01-box", "solution", filepath.Join(root, "solutions/01-box"))
	require.NoError(t, err)
	t.Chdir(root)
	o, err := Write(".", layer)
	require.NoError(t, err)
	content, err := os.ReadFile(o.path)
	require.NoError(t, err)
	var file struct{ Replace map[string]string }
	require.NoError(t, json.Unmarshal(content, &file))
	for from, to := range file.Replace {
		require.True(t, filepath.IsAbs(from) && filepath.IsAbs(to), "both sides must be absolute: %s: %s", from, to)
	}
}

func TestTrap_a_root_behind_a_symlink_matches_nothing(t *testing.T) {
	root := module(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Skip("this system makes no symbolic links:", err)
	}
	out, err := over(t, link, "./01-box")
	require.NoError(t, err, "the go command and we must mean the same path: %s", out)
}

func TestTrap_a_panic_names_the_wrong_file(t *testing.T) {
	root := module(t)
	write(t, root, "solutions/01-box/box.go", "//go:build !never\n\n// Package box has a comment.\npackage box\n\nfunc "+
		"Answer() int {\n\tpanic(\"here\")\n}\n")
	replace := map[string]string{filepath.Join(root, "01-box/box.go"): filepath.Join(root, "solutions/01-box/box.go")}
	out, _ := byHand(t, root, replace, "./01-box")
	require.Contains(t, out, filepath.Join(root, "01-box", "box.go")+":7",
		"the stub's name with the solution's line: a line that the stub does not have")

	out, _ = over(t, root, "./01-box")
	require.Contains(t, out, filepath.Join(root, "solutions", "01-box", "box.go")+":7",
		"with a //line directive, file and line are the solution's")
}

func TestTrap_compile_errors_name_the_solution(t *testing.T) {
	root := module(t)
	write(t, root, "solutions/01-box/box.go", "package box\r\n\r\nfunc Answer() int { return none }\r\n")
	out, err := over(t, root, "./01-box")
	require.Error(t, err)
	require.Contains(t, out, filepath.Join("solutions", "01-box", "box.go")+":3",
		"also in a file with the line ends of Windows")
}

func TestTrap_what_a_learner_adds_is_compiled_in(t *testing.T) {
	root := module(t)
	write(t, root, "01-box/extra.go", "package box\n\nfunc broken( {\n")
	replace := map[string]string{filepath.Join(root, "01-box/box.go"): filepath.Join(root, "solutions/01-box/box.go")}
	out, err := byHand(t, root, replace, "./01-box")
	require.Error(t, err, out)

	out, err = over(t, root, "./01-box")
	require.NoError(t, err, "a file that the solution lacks must be hidden: %s", out)
}

// A chapter's tests could also be shared by symbolic links from the solution's folder. They import the chapter by its
// path, so they would test the code there, whichever folder they are run in.
func TestTrap_symlinked_external_tests_test_the_stub(t *testing.T) {
	root := module(t)
	if err := os.Symlink(filepath.Join(root, "01-box/box_test.go"),
		filepath.Join(root, "solutions/01-box/box_test.go")); err != nil {
		t.Skip("this system makes no symbolic links:", err)
	}
	cmd := exec.Command("go", "test", "./solutions/01-box")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "the solution beside the test is right, and yet: %s", out)
	require.Contains(t, string(out), "wrong answer")
}

func TestTrap_a_second_overlay_wins(t *testing.T) {
	root := module(t)
	layer, err := ReadDir("01-box", "solution", filepath.Join(root, "solutions/01-box"))
	require.NoError(t, err)
	o, err := Write(root, layer)
	require.NoError(t, err)
	_, err = o.Go(context.Background(), "test", "-overlay=other.json", "./01-box")
	require.ErrorContains(t, err, "only one overlay")
	t.Setenv("GOFLAGS", "-overlay=other.json")
	_, err = o.Go(context.Background(), "test", "./01-box")
	require.ErrorContains(t, err, "only one overlay", "also when the flag comes through the environment")
}

func TestTrap_a_workspace_further_up(t *testing.T) {
	outer, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	inner := module(t)
	root := filepath.Join(outer, "workshop")
	require.NoError(t, os.Rename(inner, root))
	write(t, outer, "go.work", "go 1.26\n")
	cmd := exec.Command("go", "test", "./01-box")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "a go.work that does not use the workshop breaks every command in it: %s", out)
	require.NotContains(t, string(out), "wrong answer")

	text, err := over(t, root, "./01-box")
	require.NoError(t, err, text)
}

func TestOverlay_sees_a_changed_solution(t *testing.T) {
	root := module(t)
	out, err := over(t, root, "./01-box")
	require.NoError(t, err, out)
	out, err = over(t, root, "./01-box")
	require.NoError(t, err, out)
	require.Contains(t, out, "(cached)", "the same layer gives the same paths, so that Go knows the result")
	write(t, root, "solutions/01-box/box.go", "package box\n\nfunc Answer() int { return 41 }\n")
	out, err = over(t, root, "./01-box")
	require.Error(t, err, "a cached result of another solution: %s", out)
}

func TestOverlay_works_in_a_folder_with_a_space(t *testing.T) {
	outer, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root := filepath.Join(outer, "my workshop")
	require.NoError(t, os.Rename(module(t), root))
	out, err := over(t, root, "./01-box")
	require.NoError(t, err, out)
}

func TestWrite_refuses_two_layers_for_one_chapter(t *testing.T) {
	root := module(t)
	layer, err := ReadDir("01-box", "solution", filepath.Join(root, "solutions/01-box"))
	require.NoError(t, err)
	_, err = Write(root, layer, layer)
	require.ErrorContains(t, err, "overlaid twice")
}

func TestReadDir_of_a_folder_without_code(t *testing.T) {
	root := module(t)
	write(t, root, "solutions/02-lid/lid_test.go", "package lid\n")
	_, err := ReadDir("02-lid", "solution", filepath.Join(root, "solutions/02-lid"))
	require.ErrorContains(t, err, "there is no Go file in")
	_, err = ReadDir("03-none", "solution", filepath.Join(root, "solutions/03-none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.False(t, strings.Contains(err.Error(), "\n"))
}

// A chapter can be tested with the ones below it finished, while its own code stays the learner's.
func TestOverlay_finishes_lower_chapters(t *testing.T) {
	root := module(t)
	write(t, root, "02-lid/lid.go", "package lid\n\nimport box \"client-go-workshop/01-box\"\n\nfunc Half() int { "+
		"return box.Answer() / 2 }\n")
	write(t, root, "02-lid/lid_test.go", "package lid\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tif "+
		"Half() != 21 {\n\t\tt.Fatal(\"wrong half\")\n\t}\n}\n")
	write(t, root, "solutions/02-lid/lid.go", "package lid\n\nfunc Half() int { return 21 }\n")
	out, err := over(t, root, "./02-lid")
	require.NoError(t, err, "01-box is the solution, 02-lid the learner's: %s", out)

	lower, err := ReadDir("01-box", "solution", filepath.Join(root, "solutions/01-box"))
	require.NoError(t, err)
	upper, err := ReadDir("02-lid", "solution", filepath.Join(root, "solutions/02-lid"))
	require.NoError(t, err)
	o, err := Write(root, lower, upper)
	require.NoError(t, err)
	cmd, err := o.Go(context.Background(), "test", "./01-box", "./02-lid")
	require.NoError(t, err)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
}
