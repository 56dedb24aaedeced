package controller_test

// This file shows that the simulated week finds things: wrong versions of every layer, which it does not know.
// Each of them has a test of its own in its chapter; here only the week is played.
//
//	go test ./solutions/07-controller -run Week -v -finds

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

var finds = flag.Bool("finds", false, "play the simulated week over wrong versions of all layers, which takes a "+
	"minute or two")

// candidates are wrong versions that a week can find. Many others are hidden from it by the layers above, or need what
// a week has not got.
var candidates = map[string][]string{
	"01-restclient":   {"empty-namespace-in-the-path"},
	"02-watch-stream": {"objects-point-into-the-buffer", "channel-stays-open", "watch-without-version"},
	"03-reflector":    {"gone-is-watched-again", "begins-at-the-list-again"},
	"04-deltafifo":    {"nobody-is-woken", "replace-finds-no-deletions"},
	"05-indexer":      {"one-slice-for-all-callers", "first-object-stays", "tombstones-have-no-key"},
	"06-workqueue":    {"done-forgets-the-second-round"},
	"07-controller":   {"deletion-stays-in-the-store", "last-in-first-out", "forgets-done", "key-is-lost-on-error"},
}

// Back-offs have chance in them, so of the candidates one or the other may get away in eight weeks. Ten must not.
func TestWeek_finds_wrong_versions_of_all_layers(t *testing.T) {
	if !*finds {
		t.Skip("takes a minute or two; -finds runs it")
	}
	root, err := course.Root(".")
	require.NoError(t, err)
	require.Empty(t, weeksOver(t, root, "", ""), "the solutions")
	found := 0
	for dir, names := range candidates {
		for _, name := range names {
			if weeksOver(t, root, dir, name) != "" {
				found++
				t.Logf("%s/%s is found", dir, name)
			} else {
				t.Logf("%s/%s gets away", dir, name)
			}
		}
	}
	require.GreaterOrEqual(t, found, 10)
}

// weeksOver plays eight weeks over the solutions of all chapters, but for one wrong version, and returns what went
// wrong.
func weeksOver(t *testing.T, root, dir, name string) string {
	chapters, err := course.All(root)
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
	o, err := overlay.Write(root, layers...)
	require.NoError(t, err)
	cmd, err := o.Go(t.Context(), "test", "-vet=off", "-tags=yours", "./07-controller", "-run=SimulatedWeek", "-on=yours",
		"-weeks=8", "-shrink=0s")
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
