package verify

// What generate writes, and what the flags of verify change.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

func TestUpdateShown_replaces_what_is_no_longer_printed(t *testing.T) {
	root := newWorkshop(t)
	box, err := course.Find(root, "box")
	require.NoError(t, err)
	changed, err := UpdateShown(t.Context(), root, box)
	require.NoError(t, err)
	require.Empty(t, changed, "the output is what the command prints")

	replace(t, root, "01-box/README.md", "--- FAIL: TestTask1_Put_counts (0.00s)\n…\n", "all is well\n")
	changed, err = UpdateShown(t.Context(), root, box)
	require.NoError(t, err)
	require.Equal(t, []string{"01-box/README.md:16: $ go test ./01-box -run Task1"}, changed)
	readme, err := os.ReadFile(filepath.Join(root, "01-box", "README.md"))
	require.NoError(t, err)
	require.Regexp(t, `(?s)-->\n`+"```"+`console\n\$ go test ./01-box -run Task1\n--- FAIL: .*FAIL\n`+"```"+
		`\n\n## Task 2`, string(readme))
	require.Empty(t, check(t, root, Options{Truths: []string{"shown"}})["shown"])

	replace(t, root, "01-box/README.md", "<!-- shown: stub -->\n", "<!-- shown: stub -->\n\n")
	replace(t, root, "01-box/README.md", "--- FAIL:", "--- PASS:")
	_, err = UpdateShown(t.Context(), root, box)
	require.ErrorContains(t, err, "put the comment right above")
}

func TestUpdateShown_changes_nothing_when_a_test_does_not_compile(t *testing.T) {
	root := newWorkshop(t)
	box, err := course.Find(root, "box")
	require.NoError(t, err)
	before := must(os.ReadFile(filepath.Join(root, "01-box/README.md")))
	write(t, root, "01-box/begun_test.go", "package box_test\n\nimport \"os\"\n")
	_, err = UpdateShown(t.Context(), root, box)
	require.ErrorContains(t, err, "`go test ./01-box -run Task1` does not compile:")
	require.ErrorContains(t, err, `"os" imported and not used`)
	require.Equal(t, string(before), string(must(os.ReadFile(filepath.Join(root, "01-box/README.md")))))
}

