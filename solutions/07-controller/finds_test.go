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
	"client-go-workshop/internal/testkit/env"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
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

// A week that goes wrong is recorded, beside the same week on the solutions. The recording says where they differ.
func TestWeek_that_goes_wrong_is_recorded(t *testing.T) {
	root, err := course.Root(".")
	require.NoError(t, err)
	folder := t.TempDir()
	code := solutionsBut(t, root, "07-controller", "deletion-stays-in-the-store")
	out, failed := playWeeks(t, root, code, "-weeks=1", "-shrink=1m", folder)
	require.True(t, failed, out)
	path := filepath.Join(folder, "week-1.json")
	require.Contains(t, out, "see     go tool workshop show "+filepath.ToSlash(path))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	runs, err := pipeline.ReadRecordings(file)
	require.NoError(t, err)
	require.Len(t, runs, 2)
	require.Contains(t, runs[0].Wrong.Text, "Three hours after the last fault the cache equals the server.")
	differs := pipeline.Compare(runs[0].Log, runs[1].Log, runs[0].Wrong.Key)
	require.Equal(t, pipeline.Store, differs.Seam)
	require.Equal(t, runs[0].Wrong.Key, differs.Key)
	require.Equal(t, "an object that the API server has deleted", differs.Here)
	require.Equal(t, pipeline.Removed, runs[0].Log.Causes(differs.Step)[0].Verb, "the first cause of the step")
}

// A test that runs a whole controller records it, too.
func TestWrong_budget_is_recorded(t *testing.T) {
	root, err := course.Root(".")
	require.NoError(t, err)
	folder := t.TempDir()
	code := solutionsBut(t, root, "07-controller", "forgets-done")
	out, failed := testOver(t, root, code, folder, "-run=Task7_Life_of_a_budget")
	require.True(t, failed, out)
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		require.Contains(t, out, "see     go tool workshop show "+filepath.ToSlash(path))
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		runs, err := pipeline.ReadRecordings(file)
		require.NoError(t, err)
		require.Len(t, runs, 1)
		require.Equal(t, "default/web", runs[0].Wrong.Key)
		require.Contains(t, runs[0].Wrong.Text, "minAvailable")
		require.NotEmpty(t, runs[0].Log.Causes(runs[0].Wrong.Step))
		changes := 0 // of the test, which are the server's, too
		for _, step := range runs[0].Log.Steps(runs[0].Wrong.Step, 1000) {
			if step.Seam == pipeline.Server && step.Key == "default/web" {
				changes++
			}
		}
		require.GreaterOrEqual(t, changes, 3, "a Deployment, its budget, and the edit of the budget")
	}
}

// weeksOver plays eight weeks over the solutions of all chapters, but for one wrong version, and returns what went
// wrong.
func weeksOver(t *testing.T, root, dir, name string) string {
	out, failed := playWeeks(t, root, solutionsBut(t, root, dir, name), "-weeks=8", "-shrink=0s", recorder.Off)
	if !failed {
		return ""
	}
	return out
}

// solutionsBut returns the solutions of all chapters, with one wrong version.
func solutionsBut(t *testing.T, root, dir, name string) (layers []overlay.Layer) {
	chapters, err := course.All(root)
	require.NoError(t, err)
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
	return layers
}

// playWeeks plays simulated weeks over some code. It returns what the test printed, and whether it failed.
func playWeeks(t *testing.T, root string, layers []overlay.Layer, weeks, shrink, recordings string) (string, bool) {
	out, failed := testOver(t, root, layers, recordings, "-run=SimulatedWeek", weeks, shrink)
	if failed {
		require.Contains(t, out, "TestTask7_SimulatedWeek", "%s", out)
	}
	return out, failed
}

// testOver runs tests of the chapter over some code, with a folder for recordings. It returns what was printed, and
// whether a test failed.
func testOver(t *testing.T, root string, layers []overlay.Layer, recordings string, args ...string) (string, bool) {
	o, err := overlay.Write(root, layers...)
	require.NoError(t, err)
	cmd, err := o.Go(t.Context(), "test", append([]string{"-vet=off", "-tags=yours", "./07-controller", "-on=yours"}, args...)...)
	require.NoError(t, err)
	cmd.Env = append(append(cmd.Env, os.Environ()...), env.Recordings+"="+recordings)
	out, err := cmd.CombinedOutput()
	require.NotContains(t, string(out), "[build failed]")
	return strings.TrimSpace(string(out)), err != nil
}
