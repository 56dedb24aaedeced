package browser

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The page as people see it: light and dark, on a phone and on a projector.
func TestScreens(t *testing.T) {
	for _, screen := range []struct {
		name          string
		width, height int64
		scheme        string
	}{
		{"phone-light", 390, 844, "light"}, {"phone-dark", 390, 844, "dark"},
		{"laptop-light", 1280, 800, "light"}, {"projector-light", 1920, 1080, "light"}, {"projector-dark", 1920, 1080, "dark"},
	} {
		t.Run(screen.name, func(t *testing.T) {
			p := open(t, start(t), screen.width, screen.height)
			p.emulate("prefers-color-scheme", screen.scheme)
			p.until(says("reflector", "◉ watches"))
			p.click("Create a Deployment")
			p.until(says("store", "web@"))
			p.click("Create a Deployment")
			p.until(says("store", "db@"))
			p.until(says("server", "◆ db"))
			p.click("Pause")
			p.click("Scale it")
			p.until(`document.querySelector("#status").textContent.includes("waiting")`)
			for range 6 {
				p.click("Step")
			}
			p.until(`document.querySelectorAll(".wait").length > 0`)
			if wide := evaluate[int64](p, "document.documentElement.scrollWidth"); wide > screen.width {
				t.Errorf("the page is %d pixels wide on a screen of %d", wide, screen.width)
			}
			p.screen(screen.name)
		})
	}
}

// emulate sets a preference of the reader.
func (p *page) emulate(feature, value string) {
	p.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: feature, Value: value}}})
	if err != nil {
		p.Fatal(err)
	}
}
