package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// Every tour goes from its first stop to its end: answer, wait, next.
func TestTours(t *testing.T) {
	url := start(t)
	p := open(t, url, 1920, 1080)
	p.until(says("reflector", "◉ watches"))
	names := evaluate[[]string](p, `[...document.querySelector("#tours").options].map((o) => o.value).filter(Boolean)`)
	if len(names) != 8 {
		t.Fatalf("there are tours for %q, not for each chapter and one lab", names)
	}
	for _, name := range names {
		p.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => { const s = document.querySelector("#tours");
			s.value = %q; s.dispatchEvent(new Event("change")) })()`, name)))
		p.until(fmt.Sprintf(`document.querySelector("#tour h2")?.textContent.startsWith("Tour %s, ")`, name))
		asked := 0
		for stop := 1; ; stop++ {
			p.until(fmt.Sprintf(`document.querySelector("#tour h2").textContent.includes(": %d of ")`, stop))
			if evaluate[bool](p, `document.querySelector("#tour .options button:not(:disabled)") !== null`) {
				asked++
				p.run(chromedp.Evaluate[chromedp.Void](`document.querySelector("#tour .options button:not(:disabled)").click()`))
			}
			p.until(`!document.querySelector("#tour .ends button").disabled`)
			if asked == 1 {
				p.screen("tour-" + name)
			}
			end := evaluate[string](p, `document.querySelector("#tour .ends button").textContent`) == "Finish"
			p.run(chromedp.Evaluate[chromedp.Void](`document.querySelector("#tour .ends button").click()`))
			if end {
				p.until(`document.querySelector("#tour").hidden`)
				break
			}
		}
		if asked == 0 {
			t.Errorf("tour %s asks for no prediction", name)
		}
	}
}
