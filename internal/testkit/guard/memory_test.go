package guard_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/env"
)

func TestMemory_that_grows_without_end_is_a_failure_of_one_test(t *testing.T) {
	for name, c := range map[string]struct{ run, got string }{
		"a loop": {"^TestMemory_(one|then)", `\d+ MiB
                \(\*Store\)\.Hoard .*`},
		"goroutines": {"^TestMemory_(too|then)", `\d+ MiB, in \d{5,} goroutines
                \(\*Store\)\.Multiply(.|\n)*`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(env.MemoryLimit, "200")
			t.Setenv(env.TestLimit, "3m") // a busy machine needs its time for 200 MiB
			out := run(t, "-test.run="+c.run)
			require.Regexp(t, regexp.MustCompile(`--- FAIL: TestMemory_.*
    memory_test\.go:\d+: .* takes too much memory
        did     the call that grows
        wanted  less than 200 MiB
        got     `+c.got+`
        why     A loop that does not end grows`), out)
		})
	}
}

func TestMemory_of_an_ordinary_test_is_enough(t *testing.T) {
	t.Setenv(env.MemoryLimit, "200")
	require.Contains(t, run(t, "-test.run=^TestMemory_then"), "PASS")
}
