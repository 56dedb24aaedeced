package verify

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

func TestMerge_takes_bodies_and_what_is_added(t *testing.T) {
	right := overlay.Layer{Chapter: "01-box", Files: []overlay.File{{Name: "box.go", Content: []byte(
		"package box\n\nimport \"fmt\"\n\nvar _ fmt.Stringer\n\nvar _ any = fmt.Sprint\n\n" +
			"type Box struct{ n int }\n\nfunc (b *Box) Len() int {\n\treturn b.n\n}\n\nfunc (b *Box) Put() { " +
			"b.n++ }\n\nfunc spare() {}\n")}}}
	of := func(symbol, wrong string, more ...bugs.Change) []bugs.Change {
		found, err := bugs.Declaration(right.Files[0].Content, symbol)
		require.NoError(t, err)
		return append(more, bugs.Change{File: "box.go", Symbol: symbol, Right: found, Wrong: wrong})
	}
	imports := func(line string) bugs.Change { return bugs.Change{File: "box.go", Symbol: bugs.Imports, Wrong: line} }
	const body = "func (b *Box) Len() int {\n\treturn 1\n}"
	for name, c := range map[string]struct {
		changes []bugs.Change
		merged  bool
	}{
		"a body":           {of("Box.Len", body), true},
		"another file":     {[]bugs.Change{{File: "lid.go", Symbol: "Box.Len", Wrong: body}}, false},
		"another type":     {of("Box", "type Box struct{ n int8 }"), false},
		"a field more":     {of("Box", "type Box struct {\n\tn int\n\tm, k []int\n}"), true},
		"a field less":     {of("Box", "type Box struct{}"), true},
		"another kind":     {of("Box", "type Box int"), false},
		"embeds":           {of("Box", "type Box struct {\n\tn int\n\tfmt.Stringer\n}"), false},
		"a signature":      {of("Box.Put", "func (b *Box) Put(n int) {}"), false},
		"a function more":  {of("x", "func x() {}", of("Box.Len", body)...), true},
		"a method more":    {of("Box.Cap", "func (b *Box) Cap() {}"), false},
		"a function less":  {of("spare", ""), false},
		"a type more":      {of("x", "type x struct{}"), true},
		"a variable more":  {of("x", "var x = 1"), true},
		"an init function": {of("init", "func init() {}"), false},
		"an import more":   {of("Box.Len", body, imports(`"math"`)), true},
		"no Go any longer": {of("Box.Len", "func (b *Box) Len() int {"), false},
	} {
		t.Run(name, func(t *testing.T) {
			merged, has, err := merge(right, []bugs.Bug{{Name: "x", Changes: c.changes}})
			require.NoError(t, err)
			require.Equal(t, c.merged, has["x"], "%s", merged.Files[0].Content)
		})
	}
}

// What the set hides, a build of its own tells: a wrong version that needs what another one adds does not compile.
func TestMerge_leaves_out_what_needs_another_wrong_version(t *testing.T) {
	right := overlay.Layer{Files: []overlay.File{{Name: "box.go", Content: []byte(
		"package box\n\ntype Box struct{ n int }\n\nfunc (b *Box) Put() { b.n++ }\n\n" +
			"func (b *Box) Len() int { return b.n }\n")}}}
	of := func(name, symbol, wrong string, more ...bugs.Change) bugs.Bug {
		changes := append(more, bugs.Change{File: "box.go", Symbol: symbol, Wrong: wrong})
		return bugs.Bug{Name: name, Changes: changes}
	}
	limit := bugs.Change{File: "box.go", Symbol: "limit", Wrong: "const limit = 3"}
	imports := bugs.Change{File: "box.go", Symbol: bugs.Imports, Wrong: `"math"`}
	_, has, err := merge(right, []bugs.Bug{
		of("adds", "Box.Put", "func (b *Box) Put() { b.n = min(limit, math.MaxInt) }", limit, imports),
		of("adds-the-same", "Box.Put", "func (b *Box) Put() { b.n = limit }", limit),
		of("adds-another", "Box.Put", "func (b *Box) Put() { b.n = limit }",
			bugs.Change{File: "box.go", Symbol: "limit", Wrong: "const limit = 4"}),
		of("needs-the-constant", "Box.Put", "func (b *Box) Put() { b.n = limit }"),
		of("needs-the-import", "Box.Len", "func (b *Box) Len() int { return math.MaxInt }"),
		of("adds-a-field", "Box.Len", "func (b *Box) Len() int { return len(b.kept) }",
			bugs.Change{File: "box.go", Symbol: "Box", Right: "type Box struct{ n int }",
				Wrong: "type Box struct {\n\tn int\n\tkept []int\n}"}),
		of("adds-a-field-of-another-type", "Box.Len", "func (b *Box) Len() int { return len(b.kept) }",
			bugs.Change{File: "box.go", Symbol: "Box", Right: "type Box struct{ n int }",
				Wrong: "type Box struct {\n\tn int\n\tkept string\n}"}),
		of("needs-the-field", "Box.Len", "func (b *Box) Len() int { return cap(b.kept) }"),
		of("needs-nothing", "Box.Len", "func (b *Box) Len() int { last := b.n; return last }"),
	})
	require.NoError(t, err)
	require.Equal(t, map[string]bool{
		"adds": true, "adds-the-same": true, "adds-a-field": true, "needs-nothing": true,
	}, has)
}

