// Package compare counts the lines of three implementations of a chapter: the learner's, the solution, and client-go.
// Its Rows compare their speed; package medians makes them.
package compare

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
)

// Lines counts the lines of a Go file that hold code: neither blank, nor comment alone.
func Lines(src []byte) int {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0) // without comments
	lines := map[int]bool{}
	for {
		at, tok, text := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		first := file.PositionFor(at, false).Line      // without //line directives
		for n := range 1 + strings.Count(text, "\n") { // raw strings
			lines[first+n] = true
		}
	}
}

// DirLines counts the code in a folder's Go files, without tests and without the files that without has.
func DirLines(dir string, without map[string]bool) (sum int, err error) {
	files, err := course.Code(dir)
	if err != nil {
		return 0, fmt.Errorf("count lines: %w", err)
	}
	for name, src := range files {
		if !without[name] {
			sum += Lines(src)
		}
	}
	return sum, nil
}

// BonusFiles has the names of the solution's files of which the learner writes only functions of bonus tasks.
func BonusFiles(root string, c course.Chapter) (map[string]bool, error) {
	files, err := course.Code(filepath.Join(root, c.Solution()))
	if err != nil {
		return nil, fmt.Errorf("count lines: %w", err)
	}
	bonus := map[string]bool{}
	for name, src := range files {
		todos, err := stub.Todos(name, src)
		if err != nil {
			return nil, fmt.Errorf("count lines: %w", err)
		}
		bonus[name] = len(todos) > 0 && !slices.ContainsFunc(todos, func(h stub.Todo) bool {
			task, _ := c.Task(h.Task)
			return !task.Bonus
		})
	}
	return bonus, nil
}

// List is the file, in an oracle's folder, that names client-go's files, one import path and file a line.
const List = "files.txt"

// ClientGoLines counts the code in the files that a list names, in the module cache of the workshop at root.
func ClientGoLines(root, list string) (sum int, err error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return 0, fmt.Errorf("read which files of client-go a chapter re-creates: %w", err)
	}
	dirs := map[string]string{} // by import path
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pkg, name := path.Split(line)
		if pkg == "" {
			return 0, fmt.Errorf("%s: %q is not an import path and a file", list, line)
		}
		if dirs[pkg] == "" {
			cmd := exec.Command("go", "list", "-find", "-f", "{{.Dir}}", path.Clean(pkg))
			cmd.Dir = root
			out, err := cmd.Output()
			if err != nil {
				return 0, fmt.Errorf("find %s in the module cache: %w; to download it: go mod download", path.Clean(pkg), err)
			}
			dirs[pkg] = strings.TrimSpace(string(out))
		}
		src, err := os.ReadFile(filepath.Join(dirs[pkg], name))
		if err != nil {
			return 0, fmt.Errorf("%s names a file that is not in the pinned version: %w", list, err)
		}
		sum += Lines(src)
	}
	return sum, nil
}

// ClientGo is the implementation that the others are compared with.
const ClientGo = "client-go"

// Implementations are the names that the benchmarks use after "impl=".
var Implementations = []string{"yours", "solution", ClientGo}

// Row is one benchmark in one unit over all implementations.
type Row struct {
	Package string // its import path, where the output says it
	Name    string // without "Benchmark" and the implementation
	Unit    string // "sec/op", "B/op", "allocs/op"
	// Cells are in the order of Implementations. The cell of an implementation that did not run is empty.
	Cells []Cell
	Alone Cell // of a benchmark that names no implementation
}

// Cell is the result of one implementation.
type Cell struct {
	Text string // the median, such as "1.24µ"
	// Ratio says how much better this median is than client-go's: 2 is twice as fast, or half the memory. It is 0 for
	// client-go itself, and where the difference may be chance.
	Ratio float64
	Value float64 // the median, in the row's unit; 0 for an empty cell
}
