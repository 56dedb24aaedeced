package guard

// This file cuts long texts before they go into a failure.

import (
	"fmt"
	"strings"

	"client-go-workshop/internal/testkit/failure"
)

const lineWidth = 100 // columns; a longer line of a value is cut

// shorten cuts what is longer than n characters, and says so.
func shorten(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n]) + fmt.Sprintf("… (%s)", failure.Count(len(runes)-n, "more character"))
}

// capLines keeps the first n lines and says how many there were more.
func capLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= n {
		return strings.Join(lines, "\n")
	}
	return strings.Join(lines[:n], "\n") + fmt.Sprintf("\n… %s", failure.Count(len(lines)-n, "more line"))
}
