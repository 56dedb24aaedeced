package runner

// This file picks what to look at first: a task of a verdict, and a failure of that task.

import (
	"slices"

	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/testkit/failure"
)

func (t Test) failed() bool { return t.Status == gotest.Failed || t.Status == gotest.Broken }

// onlyTodos reports whether all failures of the test are functions that are not written yet.
func (t Test) onlyTodos() bool {
	wrong := func(f failure.Failure) bool { return f.Todo == nil }
	return t.failed() && len(t.Failures) > 0 && !slices.ContainsFunc(t.Failures, wrong)
}

// First returns the task to work at: the one with that number, if there is one and it has not passed. Otherwise it is
// the first one that fails and was green; then the first one behind the last that was ever green; then the first one
// that has not passed. ok is false when nothing is left.
func (v Verdict) First(number int) (task Task, ok bool) {
	behind := 0
	for i, t := range v.Tasks {
		if (t.State == Passed || t.Green) && !t.Bonus {
			behind = i + 1
		}
	}
	open := func(t Task) bool { return t.State != Passed && t.State != Bonus }
	for _, among := range []struct {
		tasks []Task
		is    func(Task) bool
	}{
		{v.Tasks, func(t Task) bool { return t.Number == number && t.State != Passed }},
		{v.Tasks, Task.broken},
		{v.Tasks[behind:], open},
		{v.Tasks, open},
	} {
		if i := slices.IndexFunc(among.tasks, among.is); i >= 0 {
			return among.tasks[i], true
		}
	}
	return Task{}, false
}

// Broken reports whether a task fails that has passed in an earlier run.
func (v Verdict) Broken() bool { return slices.ContainsFunc(v.Tasks, Task.broken) }

func (t Task) broken() bool { return t.Green && t.State == Failing }

// Matters returns the failure of the task to look at first. If nothing of the task is written, it is that of the first
// test, with which the text begins the task. Otherwise a failure of written code comes before a todo, because it is
// about the code that was just typed. Among equals the order is that of the tests, which is the text's.
func (t Task) Matters() (f failure.Failure, ok bool) {
	fails := slices.DeleteFunc(slices.Clone(t.Tests), func(test Test) bool { return !test.failed() })
	if len(fails) == 0 {
		return failure.Failure{}, false
	}
	test := fails[0]
	if i := slices.IndexFunc(fails, func(t Test) bool { return !t.onlyTodos() }); i >= 0 && !t.Untouched {
		test = fails[i]
	}
	todos := test.onlyTodos()
	if i := slices.IndexFunc(test.Failures, func(f failure.Failure) bool { return (f.Todo != nil) == todos }); i >= 0 {
		return test.Failures[i], true
	}
	return failure.Failure{
		Test: test.Name, Kind: failure.Other, Problem: "the test binary ended before this test did",
	}, true
}

// AtTheStop returns the failure of the test that was running when the run was stopped.
func (v Verdict) AtTheStop() (f failure.Failure, ok bool) {
	for _, t := range v.Tasks {
		for _, test := range t.Tests {
			if v.Stopped != "" && test.Status == gotest.Broken && len(test.Failures) > 0 {
				return test.Failures[0], true
			}
		}
	}
	return failure.Failure{}, false
}

// Alone returns the failure of the one test that was to run, or that it passed. ok is false if it did not run.
func (v Verdict) Alone() (f failure.Failure, passed, ok bool) {
	for _, t := range v.Tasks {
		if len(t.Tests) > 0 {
			f, ok = t.Matters()
			return f, t.State == Passed, ok || t.State == Passed
		}
	}
	return f, false, false
}

// Failures are all failures of the task, in the order of its tests.
func (t Task) Failures() (all []failure.Failure) {
	for _, test := range t.Tests {
		all = append(all, test.Failures...)
	}
	return all
}
