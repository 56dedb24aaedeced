package main

// This file is `workshop watch --plain`: a verdict for each save, one below the other. It moves no cursor, so screen
// readers, Emacs, tasks of an editor and tee can read it.

import (
	"context"
	"fmt"
	"io"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/workspace/progress"
)

// outcome is a run that has ended.
type outcome struct {
	verdict runner.Verdict
	err     error
}

// watchPlain runs the tests of a chapter at each save, and prints each verdict, until the context of a ends. A newer
// save cancels a run. .vscode/tasks.json waits for the first and the last line of a block.
func (a *app) watchPlain(c progress.Chapter) error {
	// What is no terminal gets no colour, and no row that changes in place.
	a.out, a.errOut = struct{ io.Writer }{a.out}, struct{ io.Writer }{a.errOut}
	saves := make(chan struct{}, 1)
	go a.actions().Watch(a.ctx, c, func(string) {
		select {
		case saves <- struct{}{}:
		default: // one is already waiting
		}
	})
	var verdicts chan outcome // nil when nothing runs
	cancel := func() {}
	defer func() {
		if cancel(); verdicts != nil {
			<-verdicts // no process of a test outlives this one
		}
	}()
	for {
		select {
		case <-a.ctx.Done():
			return nil
		case <-saves:
			if cancel(); verdicts != nil {
				<-verdicts
			}
			if err := a.print("", "Running the tests of "+c.Dir+"."); err != nil {
				return err
			}
			verdicts = make(chan outcome, 1)
			cancel = a.begin(c, verdicts)
		case o := <-verdicts:
			verdicts = nil
			var lines []string
			if o.err != nil {
				lines = []string{o.err.Error()}
			} else {
				lines = a.verdictLines(o.verdict, false)
			}
			if err := a.print(append(lines, fmt.Sprintf("Waiting for a save in %s. Ctrl-C ends this.", c.Dir))...); err != nil {
				return err
			}
		}
	}
}

// begin starts a run, which sends its outcome to verdicts. cancel ends the run early.
func (a *app) begin(c progress.Chapter, verdicts chan<- outcome) (cancel context.CancelFunc) {
	ctx, cancel := context.WithCancel(a.ctx)
	go func() {
		f, _ := progress.Load(a.root)                   // an empty one if it is broken, which was reported at the start
		now, err := progress.Read(a.root, c.Chapter, f) // as it is after this save
		if err != nil {
			now = c
		}
		v, err := a.test(ctx, a.errOut, c.Chapter, runner.Options{OnGreen: func(runner.Verdict) {}, UpTo: now.WorkingAt(0)})
		verdicts <- outcome{v, err}
	}()
	return cancel
}
