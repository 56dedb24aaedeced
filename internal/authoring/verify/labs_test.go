package verify

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

// asLabs renames the chapter in a text.
var asLabs = strings.NewReplacer("solutions/01-box", "labs/solutions/box", "01-box", "labs/box", "predict 01", "predict box", "](../docs", "](../../docs")

// asLab turns the chapter of the small workshop into a lab.
func asLab(t *testing.T, root string) {
	t.Helper()
	for _, folder := range []string{"", "solutions", "internal/testkit/oracle"} {
		from := filepath.Join(root, filepath.FromSlash(folder), "01-box")
		to := filepath.Join(root, filepath.FromSlash(folder), "labs", "box")
		if folder == "solutions" {
			to = filepath.Join(root, "labs", "solutions", "box")
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.Rename(from, to))
		require.NoError(t, filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			return os.WriteFile(path, []byte(asLabs.Replace(string(content))), 0o644)
		}))
	}
	write(t, root, course.LabsPage, "# Labs\n\n[box](box/README.md)\n")
	box, err := course.Find(root, "box")
	require.NoError(t, err)
	written, kept, err := Generate(root, box)
	require.NoError(t, err)
	require.Empty(t, append(written, kept...), "the stub is the chapter's")
}

func TestLab_holds_every_truth_of_a_chapter(t *testing.T) {
	root := newWorkshop(t)
	asLab(t, root)
	for truth, problems := range check(t, root, Options{Pristine: true}) {
		require.Empty(t, problems, truth)
	}
	replace(t, root, "labs/solutions/box/box.go", "b.n = 0", "b.n = 1")
	found := check(t, root, Options{Truths: []string{"solutions", "derived", "alone"}})
	require.Contains(t, found["solutions"], "the solution does not pass TestTask2_Empty_takes_all_out")
	require.Contains(t, found["derived"], "never-empty is not made from the solution's Box.Empty")
	require.Contains(t, found["alone"], "TestTask2_Empty_takes_all_out")
}
