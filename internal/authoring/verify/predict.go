package verify

// This file checks the programs to predict, and writes the page that shows them with their outputs folded away:
// NN-topic/predictions.md, with a heading for each task. The README's section of a task links to its heading.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/markdown"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
	"client-go-workshop/internal/runner/predict"
	"client-go-workshop/internal/tui/style"
)

const (
	programsPerTask = 2
	linesOfProgram  = 8 // that it may print over the solution
)

// predicted checks a chapter's programs to predict.
func predicted(r *run) (string, []string) {
	programs, page := must(course.Programs(r.root, r.chapter)), r.predictionsPage()
	answers, problems := r.keptPredictions(programs, page)
	if len(answers) == len(programs) && page != r.predictionsText(programs, answers) {
		problems.add("%s/%s does not show the programs as they are, or what they print; run `go tool author generate`",
			r.chapter.Dir, course.PredictionsPage)
	}
	readme := string(must(os.ReadFile(filepath.Join(r.root, r.chapter.Dir, "README.md"))))
	for _, task := range r.chapter.Tasks {
		n := 0
		for _, p := range programs {
			if p.Task == task.Number {
				n++
			}
		}
		if n < programsPerTask {
			problems.add("task %d has %d programs to predict; it takes %d or more", task.Number, n, programsPerTask)
		}
		if !r.linksToPredictions(readme, task) {
			problems.add("%s/README.md:%d: the section of task %d needs one line with a link to %s and `%s`",
				r.chapter.Dir, task.Line, task.Number, predictionsLink(task), r.predictCommand(task))
		}
	}
	return fmt.Sprintf("%d programs", len(programs)), problems
}

// keptPredictions returns what predictions returns, and keeps it if there is no problem.
func (r *run) keptPredictions(programs []course.Program, page string) (map[string]predict.Answer, problems) {
	what := []string{"predict"}
	for _, program := range programs {
		layer := must(overlay.ReadDir(program.Dir, program.Name, filepath.Join(r.root, program.Dir)))
		what = append(what, r.key(layer))
	}
	named := slices.DeleteFunc(slices.Clone(r.sets[0].Bugs), func(b bugs.Bug) bool {
		return !slices.ContainsFunc(programs, func(p course.Program) bool { return p.Wrong == b.Name })
	})
	key := r.key(r.solution, append(what, fmt.Sprintf("%+v", named))...)
	var p problems
	good := func(map[string]predict.Answer) bool { return p == nil }
	answers := must(keep(r, key, good, func() (answers map[string]predict.Answer, err error) {
		answers, p = r.predictions(programs, page, named)
		return answers, nil
	}))
	return answers, p
}

// predictions returns by name what each program prints, without those that have a problem. page shows what the programs
// printed when it was written. A program out of a build of all counts only if its answer is the one that the page
// shows; after any other answer, it is built for itself.
func (r *run) predictions(
	programs []course.Program, page string, named []bugs.Bug,
) (map[string]predict.Answer, problems) {
	var p problems
	all := map[string]predict.Answer{}
	together := r.together(programs, named)
	for _, program := range programs {
		both := together[program.Name]
		if both == nil || judgeProgram(program, both) != "" || !strings.Contains(page, programText(program, both[0])) {
			first, err := predict.Ask(r.ctx, r.root, r.chapter, program, false)
			second, also := predict.Ask(r.ctx, r.root, r.chapter, program, false)
			if err = errors.Join(err, also); err != nil {
				p.add("%v", err)
				continue
			}
			both = []predict.Answer{first, second}
		}
		if problem := judgeProgram(program, both); problem != "" {
			p.add("%s", problem)
			continue
		}
		all[program.Name] = both[0]
	}
	return all, p
}

// together builds all programs at once, over the solution with the wrong versions that they name merged in. It returns
// by name what each prints at two runs over both, without those that cannot be built like this. Many programs wait most
// of their time, so several run at once.
func (r *run) together(programs []course.Program, named []bugs.Bug) map[string][]predict.Answer {
	merged, has, err := merge(r.solution, named)
	if err != nil || len(programs) == 0 {
		return nil
	}
	merged.Chapter = filepath.ToSlash(r.chapter.Solution())
	folder, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "predict")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(folder)
	args := []string{"-ldflags=-w -s", "-o", folder + string(filepath.Separator)}
	for _, p := range programs {
		args = append(args, "./"+p.Dir)
	}
	if cmd, err := r.command(merged, "build", args...); err != nil || cmd.Run() != nil {
		return nil
	}
	all := map[string][]predict.Answer{}
	var lock sync.Mutex // guards all
	var running sync.WaitGroup
	turns := make(chan struct{}, 4*runtime.GOMAXPROCS(0))
	for _, p := range programs {
		if !has[p.Wrong] {
			continue
		}
		turns <- struct{}{}
		running.Go(func() {
			defer func() { <-turns }()
			built := filepath.Join(folder, p.Name)
			if runtime.GOOS == "windows" {
				built += ".exe"
			}
			rights, err := predict.Start(r.ctx, built, 2, chosenBug+"=")
			wrongs, also := predict.Start(r.ctx, built, 2, chosenBug+"="+p.Wrong)
			lock.Lock()
			defer lock.Unlock()
			if err == nil && also == nil {
				all[p.Name] = []predict.Answer{{Right: rights[0], Wrong: wrongs[0]}, {Right: rights[1], Wrong: wrongs[1]}}
			}
		})
	}
	running.Wait()
	return all
}

