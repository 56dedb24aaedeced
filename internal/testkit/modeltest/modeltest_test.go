package modeltest_test

// The traps are tests that must fail. They are skipped here, and run by TestTraps in a process of their own, which
// looks at what they print.

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/modeltest"
	"client-go-workshop/internal/testkit/todo"
)

func trap(t *testing.T) {
	if os.Getenv("MODELTEST_TRAP") == "" {
		t.Skip("a trap: TestTraps springs it")
	}
}

// count makes steps up and down from 0.
func count(s *modeltest.T, after func(n int)) {
	n := 0
	s.Steps(map[string]func(){
		"up":   func() { s.Did("up by %d", modeltest.Pick(s, "by", 1, 2, 3)); n++; after(n) },
		"down": func() { s.Did("down"); n--; after(n) },
	})
}

func TestTrap_assertion(t *testing.T) {
	trap(t)
	guard.Test(t, "three is one too many", func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) {
			count(s, func(n int) { require.Less(s, n, 3) })
		})
	})
}

func TestTrap_panic(t *testing.T) {
	trap(t)
	guard.Test(t, "", func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) {
			count(s, func(n int) {
				if n == 2 {
					panic("no two")
				}
			})
		})
	})
}

func TestTrap_panic_in_a_call(t *testing.T) {
	trap(t)
	guard.Test(t, "", func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) {
			count(s, func(n int) {
				s.Returns(func() {
					if n == 2 {
						panic("no two")
					}
				})
			})
		})
	})
}

func TestTrap_never_returns(t *testing.T) {
	trap(t)
	guard.Test(t, "a wait for two must end", func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) {
			var free sync.WaitGroup
			count(s, func(n int) {
				if n != 2 {
					return
				}
				free.Add(1)
				defer free.Done()
				require.True(s, s.Returns(free.Wait))
			})
		})
	})
}

func TestTrap_todo(t *testing.T) {
	trap(t)
	guard.Test(t, "", func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) {
			count(s, func(n int) { panic(todo.Task(1, "Queue.Pop")) })
		})
	})
}

func TestTrap_chance(t *testing.T) {
	trap(t)
	guard.Test(t, "only the fifth run fails", func(t *guard.T) {
		calls := 0
		modeltest.Check(t, func(s *modeltest.T) {
			calls++
			require.NotEqual(s, 5, calls)
		})
	})
}

func TestTraps(t *testing.T) {
	for name, wanted := range map[string]string{
		"assertion": `
--- FAIL: TestTrap_assertion
        did     up by 1 (3 times)
        why     three is one too many`,
		"panic": `
        did     up by 1 (2 times)
no two`,
		"panic_in_a_call": `
        did     up by 1 (2 times)
no two`,
		"never_returns": `
        did     up by 1 (2 times)
        why     a wait for two must end`,
		"todo":   `called Queue.Pop: not written yet`,
		"chance": `it failed, and did not fail when the same steps were repeated`,
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestTrap_"+name+"$")
			cmd.Env = append(os.Environ(), "MODELTEST_TRAP=1")
			out, err := cmd.CombinedOutput()
			require.Error(t, err, "a trap must fail")
			rest := string(out)
			for line := range strings.Lines(strings.TrimSpace(wanted)) {
				_, after, found := strings.Cut(rest, strings.TrimSpace(line))
				require.True(t, found, "no line %q, in this order, in\n%s", line, out)
				rest = after
			}
		})
	}
}

func TestCheck_passes_a_property_that_holds(t *testing.T) {
	guard.Test(t, "some dozens of steps in each", func(t *guard.T) {
		runs, steps := 0, 0
		modeltest.Check(t, func(s *modeltest.T) {
			runs++
			count(s, func(int) { steps++ })
		})
		require.Equal(t, 300, runs)
		require.Greater(t, steps, 5_000)
	})
}
