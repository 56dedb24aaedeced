package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

func TestLines_counts_what_is_neither_blank_nor_comment_alone(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want int
	}{
		"nothing":                        {"", 0},
		"a comment":                      {"// Package a.\n", 0},
		"code and a comment":             {"package a // here\n", 1},
		"without an end of line":         {"package a\nvar x int", 2},
		"blank lines":                    {"package a\n\n\n\nvar x int\n\n", 2},
		"a long comment":                 {"package a\n/* one\ntwo\n\nthree */\nvar x int\n", 2},
		"code after a comment":           {"package a\n/* one\ntwo */ var x int\n", 2},
		"code around a comment":          {"package a\nvar x /* one\ntwo */ = 1\n", 3},
		"a raw string":                   {"package a\nvar x = `one\n\n// no comment\n`\n", 5},
		"two raw strings on three lines": {"package a\nvar x, y = `one\n`, `two\n`\n", 4},
		"what looks like a comment":      {"package a\nvar x = \"// not\" + \"/* not\"\nvar y = '/'\n", 3},
		"Windows line ends":              {"package a\r\n\r\nvar x int\r\n// c\r\n", 2},
		"a byte order mark":              {"\ufeffpackage a\n", 1},
		"line directives":                {"package a\n\n//line b.y:1\nvar x int\n\n//line b.y:1\nvar y int\n", 3},
		"braces alone":                   {"package a\nfunc f() {\n}\n", 3},
		"what does not compile":          {"package a\nfunc (\n\"open\n", 3},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Lines([]byte(c.src))) })
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestDirLines_leaves_tests_and_folders_below_out(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.go"), "package a\n")
	write(t, filepath.Join(dir, "b.go"), "package a\nvar x int\n")
	write(t, filepath.Join(dir, "a_test.go"), "package a\n")
	write(t, filepath.Join(dir, "cmd", "main.go"), "package main\n")
	write(t, filepath.Join(dir, "README.md"), "# A\n")
	n, err := DirLines(dir, nil)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	n, err = DirLines(dir, map[string]bool{"b.go": true})
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestBonusFiles_are_those_of_bonus_tasks_alone(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"one.go":   "package a\n\n//workshop:task 1\nfunc One() {}\n",
		"both.go":  "package a\n\n//workshop:task 1\nfunc B() {}\n\n//workshop:task 2\nfunc C() {}\n",
		"extra.go": "package a\n\n//workshop:file task 2\n\nfunc Extra() {}\n\nfunc helper() {}\n",
		"given.go": "package a\n\nfunc Given() {}\n",
	} {
		write(t, filepath.Join(root, "solutions", "01-a", name), text)
	}
	c := course.Chapter{Dir: "01-a", Tasks: []course.Task{{Number: 1}, {Number: 2, Bonus: true}}}
	bonus, err := BonusFiles(root, c)
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"one.go": false, "both.go": false, "extra.go": true, "given.go": false}, bonus)
}

func TestClientGoLines_reads_the_pinned_modules(t *testing.T) {
	list := filepath.Join(t.TempDir(), List)
	write(t, list, "# The files.\n\nk8s.io/utils/ptr/ptr.go\n")
	n, err := ClientGoLines("../../..", list)
	require.NoError(t, err)
	require.Greater(t, n, 20)

	write(t, list, "k8s.io/utils/ptr/gone.go\n")
	_, err = ClientGoLines("../../..", list)
	require.ErrorContains(t, err, "names a file that is not in the pinned version")
	write(t, list, "k8s.io/nothing/of/the/kind.go\n")
	_, err = ClientGoLines("../../..", list)
	require.ErrorContains(t, err, "find k8s.io/nothing/of/the in the module cache")
	write(t, list, "nonsense\n")
	_, err = ClientGoLines("../../..", list)
	require.ErrorContains(t, err, `"nonsense" is not an import path and a file`)
}

// bench makes the output of a benchmark's runs.
func bench(name string, values ...float64) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "Benchmark%s-2   \t    1000\t%8.1f ns/op\t     %d B/op\t       1 allocs/op\n", name, v, int(v))
	}
	return b.String()
}

func read(t *testing.T, text string) []Row {
	t.Helper()
	rows, err := Read(strings.NewReader("goos: linux\npkg: x\n" + text + "PASS\nok  \tx\t1.2s\n"))
	require.NoError(t, err)
	return rows
}

