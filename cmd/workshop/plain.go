package main

// This file is `workshop watch --plain`: a verdict for each save, one below the other. It moves no cursor, so screen
// readers, Emacs, tasks of an editor and tee can read it.

import (
	"context"
	"io"
	"sync"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/tui"
	"client-go-workshop/internal/workspace/progress"
)

// watchPlain runs the tests of a chapter at each save, and prints each verdict, until the context of a ends. A newer
// save cancels a run. .vscode/tasks.json waits for the first and the last line of a block.
func (a *app) watchPlain(c progress.Chapter) error {
	// What is no terminal gets no colour, and no row that changes in place.
	a.out, a.errOut = struct{ io.Writer }{a.out}, struct{ io.Writer }{a.errOut}
	saves := make(chan struct{}, 1)
	go tui.Watch(a.ctx, a.root, c, func() {
		select {
		case saves <- struct{}{}:
		default: // one is already waiting
		}
	})
	var run sync.WaitGroup
	cancel := func() {}
	defer func() {
		cancel()
		run.Wait() // no process of a test outlives this one
	}()
	for {
		select {
		case <-a.ctx.Done():
			return nil
		case <-saves:
		}
		cancel()
		run.Wait()
		if err := a.print("", "Running the tests of "+c.Dir+"."); err != nil {
			return err
		}
		ctx, stop := context.WithCancel(a.ctx)
		cancel = stop
		run.Go(func() {
			lines := a.plainVerdict(ctx, c)
			if ctx.Err() == nil {
				a.print(append(lines, "Waiting for a save in "+c.Dir+". Ctrl-C ends this.")...)
			}
		})
	}
}

// plainVerdict runs the tests, those of the tasks up to the learner's before the others.
func (a *app) plainVerdict(ctx context.Context, c progress.Chapter) []string {
	f, _ := progress.Load(a.root)                   // an empty one if it is broken, which was reported at the start
	now, err := progress.Read(a.root, c.Chapter, f) // as it is after this save
	if err != nil {
		now = c
	}
	v, err := a.test(ctx, a.errOut, c.Chapter, runner.Options{OnGreen: func(runner.Verdict) {}, UpTo: now.WorkingAt(0)})
	if err != nil {
		return []string{err.Error()}
	}
	return a.verdictLines(v, false)
}
