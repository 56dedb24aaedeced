package verify

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

// newKept is a workshop without kept results.
func newKept(t *testing.T) string {
	root := newWorkshop(t)
	require.NoError(t, os.RemoveAll(filepath.Join(root, ".workshop", "verified")))
	return root
}

// details runs some truths without problems, and returns the details of each.
func details(t *testing.T, root string, truths ...string) map[string]string {
	t.Helper()
	chapters, err := course.All(root)
	require.NoError(t, err)
	findings, err := Run(t.Context(), Options{Root: root, Chapters: chapters, Truths: truths})
	require.NoError(t, err)
	details := map[string]string{}
	for _, f := range findings {
		require.Empty(t, f.Problems, f.Truth)
		details[f.Truth] = f.Detail
	}
	return details
}

// forget removes what was built, and returns a function that checks that nothing was built since.
func forget(t *testing.T, root string) (nothingWasBuilt func()) {
	t.Helper()
	built := []string{filepath.Join(root, ".workshop", "overlay"), filepath.Join(root, ".workshop", "programs")}
	for _, dir := range built {
		require.NoError(t, os.RemoveAll(dir))
	}
	return func() {
		t.Helper()
		for _, dir := range built {
			require.NoDirExists(t, dir)
		}
	}
}

func TestKept_results_are_those_of_the_run(t *testing.T) {
	root := newKept(t)
	first := details(t, root)
	nothingWasBuilt := forget(t, root)
	second := details(t, root)
	nothingWasBuilt()
	require.Equal(t, "6 wrong versions caught, 0 of them in one build, 6 in an earlier run", second["bugs"])
	for truth := range first {
		if truth != "bugs" && truth != "between" { // between shows a time
			require.Equal(t, first[truth], second[truth], truth)
		}
	}
}

func TestKept_results_do_not_depend_on_words(t *testing.T) {
	root := newKept(t)
	details(t, root)
	nothingWasBuilt := forget(t, root)
	replace(t, root, "solutions/01-box/box.go", "// Put adds one.", "// Put adds one.\n//\n// It is quick, see the README.")
	replace(t, root, "01-box/README.md", "- `Put` adds one.", "- `Put` adds one to the box, or `Put` adds one.")
	check(t, root, Options{Truths: []string{
		"stubs", "reached", "alone", "between", "solutions", "oracle", "bare", "shapes", "bugs", "messages"}})
	nothingWasBuilt()
}

func TestKept_results_depend_on_code_and_tests(t *testing.T) {
	const all, kept = "6 wrong versions caught, 6 of them in one build", "6 wrong versions caught, 0 of them in one build, "
	for _, c := range []struct {
		name, file, old, new string
		bugs                 string // the detail
	}{
		{"a wrong version", "solutions/01-box/bugs.txtar", "b.add(-1)", "b.add(-2)", kept + "5 in an earlier run"},
		{"a test", "01-box/box_test.go", "func TestTask1_Put_counts(t *testing.T) {",
			"func TestTask1_Put_counts(t *testing.T) {\n\t_ = 1", all[:25] + "3 of them in one build, 3 in an earlier run"},
		{"a declaration beside the tests", "01-box/box_test.go", "func TestTask1", "var _ = 1\n\nfunc TestTask1", all},
		{"a package that the tests import", "internal/testkit/guard/guard.go", "\nfunc ", "\nvar _ = 1\n\nfunc ", all},
		{"the right code", "solutions/01-box/box.go", "return b.n }", "return b.n + 0 }", all},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := newKept(t)
			require.Equal(t, all, details(t, root, "bugs")["bugs"])
			replace(t, root, c.file, c.old, c.new)
			require.Equal(t, c.bugs, details(t, root, "bugs")["bugs"])
		})
	}
}

func TestKept_results_are_right_ones(t *testing.T) {
	root := newKept(t)
	replace(t, root, "solutions/01-box/box.go", "b.n += n", "b.n += n + n")
	for range 2 {
		found := check(t, root, Options{Truths: []string{"solutions", "alone"}})
		require.Contains(t, found["solutions"], "the solution does not pass TestTask1_Put_counts")
		require.Contains(t, found["alone"], "does not pass TestTask1_Put_counts")
	}
	replace(t, root, "solutions/01-box/bugs.txtar", "Empty() {}", "Empty() { b.n *= 0 }")
	for range 2 {
		require.Contains(t, check(t, root, Options{Truths: []string{"bugs"}})["bugs"], "never-empty (empty is empty) survives")
	}
}

func TestPristine_ignores_kept_results(t *testing.T) {
	root := newKept(t)
	details(t, root, "bugs")
	chapters, err := course.All(root)
	require.NoError(t, err)
	findings, err := Run(t.Context(), Options{Root: root, Chapters: chapters, Truths: []string{"bugs"}, Pristine: true})
	require.NoError(t, err)
	require.Equal(t, "6 wrong versions caught, 6 of them in one build", findings[0].Detail)
}

func TestCodeSum_ignores_comments_but_not_directives(t *testing.T) {
	code := "package box\n\n//workshop:task 1\nfunc f() {}\n"
	require.Equal(t, codeSum([]byte(code)), codeSum([]byte("// Package box.\npackage box\n//workshop:task 1\nfunc f() {} // end\n")))
	require.NotEqual(t, codeSum([]byte(code)), codeSum([]byte("package box\n\n//workshop:task 2\nfunc f() {}\n")))
	require.NotEqual(t, codeSum([]byte(code)), codeSum([]byte("package box\n\n//workshop:task 1\nfunc g() {}\n")))
}
