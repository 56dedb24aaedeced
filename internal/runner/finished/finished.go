// Package finished runs each chapter's tests over its solution, as `go test ./solutions/...` and
// `go test ./labs/solutions/...` do. The tests stand in the chapter folders, once.
package finished

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/overlay"
)

// Test runs the tests of all chapters, or of all labs, each as a subtest.
func Test(t *testing.T, labs bool) {
	root, err := course.Root(".")
	require.NoError(t, err)
	all, err := course.All(root)
	require.NoError(t, err)
	for _, c := range all {
		if c.Lab() != labs {
			continue
		}
		t.Run(c.Dir, func(t *testing.T) {
			touch(t, root, c)
			layer, err := overlay.ReadDir(c.Dir, "solution", filepath.Join(root, c.Solution()))
			require.NoError(t, err)
			o, err := overlay.Write(root, layer)
			require.NoError(t, err)
			cmd, err := o.Go(context.Background(), "test", "./"+c.Dir)
			require.NoError(t, err)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// touch reads what the result depends on and what another process compiles. go test notes the files that a test opens,
// and knows by them whether it may show an old result.
func touch(t *testing.T, root string, c course.Chapter) {
	for _, dir := range []string{c.Dir, "internal", "go.mod"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.Contains(" .go .mod .md ", " "+filepath.Ext(path)+" ") {
				return err
			}
			_, err = os.ReadFile(path)
			return err
		})
		require.NoError(t, err)
	}
}
