package medians

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/runner/compare"
)

// bench makes the output of a benchmark's runs.
func bench(name string, values ...float64) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "Benchmark%s-2   \t    1000\t%8.1f ns/op\t     %d B/op\t       1 allocs/op\n", name, v, int(v))
	}
	return b.String()
}

func read(t *testing.T, text string) []compare.Row {
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
	require.Len(t, rows[0].Cells, len(compare.Implementations))
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
	require.Equal(t, compare.Cell{}, rows[0].Cells[0])
	require.Equal(t, compare.Cell{}, rows[0].Cells[1])
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
