// Package reference checks that what the workshop's texts say of client-go is true of the version in go.mod.
//
// A text goes stale in silence: a function moves, a type is renamed, a heading is reworded. So every link and every
// symbol that a text names is looked up, in the source of the pinned modules as it lies in the module cache:
//
//   - links inside the repository: the file exists, and so does the heading or line they point to;
//   - links to upstream source: the version is the pinned one, the lines exist, and if the link's text is a symbol, that
//     is where it is declared;
//   - symbols such as cache.NewIndexer, in inline code and in Go comments: they exist (symbols.go);
//   - links to issues: text and target have the same number.
//
// What it leaves out: whether a sentence is right, and anything that would need the network.
package reference

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"client-go-workshop/internal/chapter"
)

// Problem is one thing that a text has wrong.
type Problem struct {
	File string // relative to the root
	Line int
	Text string
}

// Check reads files, Markdown and Go, with paths relative to root. An error means that it could not look; what it found
// wrong is in the problems, by file and line.
func Check(ctx context.Context, root string, files []string) ([]Problem, error) {
	mods, err := modules(ctx, root)
	if err != nil {
		return nil, err
	}
	c := &checker{root: root, modules: mods, symbols: newSymbols(root, mods)}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, fmt.Errorf("check the references: %w", err)
		}
		c.file = filepath.ToSlash(file)
		if strings.HasSuffix(file, ".md") {
			c.markdown(string(content))
		} else {
			c.comments(content)
		}
	}
	sort.SliceStable(c.problems, func(i, j int) bool {
		a, b := c.problems[i], c.problems[j]
		return a.File < b.File || a.File == b.File && a.Line < b.Line
	})
	return c.problems, nil
}

// module is one of the pinned modules.
type module struct {
	Path, Version, Dir string
	Replace            *module
}

// modules finds the upstream modules that texts refer to.
func modules(ctx context.Context, root string) (map[string]module, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-json",
		"k8s.io/client-go", "k8s.io/apimachinery", "k8s.io/api")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find the pinned client-go: %w: %s", err, stderr.String())
	}
	all := map[string]module{}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for decoder.More() {
		var m module
		if err := decoder.Decode(&m); err != nil {
			return nil, fmt.Errorf("find the pinned client-go: %w", err)
		}
		if m.Dir == "" {
			return nil, fmt.Errorf("the source of %s %s is not in the module cache: run `go mod download`", m.Path, m.Version)
		}
		all[m.Path] = m
	}
	return all, nil
}

type checker struct {
	root     string
	modules  map[string]module
	symbols  *symbols
	file     string
	problems []Problem
}

func (c *checker) problem(line int, format string, args ...any) {
	c.problems = append(c.problems, Problem{c.file, line, fmt.Sprintf(format, args...)})
}

var (
	link       = regexp.MustCompile(`!?\[([^\]]*)\]\(([^)\s]+)\)`)
	inlineCode = regexp.MustCompile("`([^`]+)`")
	fence      = regexp.MustCompile("^\\s*(```|~~~)")
	upstream   = regexp.MustCompile(`^https://github\.com/kubernetes/([a-z-]+)/blob/([^/]+)/([^#]+)(?:#L(\d+)(?:-L(\d+))?)?$`)
	issue      = regexp.MustCompile(`^https://github\.com/kubernetes/kubernetes/(?:issues|pull)/(\d+)$`)
	issueText  = regexp.MustCompile(`^#(\d+)$`)
)

func (c *checker) markdown(text string) {
	inFence := false
	for i, line := range strings.Split(text, "\n") {
		if fence.MatchString(line) {
			inFence = !inFence
			continue
		}
		if inFence {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			c.link(i+1, strings.Trim(m[1], "`"), m[2], text)
		}
		for _, m := range inlineCode.FindAllStringSubmatch(line, -1) {
			c.code(i+1, m[1])
		}
	}
}

func (c *checker) link(line int, text, target, self string) {
	if m := upstream.FindStringSubmatch(target); m != nil {
		c.source(line, text, m)
		return
	}
	if m := issue.FindStringSubmatch(target); m != nil {
		if t := issueText.FindStringSubmatch(text); t != nil && t[1] != m[1] {
			c.problem(line, "the link [%s] leads to #%s", text, m[1])
		}
		return
	}
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return
	}
	path, fragment, _ := strings.Cut(target, "#")
	content := self
	if path != "" {
		file := filepath.Join(c.root, filepath.Dir(c.file), filepath.FromSlash(path))
		info, err := os.Stat(file)
		if err != nil {
			c.problem(line, "the link to %s leads nowhere: there is no such file", target)
			return
		}
		if info.IsDir() || fragment == "" {
			return
		}
		read, err := os.ReadFile(file)
		if err != nil {
			c.problem(line, "the link to %s: %v", target, err)
			return
		}
		content = string(read)
	}
	c.fragment(line, target, fragment, content, path == "" || strings.HasSuffix(path, ".md"))
}

func (c *checker) fragment(line int, target, fragment, content string, isMarkdown bool) {
	if isMarkdown {
		for _, h := range chapter.Headings(content) {
			if h.Anchor == fragment {
				return
			}
		}
		c.problem(line, "the link to %s leads nowhere: there is no heading with the anchor #%s", target, fragment)
		return
	}
	number, err := strconv.Atoi(strings.TrimPrefix(fragment, "L"))
	if err != nil || number > strings.Count(content, "\n") {
		c.problem(line, "the link to %s leads nowhere: there is no such line", target)
	}
}

// source checks a link to upstream source: m is what the pattern upstream has matched.
func (c *checker) source(line int, text string, m []string) {
	mod, known := c.modules["k8s.io/"+m[1]]
	if !known {
		c.problem(line, "the link to %s/%s cannot be checked: go.mod does not require k8s.io/%s", m[1], m[3], m[1])
		return
	}
	if m[2] != mod.Version {
		c.problem(line, "the link to %s names %s, and go.mod pins %s", m[3], m[2], mod.Version)
		return
	}
	content, err := os.ReadFile(filepath.Join(mod.Dir, filepath.FromSlash(m[3])))
	if err != nil {
		c.problem(line, "the link to %s leads nowhere: %s %s has no such file", m[3], mod.Path, mod.Version)
		return
	}
	if m[4] == "" {
		return
	}
	first, _ := strconv.Atoi(m[4]) // digits, says the pattern
	if first > strings.Count(string(content), "\n") {
		c.problem(line, "the link to %s#L%d leads nowhere: the file ends before that line", m[3], first)
		return
	}
	if !isSymbol.MatchString(text) {
		return
	}
	declared, exists := declaredAt(content, text)
	switch {
	case !exists:
		c.problem(line, "`%s` is not declared in %s of %s", text, m[3], mod.Version)
	case declared != first:
		c.problem(line, "`%s` is declared at %s#L%d, not at line %d", text, m[3], declared, first)
	}
}
