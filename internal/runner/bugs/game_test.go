package bugs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

func numbered(from, to int) (all []Bug) {
	for i := from; i <= to; i++ {
		all = append(all, Bug{Name: fmt.Sprint("b", i)})
	}
	return all
}

func gameFolder(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, GameFile), []byte(text), 0o644))
	return dir
}

func TestGame_is_the_list_in_its_order(t *testing.T) {
	game, others, err := Game(gameFolder(t, "# Two.\nb3\n\nb1\n"), numbered(1, 4))
	require.NoError(t, err)
	require.Equal(t, []Bug{{Name: "b3"}, {Name: "b1"}}, game)
	require.Equal(t, []Bug{{Name: "b2"}, {Name: "b4"}}, others)
	_, _, err = Game(gameFolder(t, "# One.\nb9\n"), numbered(1, 4))
	require.ErrorContains(t, err, "game.txt lists b9, and bugs.txtar has no such wrong version")
}

func TestWithoutBonus(t *testing.T) {
	c := course.Chapter{Tasks: []course.Task{{Number: 1}, {Number: 2, Bonus: true}}}
	set := []Bug{{Test: "TestTask1_a"}, {Test: "TestTask2_a"}, {Test: "TestTask21_a"}}
	require.Equal(t, []Bug{set[0], set[2]}, WithoutBonus(c, set))
}

func TestGame_without_a_list_is_the_first_ten(t *testing.T) {
	game, others, err := Game(t.TempDir(), numbered(1, 12))
	require.NoError(t, err)
	require.Equal(t, numbered(1, 10), game)
	require.Equal(t, numbered(11, 12), others)
	game, others, err = Game(t.TempDir(), numbered(1, 2))
	require.NoError(t, err)
	require.Equal(t, numbered(1, 2), game)
	require.Empty(t, others)
}

func TestGameProblems(t *testing.T) {
	ten := "b1\nb2\nb3\nb4\nb5\nb6\nb7\nb8\nb9\n"
	for text, want := range map[string][]string{
		"# Ten.\n" + ten + "b10\n": nil,
		ten + "b10\n":              {"game.txt does not begin with a comment that says what it is"},
		"# Nine.\n" + ten:          {"game.txt lists 9 different wrong versions, and has to list 10"},
		"# Ten.\n" + ten + "b9\n":  {"game.txt lists 9 different wrong versions, and has to list 10"},
		"# Ten.\n" + ten + "x\n":   {"game.txt lists x, and bugs.txtar has no such wrong version"},
	} {
		require.Equal(t, want, GameProblems(gameFolder(t, text), numbered(1, 12)), strings.ReplaceAll(text, "\n", " "))
	}
	require.Empty(t, GameProblems(t.TempDir(), nil))
}
