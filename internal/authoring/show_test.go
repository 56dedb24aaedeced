package authoring_test

// This test runs the comparison of the recorder's state with the real structures over wrong versions of the sets: the
// picture of `workshop show` must not lie about wrong code.
//
//	go test ./internal/authoring -run Show -wrong -v

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

var wrong = flag.Bool("wrong", false, "compare the recorder's state with wrong versions of the layers, which takes minutes")

// shown are wrong versions that change the contents of a structure.
var shown = map[string][]string{
	"02-watch-stream": {"watch-without-version"},
	"04-deltafifo":    {"replace-finds-no-deletions"},
	"05-indexer":      {"first-object-stays", "tombstones-have-no-key"},
	"06-workqueue":    {"done-forgets-the-second-round"},
	"07-controller":   {"deletion-stays-in-the-store", "last-in-first-out"},
}

func TestShow_is_true_about_wrong_versions(t *testing.T) {
	if !*wrong {
		t.Skip("takes minutes; -wrong runs it")
	}
	root, err := course.Root(".")
	require.NoError(t, err)
	for dir, names := range shown {
		for _, name := range names {
			t.Run(dir+" "+name, func(t *testing.T) { compareOver(t, root, dir, name) })
		}
	}
}

// compareOver runs the comparison over the solutions of all chapters, but for one wrong version.
func compareOver(t *testing.T, root, dir, name string) {
	chapters, err := course.All(root)
	require.NoError(t, err)
	var layers []overlay.Layer
	for _, c := range chapters {
		layer, err := overlay.ReadDir(c.Dir, "solution", filepath.Join(root, c.Solution()))
		require.NoError(t, err)
		if c.Dir == dir {
			all, err := bugs.Load(filepath.Join(root, c.Solution()))
			require.NoError(t, err)
			at := slices.IndexFunc(all, func(b bugs.Bug) bool { return b.Name == name })
			require.GreaterOrEqual(t, at, 0, "%s has no wrong version %s", dir, name)
			layer, err = all[at].Apply(layer)
			require.NoError(t, err)
		}
		layers = append(layers, layer)
	}
	o, err := overlay.Write(root, layers...)
	require.NoError(t, err)
	cmd, err := o.Go(t.Context(), "test", "-vet=off", "-tags=yours", "./internal/testkit/recorder", "-run=Truth_random",
		"-on=yours", "-wrong", "-runs=20", "-timeout=5m")
	require.NoError(t, err)
	cmd.Env = append(cmd.Env, os.Environ()...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
