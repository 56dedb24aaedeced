package course

// The instructor's plans are tables of minutes. People rely on them with a room full of others.

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course/markdown"
)

var (
	planRow   = regexp.MustCompile(`^\| (\d+) \| (.*?) \|`)
	planTotal = regexp.MustCompile(`^\| \*\*(\d+)\*\* \|`)
	planTask  = regexp.MustCompile(`^\[(\d\d), task (\d+)\]\(\.\./([^/]+)/README\.md#([^)]+)\)`)
	planAll   = regexp.MustCompile(`^\[(\d\d-[a-z-]+)\]`)
)

func TestPlans_add_up_and_agree_with_the_chapters(t *testing.T) {
	root, err := Root(".")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "teach", "instructor.md"))
	require.NoError(t, err)
	plan, sum, plans := "", 0, 0
	doc := markdown.Parse(text)
	for i, line := range doc.Prose {
		if heading := doc.Above(i+1, 6).Text; heading != plan {
			plan, sum = heading, 0
		}
		if m := planTotal.FindStringSubmatch(line); m != nil {
			require.Equal(t, m[1], strconv.Itoa(sum), "the rows of the plan %q", plan)
			plans++
			continue
		}
		m := planRow.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(plan, "0") { // tables of mistakes are numbered by task
			continue
		}
		minutes, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		sum += minutes
		if ref := planTask.FindStringSubmatch(m[2]); ref != nil {
			c, task, err := FindTask(root, ref[1]+"/"+ref[2])
			require.NoError(t, err)
			require.Equal(t, task.Minutes, minutes,
				"plan %q: chapter %s says how long its task %d takes", plan, c.Dir, task.Number)
			require.Equal(t, c.Dir+"#"+task.Anchor, ref[3]+"#"+ref[4], "plan %q links the task", plan)
		}
		if ref := planAll.FindStringSubmatch(m[2]); ref != nil {
			c, err := Find(root, ref[1])
			require.NoError(t, err)
			require.Equal(t, c.Minutes(), minutes, "plan %q: chapter %s", plan, c.Dir)
		}
	}
	require.Equal(t, 4, plans, "plans in docs/teach/instructor.md")
}

// The instructor's guide has a mistake and a question for each task of a chapter.
func TestInstructor_has_a_question_for_each_task(t *testing.T) {
	root, err := Root(".")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "teach", "instructor.md"))
	require.NoError(t, err)
	all, err := All(root)
	require.NoError(t, err)
	for _, c := range all {
		if c.Lab() {
			continue // no plan has labs
		}
		_, section, found := strings.Cut(string(text), "### "+c.Dir+"\n")
		require.True(t, found, c.Dir)
		section, _, _ = strings.Cut(section, "\n### ")
		for _, task := range c.Tasks {
			row := `(?m)^\| ` + strconv.Itoa(task.Number) + ` \| .+ \| .+\? ?.* \|$`
			require.Regexp(t, row, section, "%s task %d", c.Dir, task.Number)
		}
	}
}
