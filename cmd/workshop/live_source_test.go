//go:build unix

package main

// These tests sit at the live view, as those in live_test.go do. They look at the source behind a failure, run one test
// alone, and start other programs.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLive_shows_the_source_if_there_is_room(t *testing.T) {
	s := sit(t, box(t), 200, 50, nil, "watch", "1")
	s.sees(`your code \(o\): 01-box/box\.go:11\s`)
	s.saves("box.go", boxWrong)
	wrong := s.sees(`(?s)the test \(O\): 01-box/box_test\.go:17\s.*it calls \(o\): 01-box/box\.go:5\s`)
	require.Regexp(t, `> +17 +require\.Equal\(t, 1, b\.Len\(\)`, wrong)
	require.Regexp(t, `> +5 +func \(b \*Box\) Put\(\) \{ b\.n \+= 2 \}`, wrong)
	s.saves("box.go", strings.ReplaceAll(boxWrong, "b.n += 2", "missing()"))
	require.Regexp(t, `> +5 +func \(b \*Box\) Put\(\) \{ missing\(\) \}`, s.sees(`(?s)does not compile.*your code \(o\)`))
	require.Contains(t, s.sent(), "file://"+filepath.ToSlash(s.root)+"/01-box/README.md", "a link of the terminal")
	require.NotRegexp(t, `\x1b\[\?100[0236]h`, s.sent(), "the mouse is the terminal's own")
}

func TestLive_runs_one_test_alone(t *testing.T) {
	s := sit(t, box(t), 120, 30, nil, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.saves("box.go", boxWrong)
	s.sees(`1 of 1 tests? pass|got +2`)
	s.types("f")
	s.sees(`one test \d`)
	s.saves("box.go", boxRight)
	alone := s.sees(`TestTask1_Put_counts passes\.`)
	require.Contains(t, alone, "f  run all tests again")
	require.NotContains(t, alone, "01 ✓✓", "the verdict on one test is none on the task")
	s.types("f")
	s.sees(`01 ✓✓`)
}

func TestLive_shows_the_text_of_the_task(t *testing.T) {
	s := sit(t, box(t), 80, 24, nil, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.types("i")
	text := s.sees(`go test \./01-box -run Task1`)
	require.NotContains(t, text, "It prints", "an answer stays folded")
	s.types("i")
	s.sees(`Box\.Put is not written yet`)
}

func TestLive_starts_delve_at_the_failed_line(t *testing.T) {
	root, bin := box(t), t.TempDir()
	s := sit(t, root, 120, 24, []string{"PATH=" + withoutDelve(t)}, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.types("d")
	s.sees(`To install it:\s+go install github\.com/go-delve/delve/cmd/dlv@latest`)
	s.types("q")
	s.ends()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "dlv"), []byte(`#!/bin/sh
echo "dlv: $*"; cat "$4"; echo "limit: $WORKSHOP_TEST_LIMIT"; read answer`), 0o755))
	s = sit(t, root, 200, 24, []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.types("d")
	delve := s.sees(`limit: 24h`)
	require.Regexp(t, `dlv: test ./01-box --init \S+ -- -test\.run \^TestTask1_Put_counts\$`, delve)
	require.Regexp(t, `break \S+/01-box/box_test\.go:16\s+continue`, delve)
	require.Contains(t, delve, "Delve compiles client-go without optimization.")
	s.types("\n")
	s.sees(`Box\.Put is not written yet`)
}

// withoutDelve returns a PATH with the go command and this test's program, and nothing else.
func withoutDelve(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{"go", "gcc", program} {
		if from, err := exec.LookPath(name); err == nil {
			require.NoError(t, os.Symlink(from, filepath.Join(bin, name)))
		}
	}
	return bin
}

func TestLive_scrolls_long_lines_of_the_diff(t *testing.T) {
	s := sit(t, box(t), 60, 24, nil, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.saves("box.go", strings.Replace(boxWrong, "b.n += 2", "b.n += 2 /* "+strings.Repeat("long ", 12)+" END */", 1))
	s.sees(`got +2`)
	s.types("s")
	s.sees(`anyway\? y/n`)
	s.types("y")
	require.NotContains(t, s.sees(`-func \(b \*Box\) Put`), "END")
	for range 8 {
		s.types("\x1b[C")
	}
	s.sees(`END`)
	s.types("\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D")
	s.sees(`-func \(b \*Box\) Put`)
}

func TestLive_suspends_and_comes_back(t *testing.T) {
	s := sit(t, box(t), 80, 24, nil, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.types("\x1a")
	leaves := regexp.MustCompile(`\x1b\[\?1049l`)
	require.Eventually(t, func() bool {
		return leaves.MatchString(s.sent())
	}, time.Minute, 10*time.Millisecond, "the shell's screen is back")
	// The terminal of this test has no shell, so the system does not stop the program. fg sends the same signal.
	require.Eventually(t, func() bool {
		require.NoError(t, s.cmd.Process.Signal(syscall.SIGCONT))
		return strings.Count(s.sent(), "\x1b[?1049h") == 2
	}, time.Minute, 100*time.Millisecond)
	s.types("?")
	s.sees(`A save runs the tests of the tasks`)
}

func TestLive_suspends_the_go_command_too(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says whether another process is stopped")
	}
	s := sitAt(t, "go-tool", box(t), 80, 24, nil, "watch", "1")
	s.sees(`Box\.Put is not written yet`)
	s.types("\x1a")
	stat := fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid)
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(stat)
		require.NoError(t, err)
		return strings.Contains(string(text), ") T ")
	}, time.Minute, 10*time.Millisecond, "the shell waits for the go command, which is stopped")
	require.Eventually(t, func() bool {
		require.NoError(t, syscall.Kill(-s.cmd.Process.Pid, syscall.SIGCONT)) // as fg does
		return strings.Count(s.sent(), "\x1b[?1049h") == 2
	}, time.Minute, 100*time.Millisecond)
	s.types("?")
	s.sees(`A save runs the tests of the tasks`)
	s.types("q")
	require.Equal(t, 0, s.ends())
}