// judgeProgram returns what is wrong with the answers of two runs, or "".
func judgeProgram(program course.Program, both []predict.Answer) string {
	right, wrong := both[0].Right, both[0].Wrong
	switch {
	case !slices.Equal(right.Lines, both[1].Right.Lines):
		return fmt.Sprintf("%s prints this over the solution, and at the second run something else:\n%s",
			program.Dir, right.Text())
	case !slices.Equal(wrong.Lines, both[1].Wrong.Lines):
		return fmt.Sprintf("%s prints this over %s, and at the second run something else:\n%s",
			program.Dir, program.Wrong, wrong.Text())
	case right.Stopped || right.Exit != 0:
		return fmt.Sprintf("%s does not end well over the solution:\n%s", program.Dir, right.Text())
	case len(right.Lines) > linesOfProgram:
		return fmt.Sprintf("%s prints %d lines over the solution; at most %d are easy to predict",
			program.Dir, len(right.Lines), linesOfProgram)
	case slices.Equal(right.Lines, wrong.Lines):
		return fmt.Sprintf("%s prints the same over the solution and over %s:\n%s", program.Dir, program.Wrong,
			right.Text())
	}
	return ""
}

// linksToPredictions reports whether the README's section of a task links to its programs and names the command.
func (r *run) linksToPredictions(readme string, task course.Task) bool {
	lines := strings.SplitAfter(readme, "\n")
	section, _, _ := strings.Cut(strings.Join(lines[min(task.Line, len(lines)):], ""), "\n## ")
	return strings.Contains(section, "]("+predictionsLink(task)+")") &&
		strings.Contains(section, "`"+r.predictCommand(task)+"`")
}

// predictionsLink is where a task's section links to: the task's heading on the page of programs.
func predictionsLink(t course.Task) string {
	return course.PredictionsPage + "#" + markdown.Slug(predictionsHeading(t))
}

func predictionsHeading(t course.Task) string { return fmt.Sprintf("Task %d: %s", t.Number, t.Title) }

// predictCommand is the command that asks for a task's programs.
func (r *run) predictCommand(t course.Task) string {
	return fmt.Sprintf("go tool workshop predict %s/%d", r.chapter.Name(), t.Number)
}

// predictionsPage reads the chapter's page of programs. It is empty if there is none.
func (r *run) predictionsPage() string {
	page, err := os.ReadFile(filepath.Join(r.root, r.chapter.Dir, course.PredictionsPage))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return string(must(page, err))
}

// UpdatePredictions runs the programs of a chapter and writes its page. It returns the page's name if it has changed.
func UpdatePredictions(ctx context.Context, root string, c course.Chapter) (changed []string, err error) {
	defer ended(&err)
	programs := must(course.Programs(root, c))
	if len(programs) == 0 {
		return nil, nil
	}
	r := must(run{ctx: ctx, root: root}.of(c))
	page := r.predictionsPage()
	answers, problems := r.keptPredictions(programs, page)
	if problems != nil {
		return nil, errors.New(strings.Join(problems, "\n"))
	}
	text := r.predictionsText(programs, answers)
	if text == page {
		return nil, nil
	}
	name := c.Dir + "/" + course.PredictionsPage
	return []string{name}, os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o644)
}

// predictionsText returns the page of a chapter's programs.
func (r *run) predictionsText(programs []course.Program, answers map[string]predict.Answer) string {
	var out strings.Builder
	up := strings.Repeat("../", strings.Count(r.chapter.Dir, "/")+1)
	_, title, _ := strings.Cut(r.chapter.Title, ": ")
	fmt.Fprintf(&out, `# %s: programs to predict

Read the question and the program, and write down what it prints. Then unfold the answer. The same in a terminal:
%s. [How a chapter works](%sdocs/learn/how-a-chapter-works.md) has more on the programs, and
[README.md](README.md) has the tasks.
`, title, "`go tool workshop predict "+r.chapter.Name()+"`", up)
	for _, task := range r.chapter.Tasks {
		fmt.Fprintf(&out, "\n## %s\n", predictionsHeading(task))
		for _, p := range programs {
			if p.Task == task.Number {
				out.WriteString("\n" + programText(p, answers[p.Name]))
			}
		}
	}
	return out.String()
}

// programText returns a program as the page shows it: the question, the program, and the answer folded away.
func programText(p course.Program, a predict.Answer) string {
	return fmt.Sprintf(`### %s

%s

%s

<details>
<summary>Answer</summary>

It prints:

%s

With the wrong version %s it prints:

%s

%s

</details>
`, p.Title, wrapped(p.Question), fenced("go", strings.TrimSpace(p.Source)), fenced("text", a.Right.Text()),
		"`"+p.Wrong+"`", fenced("text", a.Wrong.Text()), wrapped(p.Story))
}

// fenced returns a code block. Its fence is longer than any that the text contains.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + "\n" + fence
}

// wrapped returns paragraphs of Markdown in lines of at most 120 columns.
func wrapped(text string) string {
	var out []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		out = append(out, style.Wrap(paragraph, 120)...)
	}
	return strings.Join(out, "\n")
}
