package browser

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// record makes a run with a page, and returns its recording.
func record(t *testing.T) []byte {
	t.Helper()
	url := start(t)
	p := openEmpty(t, url, 1280, 800)
	p.until(says("reflector", "◉ watches"))
	p.click("Create a Deployment")
	p.until(says("server", "◆ web@3"))
	p.until(says("queue", "queue none dirty none processing none"))
	p.click("Scale it")
	p.until(says("store", "minAvailable 3"))
	answer, err := http.Get(url + "recording")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A failure's recording opens where it went wrong, beside the run of the solution. Here the wrong run is the right one
// without its end.
func TestTwoRuns(t *testing.T) {
	const title = "The controller on our solutions"
	all := record(t)
	right := bytes.Replace(all, []byte(title), []byte("Week 1: the solution"), 1)
	cut := bytes.Index(all, []byte(`"version":"4"`)) // in the line of the second write
	wrong := all[:bytes.LastIndexByte(all[:cut], '\n')+1]
	wrong = bytes.Replace(wrong, []byte(title), []byte("Week 1: your code"), 1)
	wrong = bytes.Replace(wrong, []byte(`"first":`), []byte(`"wrong":{"text":"replicas: not equal","key":"default/web"},"first":`), 1)
	path := filepath.Join(t.TempDir(), "week-1.json")
	if err := os.WriteFile(path, append(wrong, right...), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, screen := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"two-runs-phone-dark", 390, 844, "dark"}, {"two-runs-projector-light", 1920, 1080, "light"}} {
		p := open(t, start(t, path), screen.width, screen.height)
		p.emulate("prefers-color-scheme", screen.scheme)
		const banner = `document.querySelector("#banner").innerText.includes(%q)`
		p.until(fmt.Sprintf(banner, "replicas: not equal"))
		p.until(fmt.Sprintf(banner, "at the API server: for Deployment default/web, your code has replicas 3, and "+
			"the solution has replicas 4."))
		p.until(`document.querySelector("#status").textContent.startsWith("step ")`)
		p.until(`document.querySelector("[data-seam=server]").classList.contains("differs")`)
		p.until(says("server", "THE SOLUTION") + " && " + says("queue", "BOTH"))
		p.until(`document.querySelectorAll("#way ol").length === 2`)
		opened := evaluate[string](p, `document.querySelector("#place").textContent`)
		p.press(kb.ArrowLeft)
		p.until(fmt.Sprintf(`document.querySelector("#place").textContent !== %q`, opened))
		p.until(`!document.querySelector("[data-seam=server]").classList.contains("differs")`)
		p.run(chromedp.Evaluate[chromedp.Void](`document.querySelector("#banner button").click()`))
		p.until(fmt.Sprintf(`document.querySelector("#place").textContent === %q`, opened))
		if wide := evaluate[int64](p, "document.documentElement.scrollWidth"); wide > screen.width {
			t.Errorf("the page is %d pixels wide on a screen of %d", wide, screen.width)
		}
		for _, problem := range evaluate[[]string](p, accessible) {
			t.Error(problem)
		}
		p.screen(screen.name)
	}
}

// A step shows what led to it, and lights the stations on the way. Each listed step can be opened.
func TestCauses(t *testing.T) {
	p := openEmpty(t, start(t), 1280, 800)
	p.until(says("reflector", "◉ watches"))
	p.click("Create a Deployment")
	p.until(says("server", "◆ web"))
	p.until(says("handler", "1 call so far"))
	p.run(chromedp.Focus(chromedp.CSS(`[data-seam=store] .chip`)))
	p.press("\r")
	const asks = `[...document.querySelectorAll("#way .line")].find((b) => b.textContent.includes("asks the API server to create"))`
	p.until(asks)
	p.run(chromedp.Evaluate[chromedp.Void](asks + ".click()"))
	p.until(`document.querySelector("#causes li")?.textContent.includes("The API server stores Deployment default/web@2")`)
	p.until(`document.querySelector("#causes [aria-current]")?.textContent.includes("asks the API server to create")`)
	lit := evaluate[string](p, `[...document.querySelectorAll(".station.cause")].map((s) => s.dataset.seam).join(" ")`)
	if lit != "server stream delta store handler queue worker" {
		t.Errorf("the stations on the way are %s", lit)
	}
	p.screen("causes")
	p.press("l")
	p.until(`document.querySelector("#causes").hidden && !document.querySelector(".station.cause")`)
}

// A station's title opens the text of its chapter, which offers the chapter's tour.
func TestStations(t *testing.T) {
	p := open(t, start(t, "--tour", "02"), 1280, 800)
	p.until(`document.querySelector("#tour h2").textContent.startsWith("Tour 02, ")`)
	p.click("Leave the tour")
	p.until(says("reflector", "◉ watches"))
	p.run(chromedp.Focus(chromedp.CSS(`[data-about=reflector]`)))
	p.press("\r")
	p.until(`document.activeElement.id === "about-reflector" && document.activeElement.innerText.includes("03-reflector/README.md")`)
	p.screen("station")
	p.click("Tour: A relist after 410")
	p.until(`document.querySelector("#tour h2")?.textContent.startsWith("Tour 03, ")`)
	p.run(chromedp.Evaluate[chromedp.Void](`document.querySelector("#about-reflector [data-about]").click()`))
	p.until(`document.querySelector("#about-reflector").hidden && document.activeElement.dataset.about === "reflector"`)
}
