package guard

// This file is for bonus tasks: what nobody has to write must not look like work that is left.

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"client-go-workshop/internal/testkit/todo"
)

// Bonus skips the test of a bonus task that has not been begun: calling start, which needs the first thing to be written,
// meets a hole. Whoever asks for the task, as with -run Task6, has begun. Bonus is called before Test or Race.
func Bonus(t *testing.T, start func()) {
	t.Helper()
	if task := taskOf(t.Name()); task > 0 && strings.Contains(flag.Lookup("test.run").Value.String(), fmt.Sprintf("Task%d", task)) {
		return
	}
	defer func() {
		if hole, ok := recover().(todo.NotWritten); ok { // any other panic is for the test to find
			t.Skipf("a bonus, not begun: %v", hole)
		}
	}()
	start()
}
