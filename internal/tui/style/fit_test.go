package style

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/failure"
)

func text(lines []Line) string {
	var all []string
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return strings.Join(all, "\n")
}

func TestFit_of_what_is_not_written(t *testing.T) {
	f := failure.Failure{At: failure.Position{File: "a_test.go", Line: 47}, Read: "05-indexer/README.md#task-1",
		Todo: &failure.Todo{Symbol: "Store.Update", At: failure.Position{File: "store.go", Line: 45}, Task: 1}}
	require.Equal(t, "store.go:45: Store.Update is not written yet (task 1)\nThe comment above it says what to write.\n"+
		"  read    05-indexer/README.md#task-1", text(Fit(f, 80, 20)))
}

func TestFit_of_a_layer_below_that_is_not_written(t *testing.T) {
	f := failure.Failure{Why: "To write it: go tool workshop 05.", Read: "05-indexer/README.md",
		Todo: &failure.Todo{Symbol: "NewIndexer", At: failure.Position{File: "store.go", Line: 45}, Task: 1,
			Chapter: "05-indexer"}}
	require.Equal(t, "05-indexer/store.go:45: NewIndexer is not written yet (task 1)\n"+
		"  why     To write it: go tool workshop 05.", text(Fit(f, 80, 20)))
}

func TestFit_keeps_wanted_got_and_why_on_any_screen(t *testing.T) {
	f := failure.Failure{
		At: failure.Position{File: "a_test.go", Line: 1}, Problem: "not equal",
		Did:    strings.Split(strings.Repeat("a step that takes some words to tell\n", 40), "\n"),
		Wanted: strings.Repeat("abcdefghij", 90), Got: strings.Repeat("ab cd ef ghij ", 90),
		Diff: strings.Repeat("- this\n+ that\n", 20), Why: strings.Repeat("because of the rule ", 20),
		Read: "05-indexer/README.md#task-2-one-index-40-min",
	}
	for _, size := range [][2]int{{80, 19}, {80, 12}, {40, 19}, {40, 8}, {200, 50}, {30, 1}} {
		lines := Fit(f, size[0], size[1])
		require.LessOrEqual(t, len(lines), max(size[1], minRows), "%v\n%s", size, text(lines))
		for _, label := range []string{"wanted", "got", "why", "read"} {
			require.Contains(t, text(lines), "\n  "+label+" ", "%v", size)
		}
		for _, l := range lines {
			require.LessOrEqual(t, ansi.StringWidth(l.Text), size[0]+len(" …"), "%v: %q", size, l)
		}
	}
}

func TestFit_without_a_limit_shows_all(t *testing.T) {
	f := failure.Failure{
		At: failure.Position{File: "task2_index_test.go", Line: 36}, Value: "keys under image=nginx", Problem: "not equal",
		Did: []string{"Add default/web running nginx", "Update default/web running caddy"}, Wanted: "[]string{}",
		Got: `[]string{"default/web"}`, Read: "05-indexer/README.md#task-2-one-index-40-min",
		Why: "an object is not found under a value it used to have: Update must ask the index function about the old " +
			"object too",
	}
	require.Equal(t, `task2_index_test.go:36: keys under image=nginx: not equal
  did     Add default/web running nginx
          Update default/web running caddy
  wanted  []string{}
  got     []string{"default/web"}
  why     an object is not found under a value it used to have: Update must ask
          the index function about the old object too
  read    05-indexer/README.md#task-2-one-index-40-min`, text(Fit(f, 80, 0)))
}

func TestFit_shows_the_rest_and_counts_what_follows(t *testing.T) {
	f := failure.Failure{Problem: "panic: boom", Rest: []string{"goroutine 7 [running]:", "\t/x/y.go:3"}, More: 2}
	require.Equal(t, "panic: boom\ngoroutine 7 [running]:\n    /x/y.go:3\n… 2 more failures", text(Fit(f, 80, 0)))
}

func TestWrap_takes_control_characters_out(t *testing.T) {
	require.Equal(t, []string{"[2Jx    y"}, Wrap("\x1b[2Jx\ty\r", 20))
	require.Equal(t, []string{"  one", "  two"}, Wrap("  one two", 6))
	require.Equal(t, []string{"日本", "語"}, Wrap("日本語", 4))
}

// A command that is copied from the screen has to be one: its options stay whole.
func TestWrap_does_not_break_at_a_hyphen(t *testing.T) {
	require.Equal(t, []string{"  go tool workshop reset", "  --tests 05-indexer"},
		Wrap("  go tool workshop reset --tests 05-indexer", 26))
}

func TestWrap_keeps_a_command_in_one_row(t *testing.T) {
	require.Equal(t, []string{"Edited: a_test.go. To restore the tests:", "go tool workshop reset --tests 05-indexer"},
		Wrap("Edited: a_test.go. To restore the tests: go tool workshop reset --tests 05-indexer", 66))
	require.Equal(t, []string{"is a", "go test ./01-box;", "the others are not"},
		Wrap("is a go test ./01-box; the others are not", 20), "the command ends at the semicolon")
	require.Equal(t, []string{"a word that client-go then", "uses, and go on"},
		Wrap("a word that client-go then uses, and go on", 26), "neither the name nor the verb is a command")
}

// FuzzFit: no failure makes the layout fall over.
func FuzzFit(f *testing.F) {
	f.Add("not equal", "1", "2\n\x1b[2J", "why\n", 80, 24)
	f.Add("", "", "", "", 1, 1)
	f.Fuzz(func(t *testing.T, problem, wanted, got, why string, width, rows int) {
		x := failure.Failure{Problem: problem, Wanted: wanted, Got: got, Why: why, Rest: []string{got}, Did: []string{wanted}}
		Fit(x, min(width, 500), min(rows, 500))
	})
}
