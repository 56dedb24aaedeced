package main

// This file finds out where the learner is: in which workshop, chapter and task. Every command of learner.go, folder.go and
// the others begins with it.

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/workspace/progress"
)

// desk is what nearly every command needs: where the workshop is and how far the learner is.
type desk struct {
	root     string
	book     progress.Book
	chapters []progress.Chapter
	up       string // how to get to the root from the current folder: "..", say; "" if that is the root
}

// sitDown reads the desk. A progress file that is broken is said, and is no reason not to go on. In a chapter's folder one
// is at that chapter, unless it is done, whatever the file says.
func sitDown(warn io.Writer) (desk, error) {
	root, err := findRoot()
	if err != nil {
		return desk{}, err
	}
	book, err := progress.Load(root)
	if err != nil {
		fmt.Fprintln(warn, "workshop:", err)
	}
	all, err := progress.All(root, book)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("there is no chapter in %s: the folders 01-restclient and so on are gone; git or a fresh clone has them", root)
	}
	d := desk{root: root, book: book, chapters: all}
	if dir, wdErr := os.Getwd(); wdErr == nil {
		d.comeFrom(dir)
	}
	return d, err
}

func (d *desk) comeFrom(dir string) {
	below, err := filepath.Rel(d.root, dir)
	if err != nil || below == "." {
		return
	}
	folders := strings.Split(filepath.ToSlash(below), "/")
	d.up = strings.TrimSuffix(strings.Repeat("../", len(folders)), "/")
	at, _, _ := progress.Here(d.chapters, d.book.At)
	for _, c := range d.chapters {
		if c.Dir == folders[0] && c.Dir != at.Dir && !c.Done() {
			d.book.At = c.Tasks[0].ID
		}
	}
}

// pick finds the chapter and task that args name, or else the ones the learner is at. A zero task is the whole chapter.
func (d desk) pick(args []string) (progress.Chapter, course.Task, error) {
	if len(args) == 0 {
		c, task, ok := progress.Here(d.chapters, d.book.At)
		if !ok {
			return d.chapters[len(d.chapters)-1], course.Task{}, nil
		}
		return c, task.Task, nil
	}
	found, task, err := course.FindTask(d.root, args[0])
	if err != nil {
		return progress.Chapter{}, course.Task{}, err
	}
	for _, c := range d.chapters {
		if c.Dir == found.Dir {
			return c, task, nil
		}
	}
	return progress.Chapter{}, course.Task{}, fmt.Errorf("chapter %s has just vanished", found.Dir)
}
