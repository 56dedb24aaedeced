package progress

// This file answers where a learner is: which task comes next in a chapter, and which chapter is the current one.

import (
	"slices"

	"client-go-workshop/internal/runner"
)

// Done reports whether all tasks have passed, except for bonus tasks.
func (c Chapter) Done() bool {
	return !slices.ContainsFunc(c.Tasks, TaskState.open)
}

// Next returns the task to work at: the first open one behind the last task that was ever green, or else the first open
// one. Bonus tasks do not count. If no task is open, open is false, and t is the chapter's first task.
func (c Chapter) Next() (t TaskState, open bool) {
	behind := 0
	for i, t := range c.Tasks {
		if t.wasGreen() && !t.Bonus {
			behind = i + 1
		}
	}
	if i := slices.IndexFunc(c.Tasks[behind:], TaskState.open); i >= 0 {
		return c.Tasks[behind+i], true
	}
	i := slices.IndexFunc(c.Tasks, TaskState.open)
	return c.Tasks[max(i, 0)], i >= 0
}

// WorkingAt returns the number of the task up to which a save runs the tests first: the next one, or task if that is a
// later one. When every task has been green, it is task if that is a bonus, or the bonus that was begun and was never
// green, or else 0.
func (c Chapter) WorkingAt(task int) int {
	if !c.WasGreen() {
		next, _ := c.Next()
		return max(task, next.Number)
	}
	i := slices.IndexFunc(c.Tasks, func(t TaskState) bool {
		begun := t.State == runner.Failing || t.State == runner.Unknown
		return t.Bonus && (t.Number == task || begun && !t.wasGreen())
	})
	if i < 0 {
		return 0
	}
	return c.Tasks[i].Number
}

// WasGreen reports whether each task has passed, over some version of the files, except for bonus tasks. Without Done,
// a run of the whole chapter is all that is missing.
func (c Chapter) WasGreen() bool {
	return !slices.ContainsFunc(c.Tasks, func(t TaskState) bool { return !t.wasGreen() && !t.Bonus })
}

func (t TaskState) open() bool     { return t.State != runner.Passed && !t.Bonus }
func (t TaskState) wasGreen() bool { return t.State == runner.Passed || t.Green }

// Current returns the learner's chapter and task. It is the task with the ID at, unless that has passed and does
// not fail since. Otherwise it is the next task of that chapter; without at, of the first chapter that the learner has
// begun, or else of the first chapter. After a chapter that is done or skipped comes the next one. A lab that the
// learner has not begun does not count. ok is false when no task is left.
func Current(all []Chapter, at string) (c Chapter, task TaskState, ok bool) {
	start := slices.IndexFunc(all, func(c Chapter) bool { return c.Has(at) })
	if start < 0 {
		start = max(0, slices.IndexFunc(all, func(c Chapter) bool { return !c.Untouched && !c.Skipped && !c.Done() }))
	} else if t, _ := all[start].find(at); (t.State == runner.Failing || !t.wasGreen()) && !all[start].Skipped {
		return all[start], t, true
	}
	for i := range all {
		c := all[(start+i)%len(all)]
		if c.Lab() && c.Untouched && i > 0 {
			continue
		}
		if t, open := c.Next(); open && !c.Skipped {
			return c, t, true
		}
	}
	return Chapter{}, TaskState{}, false
}

// Has reports whether the chapter has a task with the ID, also a former one.
func (c Chapter) Has(id string) bool {
	_, has := c.find(id)
	return has
}

// find finds a task by its ID, also by a former one.
func (c Chapter) find(id string) (TaskState, bool) {
	i := slices.IndexFunc(c.Tasks, func(t TaskState) bool { return t.ID == id || slices.Contains(t.Former, id) })
	if i < 0 {
		return TaskState{}, false
	}
	return c.Tasks[i], true
}
