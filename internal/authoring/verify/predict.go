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
	"slices"
	"strings"

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
	programs, err := course.Programs(r.root, r.chapter)
	if err != nil {
		return "", []string{err.Error()}
	}
	page, err := r.predictionsPage()
	if err != nil {
		return "", []string{err.Error()}
	}
	answers, problems, err := r.keptPredictions(programs, page)
	if err != nil {
		return "", []string{err.Error()}
	}
	if len(answers) == len(programs) && page != r.predictionsText(programs, answers) {
		problems.add("%s/%s does not show the programs as they are, or what they print; run `go tool author generate`",
			r.chapter.Dir, course.PredictionsPage)
	}
	links, err := r.linksToPredictions()
	if err != nil {
		return "", []string{err.Error()}
	}
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
		if !links[task.Number] {
			problems.add("%s/README.md:%d: the section of task %d needs one line with a link to %s and `%s`",
				r.chapter.Dir, task.Line, task.Number, predictionsLink(task), r.predictCommand(task))
		}
	}
	return fmt.Sprintf("%d programs", len(programs)), problems
}

// keptPredictions returns what predictions returns, and keeps it if there is no problem.
func (r *run) keptPredictions(
	programs []course.Program, page string,
) (answers map[string]predict.Answer, p problems, err error) {
	sets, err := bugs.Sets(r.root, r.chapter)
	if err != nil {
		return nil, nil, err
	}
	what, layers := "predict", []overlay.Layer{sets[0].Code}
	for _, program := range programs {
		layer, err := overlay.ReadDir(program.Dir, program.Name, filepath.Join(r.root, program.Dir))
		if err != nil {
			return nil, nil, err
		}
		layers = append(layers, layer)
		for _, b := range sets[0].Bugs {
			if b.Name == program.Wrong {
				what += fmt.Sprintf(" %s %q", b.Name, b.Changes)
			}
		}
	}
	good := func(map[string]predict.Answer) bool { return p == nil }
	answers, err = keep(r, what, layers, good, func() (answers map[string]predict.Answer, err error) {
		answers, p = r.predictions(programs, page)
		return answers, nil
	})
	return answers, p, err
}

// predictions returns by name what each program prints, without those that have a problem. page shows what the programs
// printed when it was written.
func (r *run) predictions(programs []course.Program, page string) (map[string]predict.Answer, problems) {
	var p problems
	all := map[string]predict.Answer{}
	joint := r.joinPrograms(programs)
	defer joint.remove()
	together := joint.answers(r, programs)
	for _, program := range programs {
		both := together[program.Name]
		if both == nil || judgeProgram(program, both) != "" || !strings.Contains(page, programText(program, both[0])) {
			var err error
			if both, err = predict.Repeat(r.ctx, r.root, r.chapter, program, 2); err != nil {
				p.add("%v", err)
				continue
			}
		}
		if problem := judgeProgram(program, both); problem != "" {
			p.add("%s", problem)
			continue
		}
		all[program.Name] = both[0]
	}
	return all, p
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

// linksToPredictions returns for which tasks the README's section links to their programs and names the command.
func (r *run) linksToPredictions() (map[int]bool, error) {
	doc, err := course.Text(filepath.Join(r.root, r.chapter.Dir, "README.md"))
	if err != nil {
		return nil, err
	}
	has := map[int]bool{}
	for _, task := range r.chapter.Tasks {
		linked := slices.ContainsFunc(doc.Links, func(l markdown.Link) bool {
			return l.Target == predictionsLink(task) && doc.Above(l.Line, 2).Line == task.Line
		})
		named := slices.ContainsFunc(doc.Code, func(c markdown.Text) bool {
			return c.Text == r.predictCommand(task) && doc.Above(c.Line, 2).Line == task.Line
		})
		has[task.Number] = linked && named
	}
	return has, nil
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
func (r *run) predictionsPage() (string, error) {
	page, err := os.ReadFile(filepath.Join(r.root, r.chapter.Dir, course.PredictionsPage))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the programs to predict: %w", err)
	}
	return string(page), nil
}

// UpdatePredictions runs the programs of a chapter and writes its page. It returns the page's name if it has changed.
func UpdatePredictions(ctx context.Context, root string, c course.Chapter) (changed []string, err error) {
	r := &run{ctx: ctx, root: root, chapter: c}
	programs, err := course.Programs(root, c)
	if err != nil || len(programs) == 0 {
		return nil, err
	}
	page, err := r.predictionsPage()
	if err != nil {
		return nil, err
	}
	answers, problems := r.predictions(programs, page)
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
