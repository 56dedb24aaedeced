package verify

import (
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/predict"
)

// What the programs print out of one build is what each prints out of its own.
func TestJoint_prints_as_each_program_does(t *testing.T) {
	root := newWorkshop(t)
	box, err := course.Find(root, "1")
	require.NoError(t, err)
	programs, err := course.Programs(root, box)
	require.NoError(t, err)
	r := &run{ctx: t.Context(), root: root, chapter: box}
	joint := r.joinPrograms(programs)
	require.NotNil(t, joint)
	defer joint.remove()
	require.Len(t, programs, 4)
	answers := joint.answers(r, programs)
	for _, p := range programs {
		alone, err := predict.Repeat(t.Context(), root, box, p, 2)
		require.NoError(t, err)
		require.Equal(t, alone, answers[p.Name], p.Name)
	}
}

func TestJoint_is_nil_if_a_program_does_not_compile(t *testing.T) {
	root := newWorkshop(t)
	replace(t, root, "solutions/01-box/testdata/predict/1-once/main.go", "b.Len()", "b.Size()")
	box, err := course.Find(root, "1")
	require.NoError(t, err)
	programs, err := course.Programs(root, box)
	require.NoError(t, err)
	r := &run{ctx: t.Context(), root: root, chapter: box}
	joint := r.joinPrograms(programs)
	require.Nil(t, joint)
	require.Empty(t, joint.answers(r, programs))
	joint.remove()
}

// A program that was built before prints what the command prints.
func TestShown_out_of_a_built_program(t *testing.T) {
	root := newWorkshop(t)
	box, err := course.Find(root, "1")
	require.NoError(t, err)
	sets, err := bugs.Sets(root, box)
	require.NoError(t, err)
	r := &run{ctx: t.Context(), root: root, chapter: box}
	_, ok := r.printBuilt("solution", "go test ./01-box")
	require.False(t, ok, "nothing is built")
	require.NoError(t, r.runTasks())
	_, problems := r.catch(sets[0])
	require.Empty(t, problems)
	for _, over := range []string{"stub", "solution", "bug never-full"} {
		for _, command := range []string{"go test ./01-box", "go test ./01-box -run Task1"} {
			printed, ok := r.printBuilt(over, command)
			require.True(t, ok, over)
			slow, err := r.print(over, command)
			require.NoError(t, err)
			require.Equal(t, clean(slow), clean(printed), "%s over %s", command, over)
		}
	}
	for over, command := range map[string]string{
		"bug none": "go test ./01-box", "solution": "go test ./01-box -run Task1 -v", "stub": "go vet ./01-box",
	} {
		_, ok := r.printBuilt(over, command)
		require.False(t, ok, over)
	}
}
