package verify

// This file checks that each task can be finished before the next one begins: with the solution's code of tasks 1 to n
// and todos above, the command of task n is green. Helpers that a stub leaves out are there in every step.
//
// All steps run from one program: the solution, in which each function of a task begins with a question to
// WORKSHOP_DONE whether its task is done.

import (
	"fmt"
	"os/exec"
	"strconv"

	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
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

// unfinished is a chapter's test binary over code with todos: the solution, and the states between two tasks.
type unfinished struct {
	program
	layer  overlay.Layer
	states []bugs.Bug
	apart  map[string]program // the states that have a program of their own
}

// buildUnfinished builds the program once for all truths that need it.
func (r *run) buildUnfinished() (*unfinished, error) {
	if r.unfinished != nil {
		return r.unfinished, nil
	}
	solution, err := r.solution()
	if err != nil {
		return nil, err
	}
	states, err := bugs.States(r.root, r.chapter)
	if err != nil {
		return nil, err
	}
	u := &unfinished{states: states.Bugs, apart: map[string]program{}}
	if u.layer, err = withTodos(solution); err != nil {
		return nil, err
	}
	merged, has := merge(u.layer, states.Bugs, false)
	merged.Name = u.layer.Name
	if u.program, err = r.build(merged); err != nil {
		has = nil // a state disturbs the others, or the solution; each build tells by itself
		if u.program, err = r.build(u.layer); err != nil {
			return nil, err
		}
	}
	for _, s := range states.Bugs {
		if has[s.Name] {
			continue
		}
		layer, err := s.Apply(u.layer)
		if err != nil {
			return nil, err
		}
		layer.Name = "state " + s.Name
		if u.apart[s.Name], err = r.build(layer); err != nil {
			return nil, err
		}
	}
	r.unfinished = u
	return u, nil
}

// start prepares a run over the solution's code of the tasks up to done, or over a state if there is one.
func (u *unfinished) start(r *run, done int, state string, args ...string) *exec.Cmd {
	p, apart := u.apart[state]
	if !apart {
		p = u.program
	}
	cmd := r.start(p, args...)
	cmd.Env = append(cmd.Env, tasksDone+"="+strconv.Itoa(done), chosenBug+"="+state)
	return cmd
}

func alone(r *run) (string, []string) {
	solution, err := r.solution()
	if err != nil {
		return "", []string{err.Error()}
	}
	var p problems
	for _, task := range r.chapter.Tasks {
		args, err := testArgs(task.Command)
		if err != nil {
			return "", []string{err.Error()}
		}
		what := fmt.Sprintf("alone, after task %d, %s", task.Number, task.Command)
		res, err := r.tested(what, solution, task.Pattern(), passes, func(skip string) (gotest.Result, error) {
			built, err := r.buildUnfinished()
			if err != nil {
				return gotest.Result{}, err
			}
			cmd := built.start(r, task.Number, "", "-test.run="+task.Pattern(), "-test.skip="+skip)
			if !r.onlyPattern(args) {
				all := append([]string{"-json", "-timeout=120s"}, args...)
				if cmd, err = r.command(built.layer, "test", all...); err != nil {
					return gotest.Result{}, err
				}
				cmd.Env = append(cmd.Env, tasksDone+"="+strconv.Itoa(task.Number))
			}
			return gotest.Run(r.ctx, cmd)
		})
		if err != nil {
			return "", []string{err.Error()}
		}
		p = append(p, mustPass(res, fmt.Sprintf("the solution's code of tasks 1 to %d", task.Number), nil)...)
	}
	return fmt.Sprintf("%d tasks are green without the later ones", len(r.chapter.Tasks)), p
}

// withTodos makes the solution's layer with a todo at the beginning of each function of a task.
func withTodos(solution overlay.Layer) (overlay.Layer, error) {
	layer := overlay.Layer{Chapter: solution.Chapter, Name: "alone"}
	for _, f := range solution.Files {
		todos, err := stub.Todos(f.Name, f.Content)
		if err != nil {
			return overlay.Layer{}, err
		}
		var all []insertion
		for _, h := range todos {
			all = append(all, insertion{at: h.Body, text: fmt.Sprintf("\nworkshopTodo(%d, %q)\n", h.Task, h.Symbol)})
		}
		f.Content = insert(f.Content, all)
		layer.Files = append(layer.Files, f)
	}
	return withSource(layer, "zz_workshop_todo.go", todoSource), nil
}
