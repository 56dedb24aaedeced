package scripts

// These tests run progress.sh and class.sh over chapters whose tests print what each kind of chapter prints.

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgress_says_of_each_chapter_how_far_it_is_and_never_fails(t *testing.T) {
	w := newWorld(t)
	for chapter, printed := range map[string]string{
		"01-begun": "--- PASS: TestTask1_A (0.00s)\n--- FAIL: TestTask10_D (0.00s)\n" +
			"    --- FAIL: TestTask1_not_of_its_own (0.00s)\n" +
			"--- FAIL: TestTask2_C (0.00s)\n--- SKIP: TestTask11_Bonus (0.00s)\nFAIL\n1",
		"02-finished": "--- PASS: TestTask1_A (0.00s)\n    --- PASS: TestTask1_A/b (0.00s)\n" +
			"--- PASS: TestTask2_B (0.00s)\nPASS\n0",
		"03-not-compiled": "# client-go-workshop/03\n03/x.go:3:1: syntax error\n" +
			"FAIL\tclient-go-workshop/03 [build failed]\n1",
		"04-cut-off": "--- PASS: TestTask1_A (0.00s)\n--- FAIL: TestTask2_B (0.00s)\n" +
			"panic: send on closed channel\n\ngoroutine 7 [running]:\nFAIL\n2",
		"labs/begun": "--- PASS: TestTask1_A (0.00s)\n--- FAIL: TestTask2_B (0.00s)\nFAIL\n1",
		"labs/fresh": "--- FAIL: TestTask1_A (0.00s)\nFAIL\n1",
		"labs/green": "--- PASS: TestTask1_A (0.00s)\nPASS\n0",
	} {
		w.write(filepath.Join(w.root, chapter, "README.md"), "")
		w.is(chapter, printed+"\n")
	}
	require.Equal(t, "| chapter | tests passed | next |\n|---|---|---|\n"+
		"| 01-begun | 1 of 3 | `go test ./01-begun -run Task2` |\n"+
		"| 02-finished | 2 of 2 | finished |\n"+
		"| 03-not-compiled | 0 of 0 | does not compile: `go vet ./03-not-compiled` says why |\n"+
		"| 04-cut-off | 1 of 2 | the tests were cut off: `go test ./04-cut-off` says why |\n"+
		"| labs/begun | 1 of 2 | `go test ./labs/begun -run Task2` |\n"+
		"| labs/green | 1 of 1 | finished |\n"+
		"\n1 of 4 chapters are finished.\nLabs finished: 1.\n", w.runs("progress.sh"))
}

func TestClass_has_a_row_for_each_person(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{"01-box", "02-shelf", "labs/x"} {
		w.write(filepath.Join(w.root, dir, "README.md"), "")
	}
	spoil := ""
	for _, script := range []string{"class.sh", "progress.sh"} {
		spoil += "echo 'echo spoiled; exit' >" + filepath.Join(w.root, "scripts", script) + "\n"
	}
	clone := func(person string, dirs ...string) string {
		root := filepath.Join(t.TempDir(), person)
		for _, dir := range dirs {
			w.write(filepath.Join(root, dir, "README.md"), "")
		}
		w.write(filepath.Join(root, "scripts", "progress.sh"), "echo 'the script of a fork is not run'\n")
		if person == "eve" {
			w.write(filepath.Join(root, "tests-do.sh"), spoil)
		}
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "x"}} {
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a",
				"GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
		}
		return root
	}
	eve := clone("eve", "01-box")
	w.is("01-box", "--- PASS: TestTask1_A (0.00s)\nPASS\n0\n")
	w.is("02-shelf", "--- PASS: TestTask1_A (0.00s)\n--- FAIL: TestTask2_C (0.00s)\nFAIL\n1\n")
	w.is("03-broken", "# client-go-workshop/03\n03/x.go:3:1: syntax error\nFAIL\t03 [build failed]\n1\n")
	w.is("labs/x", "--- PASS: TestTask1_A (0.00s)\nPASS\n0\n")
	w.stdin = "eve " + eve + "\nada " + clone("ada", "01-box", "02-shelf", "labs/x") + "\n\n" +
		"ben<b>| " + clone("ben", "01-box", "03-broken") + "\ngone /there/is/no/such/clone\n"
	require.Equal(t, "| person | 01-box | 02-shelf | labs finished |\n|---|---|---|---|\n"+
		"| eve | finished | 0 |\n"+
		"| ada | finished | 1 of 2 | 1 |\n"+
		"| benb | finished | does not compile | 0 |\n"+
		"| gone | cannot be cloned |\n", w.runs("class.sh"))
}
