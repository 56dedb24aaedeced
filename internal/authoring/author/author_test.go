package author

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/authoring/cmdtest"
)

// program is the test binary under another name, in the PATH.
const program = "author"

const root = "../../.."

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){program: Main}) }

func run(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return cmdtest.Run(t, program, dir, args...)
}

func TestVerify_prints_a_line_for_each_truth_and_chapter(t *testing.T) {
	stdout, stderr, code := run(t, root, "verify", "--only", "derived,references", "05")
	require.Equal(t, 0, code, stdout+stderr)
	require.Regexp(t, `(?m)^ok    05-indexer     derived       +\d+\.\ds  3 stubs`, stdout)
	require.Equal(t, 2, strings.Count(stdout, "\n"), stdout)
}

func TestVerify_means_the_chapters_without_a_name_and_the_labs_with_theirs(t *testing.T) {
	stdout, stderr, code := run(t, root, "verify", "--only", "derived")
	require.Equal(t, 0, code, stdout+stderr)
	require.Equal(t, 7, strings.Count(stdout, "\n"), stdout)
	stdout, stderr, code = run(t, root, "verify", "--only", "derived", "labs")
	require.Equal(t, 0, code, stdout+stderr)
	require.Regexp(t, `^(ok    labs/\S+ +derived .*\n){4}$`, stdout)
}

func TestVerify_knows_chapters_by_their_topics(t *testing.T) {
	stdout, stderr, code := run(t, filepath.Join(root, "05-indexer"), "verify", "--only", "derived", "indexer")
	require.Equal(t, 0, code, stdout+stderr)
	require.Regexp(t, `^ok    05-indexer     derived .*\n$`, stdout)
}

func TestVerify_of_what_does_not_exist(t *testing.T) {
	_, stderr, code := run(t, root, "verify", "99-magic")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, `there is no chapter "99-magic"; the chapters are 0`)
	_, stderr, code = run(t, root, "verify", "--only", "beauty")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, `there is no truth "beauty"; the truths are stubs, reached`)
}

// chapter makes a workshop with one chapter and no code. It returns its folder, and a function that writes files there.
func chapter(t *testing.T) (dir string, write func(name, content string)) {
	dir = t.TempDir()
	write = func(name, content string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	write("go.mod", "module client-go-workshop\n\ngo 1.26\n")
	write("01-box/README.md", "# Box\n\n## Task 1: Put\n\n```sh\ngo test ./01-box -run Task1\n```\n")
	return dir, write
}

func TestVerify_exits_1_when_a_truth_does_not_hold(t *testing.T) {
	dir, write := chapter(t)
	write("solutions/01-box/box.go", "package box\n")
	write("solutions/01-box/checksums.txt", "stale  box.go\n")
	stdout, stderr, code := run(t, dir, "verify", "--only", "derived")
	require.Equal(t, 1, code, stdout+stderr)
	require.Contains(t, stdout, "FAIL  01-box")
	require.Contains(t, stdout, "01-box/box.go is stale")
	require.Contains(t, stderr, "1 of 1 truths do not hold")
}

func TestMutate_lists_what_no_test_notices_and_reasons_that_are_old(t *testing.T) {
	dir, write := chapter(t)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, ".ci/mutate", name))
		require.NoError(t, err)
		write(".ci/mutate/"+name, string(text))
	}
	write("solutions/01-box/box.go", `package cardboard

func Full(n int) bool { return n >= 3 }

func Most(a, b int) int {
	if a > b {
		return a
	}
	return b
}
`)
	write("01-box/box_test.go", `package cardboard_test

import (
	"testing"

	box "client-go-workshop/01-box"
)

func TestTask1(t *testing.T) {
	if box.Full(2) || !box.Full(4) || box.Most(1, 2) != 2 || box.Most(2, 1) != 2 {
		t.Error("wrong")
	}
}
`)
	write("solutions/01-box/box_test.go", "package cardboard\n\nfunc TestTask1() {} // is not the chapter's\n")
	write("solutions/01-box/survivors.txt", `# Nobody can see these.
box.go CONDITIONALS_BOUNDARY if a > b { => of two equal numbers each is the larger one
box.go CONDITIONALS_NEGATION if a > b { => this one is caught
`)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
		require.NoError(t, exec.Command("git", append([]string{"-C", dir}, args...)...).Run())
	}
	stdout, stderr, code := run(t, dir, "mutate", "01")
	require.Equal(t, 1, code, stdout+stderr)
	require.Equal(t, `solutions/01-box/box.go:3:34: lived
  box.go CONDITIONALS_BOUNDARY func Full(n int) bool { return n >= 3 }
solutions/01-box/survivors.txt: a test fails, or the line is gone
  box.go CONDITIONALS_NEGATION if a > b {
01-box: 4 mutants, 1 pass for a known reason, 2 findings
`, stdout)
	require.Contains(t, stderr, "2 findings")
}
