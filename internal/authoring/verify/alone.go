package verify

// This file checks that each task can be finished before the next one begins: with the solution's code of tasks 1 to n
// and holes above, the command of task n is green. Helpers that a stub leaves out are there in every step.
//
// All steps run from one program: the solution, in which each function of a task begins with a question to
// WORKSHOP_DONE whether its task is done.

import (
	"fmt"
	"os/exec"
	"strconv"

	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

const tasksDone = "WORKSHOP_DONE"

const holesSource = `
import (
	"os"
	"strconv"

	"client-go-workshop/internal/testkit/todo"
)

func workshopHole(task int, symbol string) {
	if done, _ := strconv.Atoi(os.Getenv("` + tasksDone + `")); done < task {
		panic(todo.Task(task, symbol))
	}
}
`

func alone(r *run) (string, []string) {
	solution, err := r.solution()
	if err != nil {
		return "", []string{err.Error()}
	}
	layer, err := withHoles(solution)
	if err != nil {
		return "", []string{err.Error()}
	}
	built, err := r.build(layer)
	if err != nil {
		return "", []string{err.Error()}
	}
	var p problems
	for _, task := range r.chapter.Tasks {
		args, err := testArgs(task.Command)
		if err != nil {
			return "", []string{err.Error()}
		}
		var cmd *exec.Cmd
		if r.onlyPattern(args) {
			cmd = r.start(built, "-test.run="+args[2])
		} else if cmd, err = r.command(layer, "test", append([]string{"-json", "-timeout=120s"}, args...)...); err != nil {
			return "", []string{err.Error()}
		}
		cmd.Env = append(cmd.Env, tasksDone+"="+strconv.Itoa(task.Number))
		res, err := gotest.Run(r.ctx, cmd)
		if err != nil {
			return "", []string{err.Error()}
		}
		p = append(p, mustPass(res, fmt.Sprintf("the solution's code of tasks 1 to %d", task.Number), nil)...)
	}
	return fmt.Sprintf("%d tasks are green without the later ones", len(r.chapter.Tasks)), p
}

// withHoles makes the solution's layer with a hole at the beginning of each function of a task.
func withHoles(solution overlay.Layer) (overlay.Layer, error) {
	layer := overlay.Layer{Chapter: solution.Chapter, Name: "alone"}
	for _, f := range solution.Files {
		holes, err := stub.Holes(f.Name, f.Content)
		if err != nil {
			return overlay.Layer{}, err
		}
		var all []insertion
		for _, h := range holes {
			all = append(all, insertion{at: h.Body, text: fmt.Sprintf("\nworkshopHole(%d, %q)\n", h.Task, h.Symbol)})
		}
		f.Content = insert(f.Content, all)
		layer.Files = append(layer.Files, f)
	}
	return withSource(layer, "zz_workshop_hole.go", holesSource), nil
}
