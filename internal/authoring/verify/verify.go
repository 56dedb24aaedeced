// Package verify proves what the workshop claims about itself, one truth at a time.
//
// docs/develop/verify.md says what each truth claims, and how it is proved.
//
// Nothing here looks at what a learner has typed: every run puts its own implementation under the tests (package
// overlay), and the stubs are made again (package stub). Only with Options.Pristine do the chapter folders count, for
// then they must hold the stubs as they were made.
package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/gotest"
	"client-go-workshop/internal/runner/overlay"
)

// Options says what to verify.
type Options struct {
	Root     string           // of the workshop
	Chapters []course.Chapter // which ones
	Truths   []string         // which ones; all when empty
	Texts    bool             // also the texts that belong to no chapter: README.md, docs/, cluster/README.md
	Pristine bool             // whether the chapter folders must hold the untouched stubs
	Count    int              // how often the tests run over finished code, to find what chance decides; 0 is once
	AllTests bool             // whether all tests run over each wrong version, and not only the one that is named for it
	Report   func(Finding)    // receives each finding as it is made; may be nil
	// Begin receives what is checked next, and that this is number done of all; may be nil.
	Begin func(chapter, truth string, done, all int)
}

// Finding is what came of one truth for one chapter.
type Finding struct {
	Chapter  string
	Truth    string
	Detail   string   // what was looked at, in a few words; more lines are for a reader
	Problems []string // each one a sentence or more; none if the truth holds
	Seconds  float64
}

// Names lists the truths in the order of the findings.
func Names() []string {
	var names []string
	for _, t := range truths {
		names = append(names, t.name)
	}
	return names
}

// truths are in the order of the findings.
var truths = []struct {
	name  string
	check func(*run) (detail string, problems []string)
}{
	{"stubs", stubs},
	{"reached", reached},
	{"derived", derived},
	{"alone", alone},
	{"between", between},
	{"solutions", solutions},
	{"oracle", oracle},
	{"bare", bare},
	{"shapes", shapes},
	{"bugs", wrongVersions},
	{"contract", contract},
	{"messages", messages},
	{"references", references},
	{"shown", shown},
	{"predict", predicted},
}

