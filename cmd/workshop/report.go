package main

// This file is `workshop watch --report`: with the learner's consent, the live view reports the learner's place to the
// instructor's board. Package report sends it; nothing here waits for that.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/workspace/progress"
	"client-go-workshop/internal/workspace/report"
)

// reporting is the flags of the live view that are about the board.
type reporting struct {
	url  string // of a board, "off", or "" for the one that the learner agreed to
	name string
}

// reporter is the connection of a live view to a board. A nil reporter does nothing.
type reporter struct {
	client *report.Client

	mu    sync.Mutex
	opens string // the ID of the task at which the live view opens, until the first verdict stores a place; or ""
	rule  string // that the last failure named, or ""
	task  string // the ID of the task of that failure
}

// begin starts the reports. Only the first call has an effect.
func (r *reporter) begin(ctx context.Context) {
	if r != nil {
		r.client.Begin(ctx)
	}
}

// judged remembers the rule of a verdict's first failure, which the learner looks at, and sends the new place.
func (r *reporter) judged(v runner.Verdict) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.opens, r.rule, r.task = "", "", ""
	if task, open := v.First(0); open {
		if f, fails := task.Matters(); fails && f.Todo == nil {
			r.rule, r.task = f.Rule, task.ID
		}
	}
	r.mu.Unlock()
	r.client.Changed()
}

// notes returns what the learner has to know about the board, each note once.
func (r *reporter) notes() []string {
	if r == nil {
		return nil
	}
	return r.client.Notes()
}

// reportTo gives a the reporter for the board that the flags name, or that the learner agreed to earlier. A new board
// needs consent. c is the chapter to open. stop is true if the command is done, because the learner took the consent
// back or did not give it.
func (a *app) reportTo(flags reporting, c progress.Chapter) (stop bool, err error) {
	stored, err := report.Load(a.root)
	if flags.url == "off" {
		return true, a.reportNoMore(stored)
	}
	if flags.url == "" {
		if err != nil {
			a.warn(err)
		}
		if flags.name != "" {
			return true, errors.New("--name is for the board: add --report and its address")
		}
	} else if address, err := report.ParseURL(flags.url); err != nil {
		return true, err
	} else if address != stored.URL || flags.name != "" && flags.name != stored.Name {
		if flags.name == "" {
			flags.name, err = a.askForConsent(address)
		}
		if err != nil || flags.name == "" {
			return true, err
		}
		if stored, err = report.Store(a.root, address, flags.name); err != nil {
			return true, err
		}
	}
	if stored.URL != "" {
		r := &reporter{}
		if a.named {
			r.opens = a.placeIn(c).ID
		}
		r.client = report.NewClient(stored, func() report.Report { return a.place(r) })
		a.reporter = r
	}
	return false, nil
}

// askForConsent says what a board receives, and returns the name that the learner types; "" is a no.
func (a *app) askForConsent(address string) (string, error) {
	if !isTerminal(a.in) {
		return "", errors.New("the board needs your consent, and the name to show: add --name and a name. It then receives " +
			"your chapter, task, hints and the rule of your last failure; never code")
	}
	fmt.Fprintf(a.errOut, `The board at %s is for the instructor. While your live view is open, it receives:

  - your name, as you type it below
  - the chapter and task that you are at, and how many of its hints you took
  - the rule that your last failure names: a sentence of the workshop's tests

It never receives code. It forgets everything when the instructor ends it. Your yes holds
for the next live views, too. To take it back: go tool workshop watch --report off

Your name for the board, or only Enter for no: `, address)
	name, err := a.readLine()
	if err == nil && name == "" {
		fmt.Fprintln(a.errOut, "Nothing is reported. To open the live view: go tool workshop")
	}
	return name, err
}

// reportNoMore takes the consent back, and asks the board to forget the learner.
func (a *app) reportNoMore(stored report.Consent) error {
	was, err := report.Remove(a.root)
	if err != nil {
		return err
	}
	if !was {
		return a.print("Your live view reports to no board.")
	}
	forgot := ""
	if stored.URL != "" {
		forgot = " " + stored.URL + " has forgotten you."
		if err := report.NewClient(stored, nil).Withdraw(a.ctx); err != nil {
			forgot = " " + stored.URL + " does not answer; it forgets you after two hours, or when it ends."
		}
	}
	return a.print("Your live view reports to the board no more."+forgot, "If a live view is open, quit it.")
}

// place returns where the learner is, as the stored progress has it.
func (a *app) place(r *reporter) (place report.Report) {
	f, all := a.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	c, task, open := progress.Current(all, cmp.Or(r.opens, f.At))
	if !open {
		return report.Report{}
	}
	place = report.Report{Chapter: c.Dir, Task: task.Number, Hints: f.HintsTaken(task.Task)}
	if r.task == task.ID {
		place.Rule = r.rule
	}
	return place
}
