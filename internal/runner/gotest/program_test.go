package gotest

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The test binary is the program that the tests below run.
func TestMain(m *testing.M) {
	switch os.Getenv("GOTEST_PROGRAM") {
	case "":
		os.Exit(m.Run())
	case "both":
		os.Stdout.WriteString("one\n")
		os.Stderr.WriteString("two\x1b[2J\n")
		os.Stdout.WriteString("three\n")
		os.Exit(3)
	case "eats":
		for all := [][]byte{}; ; {
			all = append(all, make([]byte, 1<<20))
			for i := range all[len(all)-1] {
				all[len(all)-1][i] = 1
			}
		}
	case "sleeps":
		time.Sleep(time.Hour)
	}
}

func program(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOTEST_PROGRAM="+name)
	return cmd
}

func TestRunProgram_keeps_the_order_of_both_outputs(t *testing.T) {
	p, err := RunProgram(t.Context(), program(t, "both"), Limits{Time: time.Minute})
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\nthree\n", p.Output)
	require.Equal(t, 3, p.Exit)
	require.Empty(t, p.Stopped)
}

func TestRunProgram_stops_what_takes_too_much_memory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	p, err := RunProgram(t.Context(), program(t, "eats"), Limits{Time: time.Minute, Memory: 200 << 20})
	require.NoError(t, err)
	require.Equal(t, "it took more than 200 MiB of memory", p.Stopped)
}

func TestRunProgram_ends_with_its_context(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	_, err := RunProgram(ctx, program(t, "sleeps"), Limits{Time: time.Minute})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(start), 30*time.Second)
}
