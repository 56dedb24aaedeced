package progress

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestContent_of_a_lab_has_what_its_files_import(t *testing.T) {
	root := newRoot(t)
	write(t, root, "labs/README.md", "[a](paper-box/README.md)\n")
	readme, err := os.ReadFile(filepath.Join(root, "01-box", "README.md"))
	require.NoError(t, err)
	write(t, root, "labs/paper-box/README.md", string(readme))
	write(t, root, "labs/paper-box/box.go", "package paperbox\n\nimport _ \"client-go-workshop/solutions/01-box\"\n")
	write(t, root, "labs/paper-box/box_test.go", "package paperbox\n\nimport _ \"client-go-workshop/internal/testkit/guard\"\n")
	write(t, root, "labs/paper-box/yours_test.go", "//go:build yours\n\npackage paperbox\n\nimport _ \"client-go-workshop/02-shelf\"\n")
	lab := find(t, root, "paper-box")
	content := func() string {
		sum, err := Content(root, lab)
		require.NoError(t, err)
		return sum
	}
	before := content()
	write(t, root, "02-shelf/box.go", "package box\n\n// Another.\n")
	require.Equal(t, before, content(), "plain go test does not compile the file that imports it")
	for _, name := range []string{"solutions/01-box/box.go", "labs/paper-box/given/given.go", "labs/paper-box/box.go"} {
		write(t, root, name, "package x\n\n// Another.\n")
		after := content()
		require.NotEqual(t, before, after, name)
		before = after
	}
}