// What the set says of a wrong version is what a build of its own says.
func TestProgram_judges_as_a_build_of_each_does(t *testing.T) {
	root := newWorkshop(t)
	write(t, root, "solutions/01-box/bugs.txtar", wrongText+
		"-- harmless/about --\ntest: TestTask1_Put_counts\nrule: r\nsymptom: s\n"+
		"-- harmless/box.go Box.add --\nfunc (b *Box) add(n int) { b.n = b.n + n }\n")
	c, err := course.Find(root, "1")
	require.NoError(t, err)
	r, err := run{ctx: t.Context(), root: root}.of(c)
	require.NoError(t, err)
	together, err := r.buildWrong(r.solution, r.sets[0].Bugs)
	require.NoError(t, err)
	for _, b := range r.sets[0].Bugs {
		require.True(t, together.has[b.Name], b.Name)
		one := &caught{runs: map[string]gotest.Result{}, together: together, racing: &oneProgram{}}
		alone := &caught{runs: map[string]gotest.Result{}, together: &oneProgram{}, racing: &oneProgram{}}
		r.runBug(one, b, r.solution)
		r.runBug(alone, b, r.solution)
		require.Equal(t, alone.problems, one.problems, b.Name)
		if b.Name == "harmless" {
			require.Contains(t, one.problems[0], "survives")
		}
	}
}

// A test that looks at how much memory a call takes may see the branches.
func TestProgram_leaves_out_wrong_versions_whose_test_the_right_code_fails_in_it(t *testing.T) {
	root := newWorkshop(t)
	replace(t, root, "01-box/box_test.go", "func TestTask1_Put_counts(t *testing.T) {",
		"func TestTask1_Put_counts(t *testing.T) {\n\tt.Fail()")
	_, together := programOf(t, root)
	require.Equal(t, map[string]bool{"never-empty": true, "leaves-one": true, "adds-one": true}, together.has)
}

func TestProgram_leaves_out_only_what_does_not_compile(t *testing.T) {
	root := newWorkshop(t)
	replace(t, root, "solutions/01-box/bugs.txtar", "Put() {}", "Put() {\n+\tnone()\n+}")
	r, together := programOf(t, root)
	require.Len(t, together.has, 5)
	require.False(t, together.has["never-full"])
	c, err := r.bugs()
	require.NoError(t, err)
	require.Len(t, c.problems, 1)
	require.Contains(t, c.problems[0], "never-full (what is put in is in) does not compile")
}

func TestBugs_lists_the_tests_that_none_names(t *testing.T) {
	r := &run{inputs: inputs{names: []string{"TestA", "TestB", "TestC"}}, sets: []bugs.Set{
		{Bugs: []bugs.Bug{{Test: "TestA"}}}, {Bugs: []bugs.Bug{{Test: "TestC"}}},
	}}
	require.Equal(t, []string{"TestB"}, r.unnamed())
}

func TestBugs_needs_a_wrong_version_for_each_test(t *testing.T) {
	root := newWorkshop(t)
	set := strings.ReplaceAll(wrongText, "TestTask1_Put_counts", "TestTask2_Empty_takes_all_out")
	write(t, root, "solutions/01-box/bugs.txtar", set)
	require.Contains(t, check(t, root, Options{Truths: []string{"bugs"}})["bugs"],
		"no wrong version names 1 tests: TestTask1_Put_counts; add one for each, or remove the test")
}

// programOf builds the wrong versions of the workshop's solution.
func programOf(t *testing.T, root string) (*run, *oneProgram) {
	t.Helper()
	c, err := course.Find(root, "1")
	require.NoError(t, err)
	r, err := run{ctx: t.Context(), root: root}.of(c)
	require.NoError(t, err)
	together, err := r.buildWrong(r.solution, r.sets[0].Bugs)
	require.NoError(t, err)
	return r, together
}

func TestExportedNames_are_what_other_packages_see(t *testing.T) {
	names := exportedNames(overlay.Layer{Files: []overlay.File{{Name: "box.go", Content: []byte(
		"package box\n\ntype Box struct{ N, m int }\n\nfunc (b *Box) Len() int { return b.m }\n\n" +
			"func (b *Box) put() {}\n\ntype lid struct{}\n\nfunc (l lid) Open() {}\n\nconst Most, least = 1, 2\n")}}})
	require.Equal(t, map[string]string{
		"Box": "struct", "Box.N": "int", "Box.Len": "func() (int)", "Most": "value",
	}, names)
}
