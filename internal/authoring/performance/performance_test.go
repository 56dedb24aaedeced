package performance

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/runner/compare/medians"
)

// output is what `go test -bench` prints: six runs of each benchmark, so that a difference can be more than chance.
func output() string {
	var out strings.Builder
	row := func(name string, ns, bytes, allocs int) {
		for i := range 6 {
			fmt.Fprintf(&out, "Benchmark%s-2 \t 1 \t %d ns/op \t %d B/op \t %d allocs/op\n", name, ns+i, bytes, allocs)
		}
	}
	out.WriteString("pkg: client-go-workshop/01-box\n")
	row("Put/impl=solution", 100, 50, 1)
	row("Put/impl=client-go", 250, 100, 4)
	row("Get/impl=solution", 100, 0, 0)
	row("Get/impl=client-go", 100, 0, 0)
	out.WriteString("pkg: client-go-workshop/07-controller\n")
	for _, n := range sizes {
		for _, name := range []string{"Sync", "SyncStreamed"} {
			row(fmt.Sprintf("%s/n=%d/impl=solution", name, n), n*10_000, 1, 1)
			row(fmt.Sprintf("%s/n=%d/impl=client-go", name, n), n*25_000, 1, 1)
		}
	}
	out.WriteString("pkg: client-go-workshop/solutions/07-controller\n")
	for _, n := range sizes {
		row(fmt.Sprintf("Limits/pass/n=%d", n), n*2_000, 0, 0)
		row(fmt.Sprintf("Limits/objects/n=%d", n), n*1_000, 0, 0)
	}
	return out.String()
}

func TestFill_puts_tables_into_their_places(t *testing.T) {
	rows, err := medians.Read(strings.NewReader(output()))
	require.NoError(t, err)
	page := "# A\n\n<!-- measured: 01-box -->\nold\n<!-- /measured -->\n\nB\n\n" +
		"<!-- measured: solutions/07-controller -->\n<!-- /measured -->\n"
	got, err := fill([]byte(page), rows)
	require.NoError(t, err)
	require.Contains(t, string(got), "| Put | 102.5n | 252.5n | 2.5x | 0.25 | 0.50 |\n| Get | 102.5n | 102.5n | = | = | = |\n")
	require.Contains(t, string(got), "| Limits/pass/n=10000 | 20.00m | 2.00 µs |\n")
	require.NotContains(t, string(got), "old")
	again, err := fill(got, rows)
	require.NoError(t, err)
	require.Equal(t, string(got), string(again))
	_, err = fill([]byte("<!-- measured: 02-lid -->\n<!-- /measured -->"), rows)
	require.ErrorContains(t, err, "the input has no benchmark of 02-lid")
}

func TestGrowth_draws_what_was_measured(t *testing.T) {
	rows, err := medians.Read(strings.NewReader(output()))
	require.NoError(t, err)
	picture, err := growth(rows)
	require.NoError(t, err)
	d := xml.NewDecoder(strings.NewReader(string(picture)))
	for err == nil {
		_, err = d.Token()
	}
	require.ErrorIs(t, err, io.EOF, "the picture is XML")
	// The highest value is 25 µs, so the plot ends at 30: 25 is at 330 - 280*25/30.
	require.Contains(t, string(picture), `<polyline class="theirs" points="60.0,96.7 260.0,96.7 460.0,96.7 "/>`)
	require.Contains(t, string(picture), `<polyline class="ours" points="60.0,236.7 260.0,236.7 460.0,236.7 "/>`)
	_, err = growth(rows[:1])
	require.ErrorContains(t, err, "the input has no result of BenchmarkSyncStreamed/n=1000")
}

// Each row of the page without a clear gain has its reason there.
func TestPage_gives_a_reason_for_each_row_without_a_gain(t *testing.T) {
	page, err := os.ReadFile("../../../docs/learn/performance.md")
	require.NoError(t, err)
	_, reasons, found := strings.Cut(string(page), "\n## Rows without a gain\n")
	require.True(t, found)
	row := regexp.MustCompile(`(?m)^\| (\S+?)(?:, \S+)? \| \S+ \| \S+ \| (=|0\.\dx|1\.0x) \|`)
	for _, row := range row.FindAllStringSubmatch(string(page), -1) {
		require.Contains(t, reasons, "`"+row[1]+"`", "the reason for %s, which is %s", row[1], row[2])
	}
}