func TestRead_puts_implementations_side_by_side(t *testing.T) {
	rows := read(t, bench("Add/impl=yours/n=8", 200, 201, 202, 203, 204, 205)+bench("Add/impl=solution/n=8", 100, 101, 102,
		103, 104, 105)+
		bench("Add/impl=client-go/n=8", 100, 101, 102, 103, 104, 105)+bench("Get/impl=client-go", 5))
	require.Len(t, rows, 6, "two benchmarks of three units")
	require.Equal(t, "Add/n=8", rows[0].Name)
	require.Equal(t, "sec/op", rows[0].Unit)
	require.Len(t, rows[0].Cells, len(Implementations))
	require.Equal(t, "202.5n", rows[0].Cells[0].Text)
	require.InDelta(t, 0.506, rows[0].Cells[0].Ratio, 0.001, "half as fast as client-go")
	require.Zero(t, rows[0].Cells[1].Ratio, "the same figures do not differ by more than chance")
	require.Zero(t, rows[0].Cells[2].Ratio, "client-go beside itself")
	require.Equal(t, "allocs/op", rows[2].Unit)
	require.Zero(t, rows[2].Cells[0].Ratio, "always 1")
	require.Equal(t, "Get", rows[3].Name)
}

func TestRead_of_what_is_not_written_yet_leaves_its_cell_empty(t *testing.T) {
	rows := read(t, "--- SKIP: BenchmarkAdd/impl=yours\n    bench_test.go:9: Store.Add is not written yet\n"+bench("Add/impl=client-go", 100, 101))
	require.Equal(t, Cell{}, rows[0].Cells[0])
	require.Equal(t, Cell{}, rows[0].Cells[1])
	require.NotEmpty(t, rows[0].Cells[2].Text)
	rows = read(t, bench("Add/impl=yours", 100, 101))
	require.NotEmpty(t, rows[0].Cells[0].Text)
	require.Zero(t, rows[0].Cells[0].Ratio, "nothing to compare with")
}

// A factor is something to believe; with few or scattered runs there is none.
func TestRatio_is_told_only_where_it_is_more_than_chance(t *testing.T) {
	six, slower := []float64{100, 101, 102, 103, 104, 105}, []float64{150, 151, 152, 153, 154, 155}
	for name, c := range map[string]struct {
		mine, theirs []float64
		want         float64
	}{
		"clearly slower":    {slower, six, 102.5 / 152.5},
		"clearly faster":    {six, slower, 152.5 / 102.5},
		"runs that overlap": {[]float64{90, 99, 103, 104, 110, 190}, six, 0},
		"three runs each":   {slower[:3], six[:3], 0},
		"one run each":      {slower[:1], six[:1], 0},
	} {
		t.Run(name, func(t *testing.T) {
			rows := read(t, bench("Add/impl=yours", c.mine...)+bench("Add/impl=client-go", c.theirs...))
			require.InDelta(t, c.want, rows[0].Cells[0].Ratio, 0.001)
		})
	}
}

func TestRatio_of_a_rate_is_better_the_higher(t *testing.T) {
	rate := func(impl string, from float64) (text string) {
		for i := range 6 {
			text += fmt.Sprintf("BenchmarkAdd/impl=%s-2 \t 1000\t 100 ns/op\t %.1f events/s\t %.1f MB/s\n", impl,
				from+float64(i), from+float64(i))
		}
		return text
	}
	for _, row := range read(t, rate("yours", 200)+rate("client-go", 100))[1:] {
		require.InDelta(t, 202.5/102.5, row.Cells[0].Ratio, 0.001, row.Unit)
	}
}

func TestRead_of_zero_bytes_has_no_factor(t *testing.T) {
	rows := read(t, bench("Add/impl=yours", 0, 0, 0, 0, 0, 0)+bench("Add/impl=client-go", 1, 2, 3, 4, 5, 6))
	require.Zero(t, rows[1].Cells[0].Ratio, "not infinitely many times less")
	rows = read(t, bench("Add/impl=yours", 1, 2, 3, 4, 5, 6)+bench("Add/impl=client-go", 0, 0, 0, 0, 0, 0))
	require.Zero(t, rows[1].Cells[0].Ratio)
}

func TestRead_of_no_benchmark_has_no_row(t *testing.T) {
	require.Empty(t, read(t, ""))
}