func TestUpdateShown_changes_nothing_when_it_is_interrupted(t *testing.T) {
	root, mark := newWorkshop(t), filepath.Join(t.TempDir(), "began")
	box, err := course.Find(root, "box")
	require.NoError(t, err)
	replace(t, root, "01-box/box_test.go", "import (", "import (\n\t\"os\"\n\t\"time\"")
	replace(t, root, "01-box/box_test.go", "func TestTask1_", fmt.Sprintf("func init() {\n\tprintln(\"half\")\n"+
		"\tos.WriteFile(%q, nil, 0o644)\n\tfor os.Remove(%q) != nil {\n\t\ttime.Sleep(time.Millisecond)\n\t}\n"+
		"\tos.Exit(1)\n}\n\nfunc TestTask1_", mark, mark+".over"))
	before, err := os.ReadFile(filepath.Join(root, "01-box", "README.md"))
	require.NoError(t, err)
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for _, err := os.Stat(mark); err != nil && ctx.Err() == nil; _, err = os.Stat(mark) {
			time.Sleep(10 * time.Millisecond)
		}
		interrupt()
		_ = os.WriteFile(mark+".over", nil, 0o644)
	}()
	_, err = UpdateShown(ctx, root, box)
	require.ErrorIs(t, err, context.Canceled)
	after, err := os.ReadFile(filepath.Join(root, "01-box", "README.md"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestGenerate_overwrites_no_work(t *testing.T) {
	root := newWorkshop(t)
	box, err := course.Find(root, "box")
	require.NoError(t, err)
	write(t, root, "01-box/box.go", "package box // mine\n")
	replace(t, root, "solutions/01-box/box.go", "// Put adds one.", "// Put adds one thing.")

	written, kept, err := Generate(root, box)
	require.NoError(t, err)
	require.Empty(t, written)
	require.Equal(t, []string{"box.go"}, kept)
	mine, err := os.ReadFile(filepath.Join(root, "01-box", "box.go"))
	require.NoError(t, err)
	require.Equal(t, "package box // mine\n", string(mine), "a learner's file is theirs")
	stub, err := os.ReadFile(filepath.Join(root, "01-box", "box.go.stub"))
	require.NoError(t, err)
	require.Contains(t, string(stub), "Put adds one thing.")
}

func TestGenerate_replaces_an_untouched_stub(t *testing.T) {
	root := newWorkshop(t)
	box, err := course.Find(root, "1")
	require.NoError(t, err)
	replace(t, root, "solutions/01-box/box.go", "// Put adds one.", "// Put adds one thing.")

	written, kept, err := Generate(root, box)
	require.NoError(t, err)
	require.Empty(t, kept)
	require.Equal(t, []string{"box.go"}, written)
	require.Empty(t, check(t, root, Options{Truths: []string{"derived"}, Pristine: true})["derived"])

	written, _, err = Generate(root, box)
	require.NoError(t, err)
	require.Empty(t, written, "the second time there is nothing to do")
}

func TestCount_finds_what_chance_decides(t *testing.T) {
	root := newWorkshop(t)
	replace(t, root, "01-box/box_test.go", "func TestTask1_Put_counts(t *testing.T) {",
		"var times int\n\nfunc TestTask1_Put_counts(t *testing.T) {\n\ttimes++\n\tif times == 2 {\n\t\tt.Fatal(\"the "+
			"second time\")\n\t}")
	require.Empty(t, check(t, root, Options{Truths: []string{"solutions"}})["solutions"])
	require.Contains(t, check(t, root, Options{Truths: []string{"solutions"}, Count: 3})["solutions"],
		"does not pass TestTask1_Put_counts")
	require.Contains(t, check(t, root, Options{Truths: []string{"oracle"}, Count: 3})["oracle"],
		"does not pass TestTask1_Put_counts")
}

func TestCount_finds_a_wrong_version_that_survives_now_and_then(t *testing.T) {
	root := newWorkshop(t)
	replace(t, root, "solutions/01-box/bugs.txtar", "+func (b *Box) Empty() {}", `+func (b *Box) Empty() {
+	if _, err := os.Stat("seen"); err == nil {
+		b.n = 0
+	}
+	os.WriteFile("seen", nil, 0o644)
+}
-- never-empty/box.go imports --
"os"`)
	require.Empty(t, check(t, root, Options{Truths: []string{"bugs"}})["bugs"])
	require.NoError(t, os.Remove(filepath.Join(root, "01-box", "seen")))
	require.Contains(t, check(t, root, Options{Truths: []string{"bugs"}, Count: 2})["bugs"], "survives")
}

func TestBugs_runs_a_wrong_version_again_that_survived_once(t *testing.T) {
	root := newWorkshop(t)
	replace(t, root, "solutions/01-box/bugs.txtar", "+func (b *Box) Empty() {}", `+func (b *Box) Empty() {
+	if _, err := os.Stat("seen"); err != nil {
+		b.n = 0
+	}
+	os.WriteFile("seen", nil, 0o644)
+}
-- never-empty/box.go imports --
"os"`)
	var bugs Finding
	chapters, err := course.All(root)
	require.NoError(t, err)
	_, err = Run(t.Context(), Options{Root: root, Chapters: chapters, Truths: []string{"bugs"},
		Report: func(f Finding) { bugs = f }})
	require.NoError(t, err)
	require.Empty(t, bugs.Problems)
	require.Contains(t, bugs.Detail, "only in a second and third run: never-empty")
	require.NoError(t, os.Remove(filepath.Join(root, "01-box", "seen")))
	require.Contains(t, check(t, root, Options{Truths: []string{"bugs"}, Count: 2})["bugs"], "survives")
}

func TestAllTests_reads_the_failures_of_others_too(t *testing.T) {
	root := newWorkshop(t)
	replace(t, root, "01-box/box_test.go", "func TestTask2_Empty_takes_all_out",
		`func TestTask2_Empty_after_many(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		b := &box.Box{}
		t.Did("Put, Put, Empty")
		b.Put()
		b.Put()
		b.Empty()
		require.Zero(t, b.Len(), "the number of things in the box")
	})
}

func TestTask2_Empty_takes_all_out`)
	require.Empty(t, check(t, root, Options{Truths: []string{"messages"}})["messages"])
	require.Contains(t, check(t, root, Options{Truths: []string{"messages"}, AllTests: true})["messages"],
		"TestTask2_Empty_after_many over the wrong version never-empty does not say why")
}
