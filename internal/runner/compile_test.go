package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

func TestCompile_counts_the_packages_once(t *testing.T) {
	if !RaceDetector(t.Context()) {
		t.Skip("there is no race detector")
	}
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	// The folder is in the names, so that no earlier run has compiled these packages.
	module := "m" + filepath.Base(filepath.Dir(root)) + filepath.Base(root)
	imports := ""
	for n := range fewPackages + 5 {
		write(fmt.Sprintf("p%d/p.go", n), fmt.Sprintf("package p%d\n\nconst Name = %q\n", n, root))
		imports += fmt.Sprintf("import _ %q\n", fmt.Sprintf("%s/p%d", module, n))
	}
	write("go.mod", "module "+module+"\n\ngo 1.26\n")
	write("01-box/box_test.go", "package box\n\n"+imports)
	write("01-box/box.go", "package box\n\nfunc broken() { missing() }\n")
	type step struct{ done, all int }
	var steps []step
	report := func(done, all int) { steps = append(steps, step{done, all}) }
	compile(t.Context(), root, course.Chapter{Dir: "01-box"}, Options{Race: true}, report)
	require.GreaterOrEqual(t, len(steps), fewPackages+6)
	all := steps[0].all
	require.GreaterOrEqual(t, all, fewPackages+5)
	require.Equal(t, step{0, all}, steps[0])
	require.Equal(t, step{all, all}, steps[len(steps)-1], "each is compiled, although the chapter does not compile")

	steps = nil
	compile(t.Context(), root, course.Chapter{Dir: "01-box"}, Options{Race: true}, report)
	compiled.Clear() // as another process
	compile(t.Context(), root, course.Chapter{Dir: "01-box"}, Options{Race: true}, report)
	require.Empty(t, steps, "nothing is left to compile")
}
