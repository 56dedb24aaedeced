package failure

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
)

const failing = `--- FAIL: TestTask2_Update_moves_the_entry (0.00s)
    task2_index_test.go:36: not equal
        did     Add default/web running nginx
                Update default/web running caddy
        wanted  []string{}
        got     []string{"default/web"}
        why     an object is not found under a value it used to have: Update must ask the index function about the
                old object too
        read    05-indexer/README.md#task-2-one-index-40-min
`

func TestParse_takes_a_failure_apart(t *testing.T) {
	require.Equal(t, []Failure{{
		Test: "TestTask2_Update_moves_the_entry", At: "task2_index_test.go:36", Title: "not equal",
		Parts: []Part{
			{"did", []string{"Add default/web running nginx", "Update default/web running caddy"}},
			{"wanted", []string{"[]string{}"}},
			{"got", []string{`[]string{"default/web"}`}},
			{"why", []string{"an object is not found under a value it used to have: Update must ask the index function about the", "old object too"}},
			{"read", []string{"05-indexer/README.md#task-2-one-index-40-min"}},
		},
	}}, Parse("TestTask2_Update_moves_the_entry", failing))
}

func TestParse_of_a_subtest_names_it(t *testing.T) {
	all := Parse("TestA", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/one (0.00s)\n        a_test.go:1: not equal\n            wanted  1\n            got     2\n"+
		"    --- PASS: TestA/two (0.00s)\n    --- FAIL: TestA/three (0.00s)\n        a_test.go:9: not so\n            why     a rule\n")
	require.Len(t, all, 2)
	require.Equal(t, "TestA/one", all[0].Test)
	require.Equal(t, []string{"2"}, all[0].Part("got"))
	require.Equal(t, "TestA/three", all[1].Test)
	require.Equal(t, []string{"a rule"}, all[1].Part("why"))
}

func TestParse_of_a_hole(t *testing.T) {
	all := Parse("TestA", "--- FAIL: TestA (0.00s)\n    a_test.go:47: called Store.Update: not written yet (store.go:45, task 1 comes first): its comment says what to write; read 05-indexer/README.md#task-1\n")
	require.Equal(t, &Hole{"Store.Update", "store.go:45", "1", "05-indexer/README.md#task-1"}, all[0].Hole)
	require.Equal(t, "Store.Update is not written yet (store.go:45, task 1)\nThe comment above it says what to write.\n  read    05-indexer/README.md#task-1",
		text(all[0].Fit(80, 20)))
}

func TestParse_loses_nothing_of_what_it_does_not_know(t *testing.T) {
	all := Parse("TestA", "panic: boom\n\ngoroutine 7 [running]:\nmain.f()\n\t/x/y.go:3\n")
	require.Len(t, all, 1)
	require.Equal(t, "panic: boom", all[0].Title)
	require.Equal(t, []string{"goroutine 7 [running]:", "main.f()", "\t/x/y.go:3"}, all[0].Rest)
	all = Parse("TestA", failing+"what the code printed\n")
	require.Equal(t, []string{"what the code printed"}, all[0].Rest)
	require.Empty(t, Parse("TestA", "\n--- PASS: TestA (0.00s)\n"))
}

func TestFit_keeps_wanted_got_and_why_on_any_screen(t *testing.T) {
	f := Failure{At: "a_test.go:1", Title: "not equal", Parts: []Part{
		{"did", strings.Split(strings.Repeat("a step that takes some words to tell\n", 40), "\n")},
		{"wanted", []string{strings.Repeat("abcdefghij", 90)}},
		{"got", []string{strings.Repeat("ab cd ef ghij ", 90)}},
		{"diff", strings.Split(strings.Repeat("- this\n+ that\n", 20), "\n")},
		{"why", []string{strings.Repeat("because of the rule ", 20)}},
		{"read", []string{"05-indexer/README.md#task-2-one-index-40-min"}},
	}}
	for _, size := range [][2]int{{80, 19}, {80, 12}, {40, 19}, {40, 8}, {200, 50}, {30, 1}} {
		lines := f.Fit(size[0], size[1])
		require.LessOrEqual(t, len(lines), max(size[1], minRows), "%v\n%s", size, text(lines))
		for _, label := range []string{"wanted", "got", "why", "read"} {
			require.Contains(t, text(lines), "\n  "+label+" ", "%v", size)
		}
		for _, l := range lines {
			require.LessOrEqual(t, ansi.StringWidth(l.String()), size[0]+len(" …"), "%v: %q", size, l)
		}
	}
}

func TestFit_without_a_limit_shows_all(t *testing.T) {
	f := Parse("TestTask2_Update_moves_the_entry", failing)[0]
	require.Equal(t, `task2_index_test.go:36: not equal
  did     Add default/web running nginx
          Update default/web running caddy
  wanted  []string{}
  got     []string{"default/web"}
  why     an object is not found under a value it used to have: Update must ask
          the index function about the old object too
  read    05-indexer/README.md#task-2-one-index-40-min`, text(f.Fit(80, 0)))
}

func TestWrap_takes_control_characters_out(t *testing.T) {
	require.Equal(t, []string{"[2Jx    y"}, Wrap("\x1b[2Jx\ty\r", 20))
	require.Equal(t, []string{"  one", "  two"}, Wrap("  one two", 6))
	require.Equal(t, []string{"日本", "語"}, Wrap("日本語", 4))
}

func text(lines []Line) string {
	var all []string
	for _, l := range lines {
		all = append(all, l.String())
	}
	return strings.Join(all, "\n")
}

// FuzzParse: no output makes the reader or the layout fall over, and every row fits.
func FuzzParse(f *testing.F) {
	f.Add(failing, 80, 24)
	f.Add("    a.go:1: x\n\x1b\n  --- FAIL: y (1s)\n", 1, 1)
	f.Fuzz(func(t *testing.T, output string, width, rows int) {
		for _, failure := range Parse("TestX", output) {
			failure.Fit(min(width, 500), min(rows, 500))
		}
	})
}
