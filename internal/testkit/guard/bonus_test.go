package guard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/todo"
)

func TestA_bonus_is_skipped_until_it_is_begun(t *testing.T) {
	for name, start := range map[string]struct {
		start func()
		runs  bool
	}{
		"todo":         {func() { panic(todo.Task(6, "NewRealFIFO")) }, false},
		"written":      {func() {}, true},
		"other panics": {func() { panic("a bug") }, true},
	} {
		ran := false
		t.Run(name, func(t *testing.T) {
			guard.Bonus(t, start.start)
			ran = true
		})
		require.Equal(t, start.runs, ran, name)
	}
}
