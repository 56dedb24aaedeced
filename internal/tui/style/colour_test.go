package style

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// palettes have the background of common terminals, and their bold magenta. Some show what is bold brighter.
var palettes = map[string]struct{ background, boldMagenta int }{
	"VS Code, dark":           {0x1e1e1e, 0xd670d6},
	"VS Code, light":          {0xffffff, 0xbc05bc},
	"xterm, black":            {0x000000, 0xff00ff},
	"xterm, white":            {0xffffff, 0xff00ff},
	"Windows Terminal, dark":  {0x0c0c0c, 0xb4009e},
	"Windows Terminal, light": {0xfafafa, 0xa626a4},
	"Apple, black":            {0x000000, 0xe500e5},
	"Apple, white":            {0xffffff, 0xb200b2},
	"GNOME, dark":             {0x1d1d1d, 0xa347ba},
	"GNOME, white":            {0xffffff, 0xa347ba},
	"Solarized, dark":         {0x002b36, 0xd33682},
	"Solarized, light":        {0xfdf6e3, 0xd33682},
}

func TestWarn_can_be_read_on_white_and_on_black(t *testing.T) {
	require.Equal(t, "\x1b[1;35mx\x1b[m", Warn("x"), "bold magenta; yellow on white has a contrast below 2")
	for name, p := range palettes {
		require.GreaterOrEqual(t, contrast(p.background, p.boldMagenta), 3.0, name)
	}
}

// contrast is the ratio that the Web Content Accessibility Guidelines define, of two colours as 0xrrggbb.
func contrast(a, b int) float64 {
	low, high := luminance(a), luminance(b)
	return (max(low, high) + 0.05) / (min(low, high) + 0.05)
}

func luminance(colour int) (sum float64) {
	for shift, weight := range map[int]float64{16: 0.2126, 8: 0.7152, 0: 0.0722} {
		c := float64(colour>>shift&0xff) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}
