package guard

import (
	"os"
	"os/exec"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/env"
)

// It is the helper of the test below, in a process with the settings of a hasty build.
func TestHelper_prints_how_garbage_is_collected(t *testing.T) {
	if os.Getenv(env.HastyBuild) == "" {
		t.Skip("not in the helper's process")
	}
	limited := debug.SetMemoryLimit(-1) < 1<<40
	t.Logf("percent %d, limited %v", debug.SetGCPercent(100), limited)
}

func TestGarbage_is_collected_as_ever_though_the_build_was_hasty(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=TestHelper_prints")
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=1GiB", env.HastyBuild+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "percent 100, limited false")
}

// It is the helper of the test below.
func TestHelper_prints_how_a_test_collects_garbage(t *testing.T) {
	if os.Getenv(env.HastyBuild) == "" {
		t.Skip("not in the helper's process")
	}
	Test(t, "The heap may grow.", func(t *T) { t.Logf("percent %d", debug.SetGCPercent(100)) })
}

func TestHeap_may_grow_unless_the_learner_has_set_GOGC(t *testing.T) {
	for _, c := range []struct{ gogc, hasty, want string }{
		{"", "0", "percent 400"}, {"off", "1", "percent 400"}, {"70", "0", "percent 70"},
	} {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run=TestHelper_prints_how_a_test")
		cmd.Env = append(os.Environ(), "GOGC="+c.gogc, env.HastyBuild+"="+c.hasty)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), c.want, "GOGC=%s", c.gogc)
	}
}

// Without Brief there are up to five, as many as a tenth of a second allows.
func TestRace_has_one_child_if_it_is_brief(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=TestHelper_races$")
	cmd.Env = append(os.Environ(), env.Brief+"=1", "WORKSHOP_TEST_DIR="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	children, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, children, 1)
}

// Each child leaves a file.
func TestHelper_races(t *testing.T) {
	dir := os.Getenv("WORKSHOP_TEST_DIR")
	if dir == "" {
		t.Skip("not in the helper's process")
	}
	Race(t, "nothing is shared", func(t *T) {
		f, err := os.CreateTemp(dir, "child")
		require.NoError(t, err)
		require.NoError(t, f.Close())
	})
}
