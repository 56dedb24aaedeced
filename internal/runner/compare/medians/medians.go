// Package medians compares the speed of three implementations of a chapter: the learner's, the solution, and client-go.
// It reads the output of benchmarks; the caller runs them. All statistics are those of benchstat. They are a program of
// their own (cmd/medians), because few commands need them.
package medians

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"

	"client-go-workshop/internal/runner/compare"
)

// Read reads the output of `go test -bench`.
func Read(in io.Reader) ([]compare.Row, error) {
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
	var rows []compare.Row
	for _, k := range order {
		row := compare.Row{Package: k.pkg, Name: k.name, Unit: k.unit}
		theirs := benchmath.NewSample(values[k][compare.ClientGo], &benchmath.DefaultThresholds)
		for _, i := range compare.Implementations {
			mine := benchmath.NewSample(values[k][i], &benchmath.DefaultThresholds)
			row.Cells = append(row.Cells, cellOf(mine, theirs, k.unit))
		}
		row.Alone = cellOf(benchmath.NewSample(values[k][""], &benchmath.DefaultThresholds), theirs, k.unit)
		rows = append(rows, row)
	}
	return rows, nil
}

func cellOf(mine, theirs *benchmath.Sample, unit string) (c compare.Cell) {
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
