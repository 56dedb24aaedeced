package guard_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/env"
	"client-go-workshop/internal/testkit/failure"
)

var attribute = regexp.MustCompile(`(?m)=== ATTR  (\S+) (\S+) (\S+)`)

// places returns where a test told that it was.
func places(t *testing.T, output, test string) (all []string) {
	t.Helper()
	for _, m := range attribute.FindAllStringSubmatch(output, -1) {
		p, err := failure.PlaceOf(m[2], m[3])
		require.NoError(t, err)
		if p != nil && m[1] == test {
			all = append(all, p.String())
		}
	}
	return all
}

func TestPlace_is_told_long_before_the_verdict(t *testing.T) {
	t.Setenv(env.Failures, "1")
	out := run(t, "-test.v=test2json", "-test.run=^(TestTask1_Endless_loop|TestTask1_Race_lock_forgotten|TestFine_Race)$")
	spins := places(t, out, "TestTask1_Endless_loop")
	require.NotEmpty(t, spins, out)
	require.Regexp(t, `^\(\*Store\)\.Spin at store\.go:\d+$`, spins[0])
	require.Less(t, strings.Index(out, " place "), strings.Index(out, " failure "), "before the failure")
	waits := places(t, out, "TestTask1_Race_lock_forgotten")
	require.NotEmpty(t, waits, "a test in a process of its own: "+out)
	require.Regexp(t, `^\(\*Store\)\.(Get|Set) at store\.go:\d+, waiting in sync\.RWMutex\.R?Lock$`, waits[0])
	require.Empty(t, places(t, out, "TestFine_Race"))
}

func TestPlace_is_not_for_people(t *testing.T) {
	require.NotContains(t, run(t, "-test.v", "-test.run=^TestTask1_Endless_loop$"), " place ")
}
