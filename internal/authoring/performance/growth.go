package performance

// This file draws how the time of a first list grows with its length: µs for each object, so that a line that rises
// means a cost that grows faster than the list.

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"text/template"

	"client-go-workshop/internal/runner/compare"
)

// sizes are the lengths that are measured, from left to right.
var sizes = []int{1_000, 10_000, 100_000}

// lines are what the picture shows: a benchmark, which of its cells, a style and a label.
var lines = []struct {
	benchmark, class, label string
	cell                    func(compare.Row) compare.Cell
}{
	{"SyncStreamed/", "theirs", "client-go, streamed", func(r compare.Row) compare.Cell { return r.Cells[clientGo] }},
	{"Sync/", "theirs paged", "client-go, one list", func(r compare.Row) compare.Cell { return r.Cells[clientGo] }},
	{"SyncStreamed/", "ours", "solution, streamed", func(r compare.Row) compare.Cell { return r.Cells[solution] }},
	{"Sync/", "ours paged", "solution, one list", func(r compare.Row) compare.Cell { return r.Cells[solution] }},
	{"Limits/pass/", "limit", "one pass over the JSON", func(r compare.Row) compare.Cell { return r.Alone }},
	{"Limits/objects/", "limit", "the objects alone", func(r compare.Row) compare.Cell { return r.Alone }},
}

// The plot, in the units of the picture.
const left, right, top, bottom = 60, 460, 50, 330

type line struct {
	Class, Label, Points string
	At                   float64 // the height of the label, which is where the line ends if there is room
}

type grid struct {
	At   float64
	Text string
}

// growth draws the picture. All benchmarks that it shows must have been measured.
func growth(rows []compare.Row) ([]byte, error) {
	values := make([][]float64, len(lines))
	highest := 0.0
	for i, l := range lines {
		for _, n := range sizes {
			value, err := find(rows, fmt.Sprintf("%sn=%d", l.benchmark, n), l.cell)
			if err != nil {
				return nil, err
			}
			values[i] = append(values[i], value)
			highest = max(highest, value)
		}
	}
	step := math.Pow(10, math.Floor(math.Log10(highest)))
	if highest/step < 4 {
		step /= 2
	}
	end := step * math.Ceil(highest/step)
	y := func(v float64) float64 { return bottom - (bottom-top)*v/end }
	var picture struct {
		Lines      []line
		Horizontal []grid
		Vertical   []grid
	}
	for v := 0.0; v <= end; v += step {
		picture.Horizontal = append(picture.Horizontal, grid{y(v), fmt.Sprintf("%g", v)})
	}
	for i, n := range sizes {
		picture.Vertical = append(picture.Vertical, grid{x(i), fmt.Sprintf("%d,000", n/1000)})
	}
	for i, l := range lines {
		points := ""
		for j, v := range values[i] {
			points += fmt.Sprintf("%.1f,%.1f ", x(j), y(v))
		}
		picture.Lines = append(picture.Lines, line{l.class, l.label, points, y(values[i][len(sizes)-1])})
	}
	spread(picture.Lines)
	var out bytes.Buffer
	err := drawing.Execute(&out, picture)
	return out.Bytes(), err
}

func x(i int) float64 { return left + float64(i)*(right-left)/float64(len(sizes)-1) }

func find(rows []compare.Row, name string, cell func(compare.Row) compare.Cell) (float64, error) {
	for _, r := range rows {
		if r.Name == name && r.Unit == "sec/op" && cell(r).Value > 0 {
			return perObject(r, cell(r)), nil
		}
	}
	return 0, fmt.Errorf("the input has no result of Benchmark%s", name)
}

// spread moves labels up that would be written over those below them.
func spread(lines []line) {
	const height = 15
	slices.SortStableFunc(lines, func(a, b line) int { return int(a.At - b.At) })
	for i := len(lines) - 2; i >= 0; i-- {
		lines[i].At = min(lines[i].At, lines[i+1].At-height)
	}
}

var drawing = template.Must(template.New("growth").Parse(`<svg xmlns="http://www.w3.org/2000/svg" ` +
	`viewBox="0 0 640 380" role="img" aria-labelledby="title desc">
  <title id="title">How the time of a first list grows</title>
  <desc id="desc">The time for each object, in microseconds, of lists of 1,000, 10,000 and 100,000 Deployments. A flat
    line grows as the list does. The tables below have the figures.</desc>
  <style>
    text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; fill: #1f2328 }
    .name { font-weight: 600; font-size: 14px }
    .note { fill: #59636e }
    .card { fill: #ffffff; stroke: #d0d7de }
    .grid { stroke: #d0d7de }
    polyline { fill: none; stroke-width: 2 }
    .ours { stroke: #0969da }
    .theirs { stroke: #bc4c00 }
    .limit { stroke: #59636e }
    .paged { stroke-dasharray: 6 4 }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc }
      .note { fill: #9198a1 }
      .card { fill: #0d1117; stroke: #3d444d }
      .grid { stroke: #3d444d }
      .ours { stroke: #4493f8 }
      .theirs { stroke: #db6d28 }
      .limit { stroke: #9198a1 }
    }
  </style>
  <rect class="card" x=".5" y=".5" width="639" height="379" rx="8"/>
  <text class="name" x="20" y="28">First list: microseconds for each object</text>
{{- range .Horizontal}}
  <line class="grid" x1="60" x2="460" y1="{{printf "%.1f" .At}}" y2="{{printf "%.1f" .At}}"/>
  <text class="note" x="52" y="{{printf "%.1f" .At}}" dy="4" text-anchor="end">{{.Text}}</text>
{{- end}}
{{- range .Vertical}}
  <text class="note" x="{{printf "%.1f" .At}}" y="350" text-anchor="middle">{{.Text}}</text>
{{- end}}
  <text class="note" x="260" y="370" text-anchor="middle">objects in the list</text>
{{- range .Lines}}
  <polyline class="{{.Class}}" points="{{.Points}}"/>
  <text x="468" y="{{printf "%.1f" .At}}" dy="4">{{.Label}}</text>
{{- end}}
</svg>
`))
