package controller_test

// This file shows that the simulated week finds things: wrong versions of every layer, of which it has not been told. Each of
// them has a test of its own in its chapter; here only the week is played.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/bugs"
	"client-go-workshop/internal/chapter"
	"client-go-workshop/internal/overlay"
)

// found are wrong versions, and a seed whose week finds them.
var found = map[string]map[string]string{}

func TestWeek_finds_wrong_versions_of_all_layers(t *testing.T) {
	root, err := chapter.Root(".")
	require.NoError(t, err)
	for dir, names := range found {
		for name, seed := range names {
			t.Run(dir+"/"+name, func(t *testing.T) {
				require.NotEmpty(t, weekOf(t, root, dir, name, seed), "the week of seed %s goes well over it", seed)
			})
		}
	}
	t.Run("and nothing in the solutions", func(t *testing.T) {
		require.Empty(t, weekOf(t, root, "", "", "1"))
	})
}

// weekOf plays a week over the solutions of all chapters, but for one wrong version, and returns what went wrong.
func weekOf(t *testing.T, root, dir, name, seed string) string {
	chapters, err := chapter.All(root)
	require.NoError(t, err)
	var layers []overlay.Layer
	for _, c := range chapters {
		layer, err := overlay.ReadDir(c.Dir, "solution", filepath.Join(root, c.Solution()))
		require.NoError(t, err)
		if c.Dir == dir {
			all, err := bugs.Load(filepath.Join(root, c.Solution()))
			require.NoError(t, err)
			known := false
			for _, b := range all {
				if b.Name == name {
					known = true
					layer, err = b.Apply(layer)
					require.NoError(t, err)
				}
			}
			require.True(t, known, "%s has no wrong version %s", dir, name)
		}
		layers = append(layers, layer)
	}
	o, err := overlay.Write(root, filepath.Join(root, ".workshop", "overlay"), layers...)
	require.NoError(t, err)
	cmd, err := o.Go(t.Context(), "test", "-vet=off", "-tags=yours", "./07-controller", "-run=SimulatedWeek", "-on=yours", "-weeks=1", "-shrink=0s", "-seed="+seed)
	require.NoError(t, err)
	cmd.Env = append(cmd.Env, os.Environ()...)
	out, err := cmd.CombinedOutput()
	require.NotContains(t, string(out), "[build failed]")
	if err == nil {
		return ""
	}
	require.Contains(t, string(out), "TestTask7_SimulatedWeek", "%s", out)
	return strings.TrimSpace(string(out))
}
