package verify

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

func TestMerge_takes_bodies_and_what_is_added(t *testing.T) {
	right := overlay.Layer{Chapter: "01-box", Files: []overlay.File{{Name: "box.go", Content: []byte(
		"package box\n\nimport \"fmt\"\n\nvar _ fmt.Stringer\n\nvar _ any = fmt.Sprint\n\n" +
			"type Box struct{ n int }\n\nfunc (b *Box) Len() int {\n\treturn b.n\n}\n\nfunc (b *Box) Put() { " +
			"b.n++ }\n\nfunc spare() {}\n")}}}
	for name, c := range map[string]struct {
		old, new string
		merged   bool
	}{
		"a body":           {"return b.n\n", "return 1\n", true},
		"two statements":   {"b.n++", "b.n++; b.n++", true},
		"a field":          {"n int }", "n int8 }", false},
		"a signature":      {"Put()", "Put(n int)", false},
		"a function more":  {"func (b *Box) Put", "func x() {}\n\nfunc (b *Box) Put", true},
		"a method more":    {"func (b *Box) Put", "func (b *Box) Cap() {}\n\nfunc (b *Box) Put", false},
		"a function less":  {"func spare() {}\n", "", false},
		"a method less":    {"func (b *Box) Put() { ", "func put(b *Box) { ", false},
		"a type more":      {"func (b *Box) Put", "type x struct{}\n\nfunc (x) Put() {}\n\nfunc (b *Box) Put", true},
		"a variable more":  {"func (b *Box) Put", "var x = 1\n\nfunc (b *Box) Put", true},
		"an init function": {"func (b *Box) Put", "func init() {}\n\nfunc (b *Box) Put", false},
		"a field more":     {"n int }", "n int; list []int }", true},
		"a field before":   {"n int }", "list []int; n int }", true},
		"an embedded more": {"n int }", "n int; error }", false},
		"an import more":   {"\"fmt\"\n", "\"fmt\"\nimport \"os\"\n", true},
		"an import less":   {"\"fmt\"\n", "\"os\"\n", true},
		"another import":   {"\"fmt\"\n", "fmt \"os\"\n", false},
		"import of a name": {"\"fmt\"\n", "\"fmt\"\nimport Box \"os\"\n", false},
		"a label":          {"b.n++", "again: if b.n++; b.n < 0 { goto again }", false},
		"no Go any longer": {"b.n++ }", "b.n++", false},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := overlay.Layer{Files: []overlay.File{{Name: "box.go",
				Content: []byte(strings.Replace(string(right.Files[0].Content), c.old, c.new, 1))}}}
			_, ok := differences("x", right, wrong)
			require.Equal(t, c.merged, ok)
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
	field := bugs.Change{File: "box.go", Symbol: "Box", Wrong: "type Box struct{ n int; last int }"}
	imports := bugs.Change{File: "box.go", Symbol: bugs.Imports, Wrong: `"math"`}
	_, has := merge(right, []bugs.Bug{
		of("adds", "Box.Put", "func (b *Box) Put() { b.last = math.MaxInt }", field, imports),
		of("needs-the-field", "Box.Put", "func (b *Box) Put() { b.last++ }"),
		of("needs-the-import", "Box.Len", "func (b *Box) Len() int { return math.MaxInt }"),
		of("needs-nothing", "Box.Len", "func (b *Box) Len() int { last := b.n; return last }"),
	}, false)
	require.Equal(t, map[string]bool{"adds": true, "needs-nothing": true}, has)
}

// What the set says of a wrong version is what a build of its own says.
func TestProgram_judges_as_a_build_of_each_does(t *testing.T) {
	root := newWorkshop(t)
	write(t, root, "solutions/01-box/bugs.txtar", wrongText+
		"-- harmless/about --\ntest: TestTask1_Put_counts\nrule: r\nsymptom: s\n"+
		"-- harmless/box.go Box.add --\nfunc (b *Box) add(n int) { b.n = b.n + n }\n")
	c, err := course.Find(root, "1")
	require.NoError(t, err)
	r := &run{ctx: context.Background(), root: root, chapter: c}
	solution, err := r.solution()
	require.NoError(t, err)
	all, err := bugs.Load(root + "/" + c.Solution())
	require.NoError(t, err)
	together, err := r.buildWrong(solution, all)
	require.NoError(t, err)
	require.NotNil(t, together)
	for _, b := range all {
		require.True(t, together.has[b.Name], b.Name)
		one, _, err := r.runBug(b, solution, together)
		require.NoError(t, err)
		alone, _, err := r.runBug(b, solution, nil)
		require.NoError(t, err)
		require.Equal(t, judgeBug(b, alone), judgeBug(b, one), b.Name)
		if b.Name == "harmless" {
			require.Contains(t, judgeBug(b, one), "survives")
		}
	}
}

// A test that looks at how much memory a call takes may see the branches.
func TestProgram_leaves_out_wrong_versions_whose_test_the_right_code_fails_in_it(t *testing.T) {
	root := newWorkshop(t)
	replace(t, root, "01-box/box_test.go", "func TestTask1_Put_counts(t *testing.T) {",
		"func TestTask1_Put_counts(t *testing.T) {\n\tt.Fail()")
	together, _ := programOf(t, root)
	require.Equal(t, map[string]bool{"never-empty": true, "leaves-one": true, "adds-one": true}, together.has)
}

func TestProgram_leaves_out_only_what_does_not_compile(t *testing.T) {
	root := newWorkshop(t)
	replace(t, root, "solutions/01-box/bugs.txtar", "Put() {}", "Put() {\n+\tnone()\n+}")
	together, all := programOf(t, root)
	require.Len(t, together.has, 5)
	require.False(t, together.has["never-full"])
	r := &run{ctx: context.Background(), root: root, chapter: course.Chapter{Dir: "01-box", Number: 1, Topic: "box"}}
	c, problems := r.catch(all)
	require.Empty(t, problems)
	require.Len(t, c.judge(all), 1)
	require.Contains(t, c.judge(all)[0], "never-full (what is put in is in) does not compile")
}

// programOf builds the wrong versions of the workshop's solution.
func programOf(t *testing.T, root string) (*oneProgram, bugs.Set) {
	t.Helper()
	c, err := course.Find(root, "1")
	require.NoError(t, err)
	sets, err := bugs.Sets(root, c)
	require.NoError(t, err)
	together, err := (&run{ctx: context.Background(), root: root, chapter: c}).buildWrong(sets[0].Code, sets[0].Bugs)
	require.NoError(t, err)
	return together, sets[0]
}
