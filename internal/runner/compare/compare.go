// Package compare puts three implementations of a chapter side by side: the learner's, the solution, and client-go. It
// counts lines and reads benchmarks; running them is the caller's.
package compare

import (
	"bufio"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
)

// Implementations are the names that the benchmarks give, after "impl=".
var Implementations = []string{"yours", "solution", "client-go"}

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

// DirLines counts the code in a folder's Go files, without tests.
func DirLines(dir string) (sum int, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		src, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("count lines: %w", err)
		}
		sum += Lines(src)
	}
	return sum, nil
}

// List is the file, in an oracle's folder, that names client-go's files, one import path and file a line.
const List = "files.txt"

// ClientGoLines counts the code in the files that a list names, in the module cache of the workshop at root.
func ClientGoLines(root, list string) (sum int, err error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return 0, fmt.Errorf("read which files of client-go a chapter re-creates: %w", err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, "/", 3)
		if len(parts) < 3 {
			return 0, fmt.Errorf("%s: %q is not an import path and a file", list, line)
		}
		module := strings.Join(parts[:2], "/")
		if dirs[module] == "" {
			cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
			cmd.Dir = root
			out, err := cmd.Output()
			if err != nil {
				return 0, fmt.Errorf("find %s in the module cache: %w", module, err)
			}
			if dirs[module] = strings.TrimSpace(string(out)); dirs[module] == "" {
				return 0, fmt.Errorf("%s is not in the module cache yet; to get it: go mod download", module)
			}
		}
		src, err := os.ReadFile(filepath.Join(dirs[module], filepath.FromSlash(parts[2])))
		if err != nil {
			return 0, fmt.Errorf("%s names a file that is not in the pinned version: %w", list, err)
		}
		sum += Lines(src)
	}
	return sum, nil
}

// Row is one benchmark in one unit over all implementations.
type Row struct {
	Name string // without "Benchmark" and the implementation
	Unit string // "sec/op", "B/op", "allocs/op"
	// Cells are by implementation, in the order of Implementations; an empty one did not run.
	Cells []Cell
}

// Cell is one implementation's share.
type Cell struct {
	Text string // the median, for people: "1.24µs"
	// Ratio is client-go's median divided by this one: 2 is twice as fast, or half the memory. 0 where it cannot be told
	// apart from chance, or is client-go's own.
	Ratio float64
}

// Read reads what `go test -bench` printed.
func Read(in io.Reader) ([]Row, error) {
	type key struct{ name, unit string }
	values := map[key]map[string][]float64{}
	var order []key
	r := benchfmt.NewReader(bufio.NewReader(in), "bench")
	for r.Scan() {
		result, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		name, impl := split(string(result.Name))
		for _, v := range result.Values {
			k := key{name, v.Unit}
			if values[k] == nil {
				values[k] = map[string][]float64{}
				order = append(order, k)
			}
			values[k][impl] = append(values[k][impl], v.Value)
		}
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("read the benchmarks: %w", err)
	}
	var rows []Row
	for _, k := range order {
		row := Row{Name: k.name, Unit: k.unit}
		theirs := sample(values[k]["client-go"])
		for _, impl := range Implementations {
			row.Cells = append(row.Cells, cell(sample(values[k][impl]), theirs, impl == "client-go", k.unit))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

func cell(mine, theirs *benchmath.Sample, same bool, unit string) Cell {
	if len(mine.Values) == 0 {
		return Cell{}
	}
	center := benchmath.AssumeNothing.Summary(mine, 0.95).Center
	c := Cell{Text: benchunit.Scale(center, benchunit.ClassOf(unit))}
	if same || len(theirs.Values) == 0 {
		return c
	}
	if p := benchmath.AssumeNothing.Compare(mine, theirs); p.P < p.Alpha && center > 0 {
		c.Ratio = benchmath.AssumeNothing.Summary(theirs, 0.95).Center / center
	}
	return c
}

// split takes the implementation out of a benchmark's name: "Add/impl=yours/n=8-2" is "Add/n=8", "yours".
func split(full string) (name, impl string) {
	if dash := strings.LastIndex(full, "-"); dash > strings.LastIndex(full, "/") && strings.Trim(full[dash+1:], "0123456789") == "" {
		full = full[:dash]
	}
	var kept []string
	for part := range strings.SplitSeq(full, "/") {
		if i, ok := strings.CutPrefix(part, "impl="); ok {
			impl = i
			continue
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, "/"), impl
}
