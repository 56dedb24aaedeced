// Package reference checks that what the workshop's texts say of client-go is true of the version in go.mod.
//
// A text goes stale in silence: a function moves, a type is renamed, a heading is reworded. So everything in a text that
// can be looked up is looked up, in the source of the pinned modules as it lies in the module cache:
//
//   - links inside the repository lead to a file, a heading, a line that exists (links.go);
//   - links to upstream source name the pinned version, and where the link's text is a symbol, the line is the one on
//     which it is declared (upstream.go);
//   - links to issues: text and target have the same number (links.go);
//   - names such as cache.NewIndexer, in inline code and in Go comments, exist (names.go), and so do the paths of
//     client-go's files (paths.go);
//   - code blocks are Go, and those that are quoted are the lines they are quoted from (blocks.go).
//
// Underneath: markdown.go reads Markdown, gofile.go the comments of Go files, source.go and symbols.go know what the
// modules declare, aliases.go under which names texts speak of packages.
//
// A text may have to speak of what is gone ("ErrRequeue was removed in 0.33"). It then says so, anywhere in the file:
//
//	<!-- gone: cache.Foo, tools/cache/foo.go -->   in Markdown
//	//reference:gone cache.Foo                      in Go
//
// and it is a problem if the thing is there after all, or is not spoken of.
//
// What it leaves out: whether a sentence is right, what only the network knows, and code in strings.
//
//reference:gone cache.Foo, tools/cache/foo.go
package reference

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Problem is one thing that a text has wrong.
type Problem struct {
	File string // relative to the root, with slashes
	Line int
	Text string // what is wrong, and where the thing is now if that is known
}

// Check reads files, Markdown and Go, with paths relative to root, which is the folder of the workshop's go.mod. It
// returns what they have wrong, sorted by file and line; an error means that it could not look.
//
// It is Load and Source.Check in one. Who checks several times keeps the Source.
func Check(ctx context.Context, root string, files []string) ([]Problem, error) {
	source, err := Load(ctx, root)
	if err != nil {
		return nil, err
	}
	return source.Check(ctx, root, files)
}

// Check reads files like the function Check, and looks things up in s. What it has parsed of the upstream modules stays
// in s for the next call; the workshop's own files are read anew. It must not be called from two goroutines at once.
func (s *Source) Check(ctx context.Context, root string, files []string) ([]Problem, error) {
	own := NewSource(Module{Path: ownModule, Dir: root})
	w := &world{upstream: s, own: own, chapters: chapters(own, root)}
	var problems []Problem
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("check the references: %w", err)
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, fmt.Errorf("check the references: %w", err)
		}
		c := &checker{world: w, root: root, file: path.Clean(filepath.ToSlash(file)), gone: map[string]*goneMark{}}
		switch path.Ext(c.file) {
		case ".md":
			c.markdown(string(content))
		case ".go":
			c.goFile(content)
		default:
			return nil, fmt.Errorf("check the references of %s: only Markdown (.md) and Go (.go) can be read", file)
		}
		problems = append(problems, c.problems...)
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(problems), nil // a URL that is its own link text is read twice
}

// ownModule is the path of the workshop's module.
const ownModule = "client-go-workshop"

// checker is the work on one file.
type checker struct {
	*world
	root     string
	file     string // relative to root, with slashes
	gone     map[string]*goneMark
	problems []Problem
}

func (c *checker) problem(line int, format string, args ...any) {
	c.problems = append(c.problems, Problem{c.file, line, fmt.Sprintf(format, args...)})
}

func (c *checker) markdown(text string) {
	doc := parseMarkdown(text)
	for _, m := range doc.comments {
		if list, ok := strings.CutPrefix(m.text, "gone:"); ok {
			c.markGone(m.line, list)
		}
	}
	for _, l := range doc.links {
		c.link(l, text)
	}
	for _, code := range doc.code {
		c.names(code.line, code.text, nil)
	}
	for i, line := range strings.Split(doc.prose, "\n") {
		c.paths(i+1, line)
		c.places(i+1, line)
	}
	for _, b := range doc.blocks {
		c.block(b)
	}
	for _, m := range doc.comments {
		if strings.HasPrefix(m.text, "source:") && !m.used {
			c.problem(m.line, "no code block follows <!-- %s -->: it has to stand right above one", m.text)
		}
	}
	c.checkGone()
}

// goneMark is one entry of a "gone" comment.
type goneMark struct {
	line int
	used bool
}

// markGone notes what a comment declares to be gone: names and paths, with commas between.
func (c *checker) markGone(line int, list string) {
	for _, name := range strings.Split(list, ",") {
		c.gone[strings.TrimSpace(name)] = &goneMark{line: line}
	}
}

// isGone tells whether the text has declared name to be gone, itself or what it belongs to.
func (c *checker) isGone(name string) bool {
	for {
		if mark, ok := c.gone[name]; ok {
			mark.used = true
			return true
		}
		i := strings.LastIndex(name, ".")
		if i < 0 {
			return false
		}
		name = name[:i]
	}
}

// checkGone reports what is declared to be gone for nothing. That something is not gone is reported where it is named.
func (c *checker) checkGone() {
	for name, mark := range c.gone {
		if !mark.used {
			c.problem(mark.line, "%s is marked as gone, and this text does not name it: take it out of the comment", name)
		}
	}
}
