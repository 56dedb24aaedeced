package meter

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMeter_says_what_is_left_in_a_line_every_ten_seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		m := New(&log, 80)
		m.At("part", 0, 60)
		time.Sleep(time.Second / 2)
		for done := 1; done < 30; done++ {
			m.At("part", done, 60)
			time.Sleep(time.Second)
		}
		m.Clear()
		require.Equal(t, `[░░░░░░░░░░░░░░░░░░░░░░░░] 2/60  part
[████░░░░░░░░░░░░░░░░░░░░] 12/60, about 48s left  part
[████████░░░░░░░░░░░░░░░░] 22/60, about 38s left  part
`, log.String())
	})
}

func TestMeter_of_unknown_length_says_how_long_it_takes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		m := New(&log, 80)
		m.At("compile", 0, 0)
		time.Sleep(13 * time.Second)
		m.Clear()
		require.Equal(t, "compile, 2s\ncompile, 12s\n", log.String(), "before 2s nobody waits")
	})
}
