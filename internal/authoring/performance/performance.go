// Package performance writes the tables of docs/learn/performance.md and the picture of growth from the output of
// benchmarks. It is behind `author performance`.
//
// In performance.md it replaces what is between "<!-- measured: PACKAGE -->", with an import path from
// the workshop's root, and "<!-- /measured -->". The benchmarks of all packages have to be in one input, because the
// picture shows those of chapter 07 beside the limits. It runs no benchmark: authors do, on a quiet machine.
package performance

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/runner/compare"
	"client-go-workshop/internal/runner/compare/medians"
)

// Write writes the tables and the picture below the folder docs. in is the output of the benchmarks.
func Write(docs string, in io.Reader) error {
	rows, err := medians.Read(in)
	if err != nil {
		return err
	}
	page := filepath.Join(docs, "learn", "performance.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read the page with the tables: %w", err)
	}
	if text, err = fill(text, rows); err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	picture, err := growth(rows)
	if err != nil {
		return fmt.Errorf("draw the growth: %w", err)
	}
	if err := os.WriteFile(page, text, 0o644); err != nil {
		return fmt.Errorf("write the tables: %w", err)
	}
	if err := os.WriteFile(filepath.Join(docs, "pictures", "growth.svg"), picture, 0o644); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

var measured = regexp.MustCompile(`(?s)<!-- measured: (\S+) -->\n.*?<!-- /measured -->`)

// fill puts a table into each place of a page. A place whose package was not measured is an error.
func fill(page []byte, rows []compare.Row) ([]byte, error) {
	var missing []string
	page = measured.ReplaceAllFunc(page, func(place []byte) []byte {
		name := string(measured.FindSubmatch(place)[1])
		of := slices.DeleteFunc(slices.Clone(rows), func(r compare.Row) bool {
			return strings.TrimPrefix(r.Package, "client-go-workshop/") != name
		})
		if len(of) == 0 {
			missing = append(missing, name)
			return place
		}
		var out bytes.Buffer
		fmt.Fprintf(&out, "<!-- measured: %s -->\n\n", name)
		if of[0].Alone.Text == "" {
			compared(&out, of)
		} else {
			limits(&out, of)
		}
		out.WriteString("\n<!-- /measured -->")
		return out.Bytes()
	})
	if missing != nil {
		return nil, fmt.Errorf("the input has no benchmark of %s", strings.Join(missing, ", "))
	}
	return page, nil
}

const solution, clientGo = 1, 2 // in the order of compare.Implementations

// compared writes a row for each benchmark: its time or its own unit, and what the allocations are beside client-go's.
func compared(out *bytes.Buffer, rows []compare.Row) {
	fmt.Fprintln(out, "| benchmark | solution | client-go | factor | allocations | bytes allocated |")
	fmt.Fprintln(out, "|---|---:|---:|---:|---:|---:|")
	for _, r := range rows {
		if slices.Contains([]string{"B/op", "allocs/op", "B/s", "events/s"}, r.Unit) { // rates repeat the times
			continue
		}
		memory := map[string]string{}
		if r.Unit == "sec/op" {
			for _, other := range rows {
				if other.Name == r.Name {
					memory[other.Unit] = share(other)
				}
			}
		}
		name := r.Name
		if r.Unit != "sec/op" {
			name += ", " + r.Unit
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", name, r.Cells[solution].Text, r.Cells[clientGo].Text,
			factor(r.Cells[solution].Ratio), memory["allocs/op"], memory["B/op"])
	}
}

// factor is how much better than client-go, where the difference is more than chance.
func factor(ratio float64) string {
	if ratio == 0 {
		return "="
	}
	return fmt.Sprintf("%.1fx", ratio)
}

// share is the solution's part of what client-go needs.
func share(r compare.Row) string {
	ours, theirs := r.Cells[solution].Value, r.Cells[clientGo].Value
	switch theirs {
	case ours:
		return "="
	case 0:
		return r.Cells[solution].Text + " of 0"
	}
	return fmt.Sprintf("%.2f", ours/theirs)
}

// limits writes a row for each benchmark that nothing is compared with, and how long one object of its n takes.
func limits(out *bytes.Buffer, rows []compare.Row) {
	fmt.Fprintln(out, "| limit | time | per object |")
	fmt.Fprintln(out, "|---|---:|---:|")
	for _, r := range rows {
		if r.Unit == "sec/op" {
			fmt.Fprintf(out, "| %s | %s | %.2f µs |\n", r.Name, r.Alone.Text, perObject(r, r.Alone))
		}
	}
}

// perObject is a time in µs, divided by the n of the benchmark's name.
func perObject(r compare.Row, c compare.Cell) float64 {
	_, n, _ := strings.Cut(r.Name, "n=")
	count, err := strconv.Atoi(n)
	if err != nil {
		return 0
	}
	return c.Value * 1e6 / float64(count)
}