// Run checks the truths, as many at once as there are processors, because a check waits for a linker or for a test half
// of its time. Report is never called twice at once. The findings are in the order of the chapters and truths, whenever
// they were made. A truth that does not hold is a finding; an error means that the work itself could not be done.
// Cancelling ctx ends it, and every command it has started.
func Run(ctx context.Context, o Options) ([]Finding, error) {
	var lock sync.Mutex // guards the reports and done
	steps, done := o.steps(ctx), 0
	findings := make([]Finding, len(steps))
	var order []int // contract and messages come last: until the wrong versions have run, they would only wait
	for _, last := range []bool{false, true} {
		for i, s := range steps {
			if (s.truth == "contract" || s.truth == "messages") == last {
				order = append(order, i)
			}
		}
	}
	atOnce(runtime.GOMAXPROCS(0), len(steps), func(turn int) {
		i := order[turn]
		s := steps[i]
		lock.Lock()
		if o.Begin != nil {
			o.Begin(s.chapter, s.truth, done, len(steps))
		}
		lock.Unlock()
		start := time.Now()
		detail, problems := s.run()
		if ctx.Err() != nil {
			return
		}
		lock.Lock()
		defer lock.Unlock()
		done++
		findings[i] = Finding{s.chapter, s.truth, detail, problems, time.Since(start).Seconds()}
		if o.Report != nil {
			o.Report(findings[i])
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("verify %d truths, of which %d were checked: %w", len(steps), done, err)
	}
	return findings, nil
}

// atOnce calls work with each number below all, at most limit of them at the same time.
func atOnce(limit, all int, work func(int)) {
	var workers sync.WaitGroup
	turns := make(chan struct{}, limit)
	for i := range all {
		turns <- struct{}{}
		workers.Go(func() {
			defer func() { <-turns }()
			work(i)
		})
	}
	workers.Wait()
}

// step is one truth for one chapter, or for the texts that belong to no chapter.
type step struct {
	chapter, truth string
	check          func() (detail string, problems []string)
}

// run makes the check. An error that ends it is its problem.
func (c step) run() (detail string, problems []string) {
	var err error
	defer func() {
		if err != nil {
			problems = []string{err.Error()}
		}
	}()
	defer ended(&err)
	return c.check()
}

// broken is what must panics with.
type broken struct{ error }

// must returns a value. After an error it ends the check, or what else calls ended.
func must[T any](value T, err error) T {
	if err != nil {
		panic(broken{err})
	}
	return value
}

// ended, deferred, stores the error with which must has ended the function.
func ended(err *error) {
	switch p := recover().(type) {
	case nil:
	case broken:
		*err = p.error
	default:
		panic(p)
	}
}

// steps lists the checks that the options ask for.
func (o Options) steps(ctx context.Context) (steps []step) {
	asked := func(truth string) bool { return len(o.Truths) == 0 || slices.Contains(o.Truths, truth) }
	all := &run{ctx: ctx, root: o.Root, pristine: o.Pristine, count: o.Count, allTests: o.AllTests,
		race: runner.RaceDetector(ctx)}
	all.packages = sync.OnceValues(all.packageSums)
	if !o.Pristine && !o.AllTests && o.Count <= 1 {
		all.results = openResults(o.Root)
	}
	for _, c := range o.Chapters {
		r, err := all.of(c)
		for _, t := range truths {
			if asked(t.name) {
				steps = append(steps, step{c.Dir, t.name, func() (string, []string) { return t.check(must(r, err)) }})
			}
		}
	}
	if o.Texts && asked("references") {
		steps = append(steps, step{"(texts)", "references", func() (string, []string) {
			return checkReferences(ctx, o.Root,
				"*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "cluster/*.md", ".github/*.md", course.LabsPage)
		}})
	}
	return steps
}

// problems collects what is wrong, each problem a sentence or more.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// run is the work on one chapter, and what its truths share.
type run struct {
	ctx      context.Context
	root     string
	chapter  course.Chapter
	pristine bool
	count    int // as in Options
	allTests bool
	race     bool // whether the race detector can be used here

	results  results                           // those of earlier runs; empty if they do not count
	packages func() (map[string]string, error) // packageSums
	inputs   inputs                            // what the chapter's runs depend on

	solution overlay.Layer // the reference
	sets     []bugs.Set    // the wrong versions of the solution, and those of other designs
	states   bugs.Set      // between two tasks
	todos    []todo
	mayPass  map[string]string // the tests that a stub may pass, with the reasons

	stub       overlay.Layer                // the stubs as they are made from the solution today
	stubRuns   func() map[int]gotest.Result // each task's command over them, by the task's number
	unfinished func() (*oneProgram, error)  // the solution with todos
	bugs       func() (*caught, error)      // what came of the wrong versions of the solution
}

// todo is a function to write, and the file of the solution that has it.
type todo struct {
	stub.Todo
	file string // from the root
}

// of returns the work on a chapter: what is read of it, and what is done when the first truth needs it.
func (r run) of(c course.Chapter) (_ *run, err error) {
	defer ended(&err)
	r.chapter = c
	r.inputs = must(r.readInputs())
	folder := filepath.Join(r.root, c.Solution())
	r.sets, r.states = must(bugs.Sets(r.root, c)), must(bugs.States(r.root, c))
	r.mayPass = must(Reasons(filepath.Join(folder, PassesOnStub), ": "))
	r.solution = r.sets[0].Code
	for _, f := range r.solution.Files {
		for _, t := range must(stub.Todos(f.Name, f.Content)) {
			r.todos = append(r.todos, todo{t, c.Solution() + "/" + f.Name})
		}
	}
	r.stub = r.layer("stub", must(stub.Dir(folder)))
	r.stubRuns = sync.OnceValue(func() map[int]gotest.Result { return r.runTasks(r.code("", r.stub)) })
	r.unfinished = sync.OnceValues(r.buildUnfinished)
	r.bugs = sync.OnceValues(func() (*caught, error) { return r.catch(r.sets[0]) })
	return &r, nil
}

// layer makes a layer of files that are generated. files holds their content by name.
func (r *run) layer(name string, files map[string][]byte) overlay.Layer {
	layer := overlay.Layer{Chapter: r.chapter.Dir, Name: name}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		origin := filepath.Join(r.root, r.chapter.Dir, file)
		layer.Files = append(layer.Files, overlay.File{Name: file, Origin: origin, Content: files[file]})
	}
	return layer
}

// command prepares a go command over a layer. A file that the layer does not have is not there for it, nor is a test
// file that a learner has added.
func (r *run) command(layer overlay.Layer, verb string, args ...string) (*exec.Cmd, error) {
	o, err := overlay.Write(r.root, layer)
	if err != nil {
		return nil, fmt.Errorf("put the %s under the tests of %s: %w", layer.Name, r.chapter.Dir, err)
	}
	return o.Go(r.ctx, verb, args...)
}

func (r *run) pkg() string { return "./" + r.chapter.Dir }

// entry is a line of a list in a solution's or oracle's folder: "TestName: why", "PROMISE => RULE".
type entry struct {
	line        int
	left, right string
}

// readEntries reads a list, without blank lines and comments. A missing file is an empty list.
func readEntries(path, separator string) (all []entry, err error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		left, right, ok := strings.Cut(line, separator)
		if !ok || strings.TrimSpace(strings.TrimPrefix(right, "none:")) == "" {
			return nil, fmt.Errorf("%s:%d: %q gives no reason; write \"%s%sWHY\"", path, i+1, line, left, separator)
		}
		all = append(all, entry{i + 1, left, right})
	}
	return all, nil
}

// Reasons reads a list of exceptions, with the reason for each. A missing file is an empty list.
func Reasons(path, separator string) (map[string]string, error) {
	all, err := readEntries(path, separator)
	reasons := map[string]string{}
	for _, e := range all {
		reasons[e.left] = e.right
	}
	return reasons, err
}
