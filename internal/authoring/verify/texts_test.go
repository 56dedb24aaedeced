package verify

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// questionsText is the end of a README.
const questionsText = "\n## Questions\n\n1. Why?\n\n   <details><summary>Answer</summary>\n\n   It counts things.\n\n" +
	"   </details>\n2. And then?\n"

func TestReferences_demand_an_answer_of_each_question(t *testing.T) {
	root := newWorkshop(t)
	text, err := os.ReadFile(filepath.Join(root, "01-box/README.md"))
	require.NoError(t, err)
	references := func(end string) string {
		write(t, root, "01-box/README.md", string(text)+end)
		return check(t, root, Options{Truths: []string{"references"}})["references"]
	}
	const missing = "the question has no answer"
	require.Contains(t, references(questionsText), missing)
	require.Empty(t, references(questionsText+"\n   <details><summary>Answer</summary>It is full.</details>\n"))
	require.Contains(t, references(questionsText+"\n   <details><summary>Answer</summary>Yes.</details>\n"), missing,
		"no sentence")
}

func TestDerived_checks_the_list_of_the_game(t *testing.T) {
	root := newWorkshop(t)
	derived := func(list string) string {
		write(t, root, "solutions/01-box/game.txt", "# The game.\n"+list)
		return check(t, root, Options{Truths: []string{"derived"}})["derived"]
	}
	require.Contains(t, derived("never-full\nnever-emptied\n"),
		"game.txt lists never-emptied, and bugs.txtar has no such wrong version")
	require.Contains(t, derived("never-full\n"), "game.txt lists 1 different wrong versions, and has to list 10")
}
