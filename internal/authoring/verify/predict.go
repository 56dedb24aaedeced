package verify

// This file checks the programs to predict, and writes them into the chapter's README with their outputs folded away. A
// block is between two comments:
//
//	<!-- predict: 2-moves -->
//	<!-- /predict -->

import (
	"context"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/markdown"
	"client-go-workshop/internal/runner/predict"
	"client-go-workshop/internal/tui/style"
)

// predictBlock is the place of one program in a README. Lines count from 1.
type predictBlock struct {
	name       string // of the program
	first, end int    // the lines of the two comments
	task       int    // the number of the task in whose section it is; 0 if it is in none
}

const predictEnd = "/predict"

// predictBlocks finds the blocks of a README.
func predictBlocks(doc *markdown.Document, tasks []course.Task) (all []predictBlock, err error) {
	var open *predictBlock
	for _, c := range doc.Comments {
		name, begins := strings.CutPrefix(c.Text, "predict: ")
		switch {
		case begins && open == nil:
			open = &predictBlock{name: name, first: c.Line, task: taskAt(doc, tasks, c.Line)}
		case begins:
			return nil, open.isOpen()
		case c.Text == predictEnd && open == nil:
			return nil, fmt.Errorf("line %d: <!-- %s --> ends no program", c.Line, c.Text)
		case c.Text == predictEnd:
			open.end = c.Line
			all = append(all, *open)
			open = nil
		}
	}
	if open != nil {
		return nil, open.isOpen()
	}
	return all, nil
}

// isOpen returns the error for a block without an end.
func (b predictBlock) isOpen() error {
	return fmt.Errorf("line %d: no <!-- %s --> ends the program %s", b.first, predictEnd, b.name)
}

// taskAt returns the number of the task in whose section a line is, or 0.
func taskAt(doc *markdown.Document, tasks []course.Task, line int) int {
	above := doc.Above(line, 2)
	i := slices.IndexFunc(tasks, func(t course.Task) bool { return t.Line == above.Line })
	if i < 0 {
		return 0
	}
	return tasks[i].Number
}

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
	lines, blocks, err := readBlocks(r.root, r.chapter)
	if err != nil {
		return "", []string{err.Error()}
	}
	var p problems
	for _, b := range blocks {
		if !slices.ContainsFunc(programs, func(program course.Program) bool { return program.Name == b.name }) {
			p.add("%s/README.md:%d: there is no program %q", r.chapter.Dir, b.first, b.name)
		}
	}
	perTask := map[int]int{}
	joint := r.joinPrograms(programs)
	defer joint.remove()
	answers := joint.answers(r, programs)
	for _, program := range programs {
		perTask[program.Task]++
		isOther := func(b predictBlock) bool { return b.name != program.Name }
		named := slices.DeleteFunc(slices.Clone(blocks), isOther)
		if len(named) != 1 || named[0].task != program.Task {
			p.add("%s: the README must name it once, in the section of task %d: <!-- predict: %s -->",
				program.Dir, program.Task, program.Name)
			named = nil
		}
		isShown := func(answer predict.Answer) bool {
			return !slices.ContainsFunc(named, func(b predictBlock) bool {
				return !slices.Equal(lines[b.first:b.end-1], predictText(program, answer))
			})
		}
		if both := answers[program.Name]; both != nil && judgeProgram(program, both) == "" && isShown(both[0]) {
			continue
		}
		both, err := predict.Repeat(r.ctx, r.root, r.chapter, program, 2)
		if err != nil {
			p.add("%v", err)
			continue
		}
		if problem := judgeProgram(program, both); problem != "" {
			p.add("%s", problem)
		} else if !isShown(both[0]) {
			p.add("%s/README.md:%d: the program, or what it prints, has changed; run `go tool workshop generate`",
				r.chapter.Dir, named[0].first)
		}
	}
	for _, task := range r.chapter.Tasks {
		if n := perTask[task.Number]; n < programsPerTask {
			p.add("task %d has %d programs to predict; it takes %d or more",
				task.Number, n, programsPerTask)
		}
	}
	return fmt.Sprintf("%d programs", len(programs)), p
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

// readBlocks reads the lines of a chapter's README, and its blocks.
func readBlocks(root string, c course.Chapter) (lines []string, blocks []predictBlock, err error) {
	text, err := os.ReadFile(filepath.Join(root, c.Dir, "README.md"))
	if err != nil {
		return nil, nil, fmt.Errorf("read the programs in the text: %w", err)
	}
	if blocks, err = predictBlocks(markdown.Parse(text), c.Tasks); err != nil {
		return nil, nil, fmt.Errorf("%s/README.md, %w", c.Dir, err)
	}
	return strings.Split(string(text), "\n"), blocks, nil
}

// UpdatePredict runs the programs that a chapter's README names, and puts them and their outputs there. It returns the
// places that it changed.
func UpdatePredict(ctx context.Context, root string, c course.Chapter) (changed []string, err error) {
	programs, err := course.Programs(root, c)
	if err != nil {
		return nil, err
	}
	lines, blocks, err := readBlocks(root, c)
	if err != nil {
		return nil, err
	}
	for _, b := range slices.Backward(blocks) { // from the end, so that the numbers of lines stay right
		at := fmt.Sprintf("%s/README.md:%d", c.Dir, b.first)
		i := slices.IndexFunc(programs, func(p course.Program) bool { return p.Name == b.name })
		if i < 0 {
			folder := filepath.ToSlash(c.Solution()) + "/testdata/predict"
			return nil, fmt.Errorf("%s: there is no program %q in %s", at, b.name, folder)
		}
		answer, err := predict.Ask(ctx, root, c, programs[i])
		if err != nil {
			return nil, err
		}
		block := predictText(programs[i], answer)
		if slices.Equal(lines[b.first:b.end-1], block) {
			continue
		}
		lines = slices.Replace(lines, b.first, b.end-1, block...)
		changed = append(changed, fmt.Sprintf("%s: predict %s", at, b.name))
	}
	if len(changed) == 0 {
		return nil, nil
	}
	slices.Reverse(changed)
	path := filepath.Join(root, c.Dir, "README.md")
	return changed, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
}

// predictText returns the lines between the two comments of a block.
func predictText(p course.Program, a predict.Answer) []string {
	text := fmt.Sprintf(`<details>
<summary>Predict: %s</summary>

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
</details>
`, summary(p.Title), fenced("go", strings.TrimSpace(p.Source)), wrapped(p.Question), fenced("text", a.Right.Text()),
		"`"+p.Wrong+"`", fenced("text", a.Wrong.Text()), wrapped(p.Story))
	return strings.Split(text, "\n")
}

var inlineCode = regexp.MustCompile("`([^`]+)`")

// summary returns a line of Markdown as HTML, because GitHub does not read Markdown in a summary.
func summary(text string) string {
	return inlineCode.ReplaceAllString(html.EscapeString(text), "<code>$1</code>")
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
