package verify

// This file checks that each task can be finished before the next one begins: with the solution's code of tasks 1 to n
// and todos above, the command of task n is green. Helpers that a stub leaves out are there in every step.
//
// All steps run from one program: the solution, in which each function of a task begins with a question to
// WORKSHOP_DONE whether its task is done.

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

const tasksDone = "WORKSHOP_DONE"

const todoSource = `
import (
	"os"
	"strconv"

	"client-go-workshop/internal/testkit/todo"
)

func workshopTodo(task int, symbol string) {
	if done, _ := strconv.Atoi(os.Getenv("` + tasksDone + `")); done < task {
		panic(todo.Task(task, symbol))
	}
}
`

// buildUnfinished builds the solution with todos, and with the states between two tasks, for all truths that need it.
func (r *run) buildUnfinished() (*oneProgram, error) {
	layer, err := withTodos(r.solution)
	if err != nil {
		return nil, err
	}
	return r.buildMerged(layer, r.states.Bugs)
}

// partly is the solution's code of the tasks up to done, or a state after it if that has a name.
func (r *run) partly(done int, state bugs.Bug) code {
	return code{
		key: r.key(r.solution, "state", strconv.Itoa(done), fmt.Sprintf("%q", state.Changes)),
		env: []string{tasksDone + "=" + strconv.Itoa(done), chosenBug + "=" + state.Name},
		build: sync.OnceValues(func() (string, error) {
			p, err := r.unfinished()
			if err != nil {
				return "", err
			}
			if state.Name != "" && !p.has[state.Name] {
				return r.ownBuild(state, p.layer).build()
			}
			return p.built.build()
		}),
	}
}

func alone(r *run) (string, []string) {
	var p problems
	for _, task := range r.chapter.Tasks {
		res := r.test(r.partly(task.Number, bugs.Bug{}), task.Pattern(), passes)
		p = append(p, mustPass(res, fmt.Sprintf("the solution's code of tasks 1 to %d", task.Number), nil)...)
	}
	return fmt.Sprintf("%d tasks are green without the later ones", len(r.chapter.Tasks)), p
}

// withTodos makes the solution's layer with a todo at the beginning of each function of a task.
func withTodos(solution overlay.Layer) (overlay.Layer, error) {
	layer := overlay.Layer{Chapter: solution.Chapter, Name: "solution with todos", Files: slices.Clone(solution.Files)}
	for i, f := range layer.Files {
		todos, err := stub.Todos(f.Name, f.Content)
		if err != nil {
			return overlay.Layer{}, err
		}
		slices.SortFunc(todos, func(a, b stub.Todo) int { return b.Body - a.Body }) // from the end of the file
		for _, t := range todos {
			todo := fmt.Sprintf("\nworkshopTodo(%d, %q)\n", t.Task, t.Symbol)
			f.Content = slices.Concat(f.Content[:t.Body], []byte(todo), f.Content[t.Body:])
		}
		layer.Files[i] = f
	}
	return withSource(layer, "zz_workshop_todo.go", todoSource), nil
}
