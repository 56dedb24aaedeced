// Package compare compares three implementations of a chapter: the learner's, the solution, and client-go. It counts
// lines and reads the output of benchmarks; the caller runs them. All statistics are those of benchstat.
package compare

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/course/stub"
)

const clientGo = "client-go"

// Implementations are the names that the benchmarks use after "impl=".
var Implementations = []string{"yours", "solution", clientGo}

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
		holes, err := stub.Holes(name, src)
		if err != nil {
			return nil, fmt.Errorf("count lines: %w", err)
		}
		bonus[name] = len(holes) > 0 && !slices.ContainsFunc(holes, func(h stub.Hole) bool {
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

// Read reads the output of `go test -bench`.
func Read(in io.Reader) ([]Row, error) {
	type key struct{ pkg, name, unit string }
	values := map[key]map[string][]float64{} // by implementation
	var order []key
	r := benchfmt.NewReader(in, "go test -bench")
	for r.Scan() {
		result, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		impl, name := "", ""
		base, parts := result.Name.Parts()
		for _, part := range parts {
			if value, ok := strings.CutPrefix(string(part), "/impl="); ok {
				impl = value
			} else if part[0] == '/' { // the last part may be GOMAXPROCS: "-8"
				name += string(part)
			}
		}
		for _, v := range result.Values {
			k := key{result.GetConfig("pkg"), string(base) + name, v.Unit}
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
		row := Row{Package: k.pkg, Name: k.name, Unit: k.unit}
		theirs := benchmath.NewSample(values[k][clientGo], &benchmath.DefaultThresholds)
		for _, i := range Implementations {
			mine := benchmath.NewSample(values[k][i], &benchmath.DefaultThresholds)
			row.Cells = append(row.Cells, cellOf(mine, theirs, k.unit))
		}
		row.Alone = cellOf(benchmath.NewSample(values[k][""], &benchmath.DefaultThresholds), theirs, k.unit)
		rows = append(rows, row)
	}
	return rows, nil
}

func cellOf(mine, theirs *benchmath.Sample, unit string) (c Cell) {
	if len(mine.Values) == 0 {
		return c
	}
	center := benchmath.AssumeNothing.Summary(mine, 0.95).Center
	c.Text, c.Value = benchunit.Scale(center, benchunit.ClassOf(unit)), center
	if p := benchmath.AssumeNothing.Compare(mine, theirs); p.P < p.Alpha && center != 0 {
		c.Ratio = benchmath.AssumeNothing.Summary(theirs, 0.95).Center / center
		if strings.HasSuffix(unit, "/s") && c.Ratio != 0 { // of a rate, such as events/s, more is better
			c.Ratio = 1 / c.Ratio
		}
	}
	return c
}
