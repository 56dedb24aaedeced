package verify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/testkit/failure"
)

// stateOf is a written state in which one method of the box is another.
func stateOf(after int, method, body string) string {
	return fmt.Sprintf("-- begun/about --\nafter: %d\nstate: it is begun\n-- begun/box.go Box.%s --\n"+
		"func (b *Box) %s() {\n%s\n}\n", after, method, method, body)
}

func TestBetween_reports_what_a_learner_should_not_meet(t *testing.T) {
	for _, c := range []struct {
		name, state string
		problem     string // what the report must say
	}{
		{"a state that is fine", stateOf(1, "Empty", ""), ""},
		{"a later test that keeps a processor busy", stateOf(1, "Empty", "\tfor i := 0; i < 1e8; i++ {\n\t}"),
			"over the state begun, after task 1, TestTask2_Empty_takes_all_out takes "},
		{"a state that breaks a finished task", stateOf(1, "Put", ""),
			"over the state begun, after task 1, TestTask1_Put_counts fails, which belongs to a finished task"},
		{"a state after the last task", stateOf(2, "Empty", ""), "the state begun is after task 2, and no task follows"},
		{"a state of nothing", "-- begun/about --\nafter: 1\nstate: it is begun\n", "changes nothing"},
		{"a state that is also a wrong version",
			"-- begun/about --\nafter: 1\nstate: it is begun\ntest: TestTask1_Put_counts\n",
			"begun/about needs a test, a rule and a symptom; a state needs after and state"},
		{"a state that adds a field", "-- begun/about --\nafter: 1\nstate: it is begun\n-- begun/box.go Box --\n" +
			"type Box struct {\n\tn, m int\n}\n-- begun/box.go Box.Empty --\nfunc (b *Box) Empty() { b.m = b.n }\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.problem, " takes ") {
				defer func(bound time.Duration) { testWork = bound }(testWork)
				testWork = time.Millisecond
			}
			root := newWorkshop(t)
			write(t, root, "solutions/01-box/between.txtar", c.state)
			problems := check(t, root, Options{Truths: []string{"between"}})["between"]
			if c.problem == "" {
				require.Empty(t, problems)
			} else {
				require.Contains(t, problems, c.problem)
			}
		})
	}
}

func TestBetween_knows_the_first_test_of_a_task(t *testing.T) {
	root := newWorkshop(t)
	replace(t, root, "01-box/README.md", "begins with `TestTask2_Empty", "begins with `TestTask2_Lid")
	require.Contains(t, check(t, root, Options{Truths: []string{"between"}})["between"],
		"01-box/README.md says that task 2 begins with TestTask2_Lid_takes_all_out; its first test is "+
			"TestTask2_Empty_takes_all_out, and the first that fails is TestTask2_Empty_takes_all_out")
}

func TestBetween_knows_whom_a_failure_accuses(t *testing.T) {
	s := state{done: 1, r: &run{todos: []todo{
		{Todo: stub.Todo{Task: 1, Symbol: "Box.Put", Function: "box.Put"}},
		{Todo: stub.Todo{Task: 2, Symbol: "Box.Empty", Function: "box.Empty"}},
	}}}
	for _, c := range []struct {
		failure failure.Failure
		accused string
	}{
		{failure.Failure{Kind: failure.Hang, Problem: "(*Box).Put never returned"}, "Box.Put"},
		{failure.Failure{Kind: failure.Hang, Problem: "(*box).Put never returned: it waits"}, "Box.Put"},
		{failure.Failure{Kind: failure.Hang, Problem: "(*Box).Empty never returned"}, ""},
		{failure.Failure{Kind: failure.Hang, Problem: "(*Box).PutAll never returned"}, ""},
		{failure.Failure{Kind: failure.Assertion, Problem: "not equal", Value: "what Box.Put returns"}, ""},
	} {
		require.Equal(t, c.accused, s.accused(c.failure), c.failure.Problem)
	}
}
