package author

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/authoring/cmdtest"
	"client-go-workshop/internal/authoring/verify"
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

func TestVerify_speaks_JSON(t *testing.T) {
	stdout, stderr, code := run(t, filepath.Join(root, "05-indexer"), "verify", "--json", "--only", "derived", "indexer")
	require.Equal(t, 0, code, stdout+stderr)
	var findings []verify.Finding
	require.NoError(t, json.Unmarshal([]byte(stdout), &findings))
	require.Len(t, findings, 1)
	require.Equal(t, "05-indexer", findings[0].Chapter)
	require.Equal(t, "derived", findings[0].Truth)
	require.True(t, findings[0].OK)
}

func TestVerify_of_what_does_not_exist(t *testing.T) {
	_, stderr, code := run(t, root, "verify", "99-magic")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, `there is no chapter "99-magic"; the chapters are 0`)
	_, stderr, code = run(t, root, "verify", "--only", "beauty")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, `there is no truth "beauty"; the truths are stubs, reached`)
}

func TestVerify_exits_1_when_a_truth_does_not_hold(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	write("go.mod", "module client-go-workshop\n\ngo 1.26\n")
	write("01-box/README.md", "# Box\n\n## Task 1: Put\n\n```sh\ngo test ./01-box -run Task1\n```\n")
	write("solutions/01-box/box.go", "package box\n")
	write("solutions/01-box/checksums.txt", "stale  box.go\n")
	stdout, stderr, code := run(t, dir, "verify", "--only", "derived")
	require.Equal(t, 1, code, stdout+stderr)
	require.Contains(t, stdout, "FAIL  01-box")
	require.Contains(t, stdout, "01-box/box.go is stale")
	require.Contains(t, stderr, "1 of 1 truths do not hold")
}
