package bugs

// This file chooses the wrong versions for the game, `workshop bugs`.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
)

// GameFile is the name of the file, in a chapter's solution folder, that lists the wrong versions of the game: one name
// on each line, the easiest first. Lines that begin with # are comments.
const GameFile = "game.txt"

// GameSize is how many wrong versions the game has.
const GameSize = 10

// WithoutBonus returns the wrong versions that no test of a bonus task must catch.
func WithoutBonus(c course.Chapter, set []Bug) []Bug {
	return slices.DeleteFunc(slices.Clone(set), func(b Bug) bool {
		return slices.ContainsFunc(c.Tasks, func(t course.Task) bool {
			return t.Bonus && strings.HasPrefix(b.Test, fmt.Sprintf("TestTask%d_", t.Number))
		})
	})
}

// Game divides a chapter's set into the wrong versions of the game, in its order, and all others. Without a list in
// the solution's folder the game has the first ten.
func Game(dir string, set []Bug) (game, others []Bug, err error) {
	names, err := gameNames(dir)
	if errors.Is(err, fs.ErrNotExist) {
		n := min(GameSize, len(set))
		return set[:n], set[n:], nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		i := slices.IndexFunc(set, func(b Bug) bool { return b.Name == name })
		if i < 0 {
			return nil, nil, fmt.Errorf("%s lists %s, and %s has no such wrong version", GameFile, name, File)
		}
		game = append(game, set[i])
	}
	others = slices.DeleteFunc(slices.Clone(set), func(b Bug) bool { return slices.Contains(names, b.Name) })
	return game, others, nil
}

// GameProblems returns what is wrong with the list in a solution's folder. A set with no more wrong versions than the
// game needs no list.
func GameProblems(dir string, set []Bug) []string {
	names, err := gameNames(dir)
	if errors.Is(err, fs.ErrNotExist) && len(set) <= GameSize {
		return nil // the game has all of them
	}
	_, _, unknown := Game(dir, set)
	if err = cmp.Or(err, unknown); err != nil {
		return []string{err.Error()}
	}
	slices.Sort(names)
	if n := len(slices.Compact(names)); n != GameSize || n != len(names) {
		return []string{fmt.Sprintf("%s lists %d different wrong versions, and has to list %d", GameFile, n, GameSize)}
	}
	return nil
}

func gameNames(dir string) (names []string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, GameFile))
	if err != nil {
		return nil, fmt.Errorf("read the game's wrong versions: %w", err)
	}
	if !strings.HasPrefix(string(text), "#") {
		return nil, fmt.Errorf("%s does not begin with a comment that says what it is", GameFile)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			names = append(names, line)
		}
	}
	return names, nil
}
