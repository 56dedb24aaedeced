package course

import (
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course/markdown"
)

func TestHints_are_the_numbered_lists_of_the_tasks(t *testing.T) {
	require.Equal(t, map[int][]string{
		1: {"Look here, and there.", "What holds.\nA second paragraph."},
		2: {"One."},
	}, hints(markdown.Parse([]byte("# Hints\n\n1. Not a rung.\n\n## Task 1: A (5 min)\n\n"+
		"1. Look here,\n   and there.\n2. What holds.\n\n   A second paragraph.\n\n## Bonus task 2: B\n\n1. One.\n\n## "+
		"Else\n\n1. No.\n"))))
}

func TestEvery_task_has_two_or_three_hints(t *testing.T) {
	root, err := Root(".")
	require.NoError(t, err)
	all, err := All(root)
	require.NoError(t, err)
	for _, c := range all {
		byTask, err := Hints(root, c.Dir)
		require.NoError(t, err)
		for _, task := range c.Tasks {
			require.Contains(t, []int{2, 3}, len(byTask[task.Number]), "%s task %d", c.Dir, task.Number)
		}
		require.Len(t, byTask, len(c.Tasks), c.Dir)
	}
}
