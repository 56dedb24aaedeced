package browser

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The page as people see it: light and dark, on a phone and on a projector.
func TestScreens(t *testing.T) {
	for _, screen := range []struct {
		name          string
		width, height int64
		scheme        string
	}{
		{"phone-light", 390, 844, "light"}, {"phone-dark", 390, 844, "dark"},
		{"laptop-light", 1280, 800, "light"}, {"projector-light", 1920, 1080, "light"},
		{"projector-dark", 1920, 1080, "dark"},
	} {
		t.Run(screen.name, func(t *testing.T) {
			p := openEmpty(t, start(t), screen.width, screen.height)
			p.emulate("prefers-color-scheme", screen.scheme)
			p.until(says("reflector", "◉ watches"))
			p.click("Create a Deployment")
			p.until(says("store", "web @"))
			p.click("Create a Deployment")
			p.until(says("store", "db @"))
			p.until(says("server", "◆ db"))
			p.click("Pause")
			p.until(status("paused, 0 waiting"))
			p.click("Scale it")
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

// The first view is not empty: two Deployments have budgets, and one changes soon. In windows from a phone to a wall
// nothing is wider than the screen, and the header takes at most a fifth of the height, also at 200 % zoom.
func TestFirstView(t *testing.T) {
	for _, screen := range [][2]int64{{360, 740}, {640, 400}, {720, 450}, {960, 540}, {1440, 900}, {2560, 1440}} {
		t.Run(fmt.Sprint(screen[0]), func(t *testing.T) {
			p := open(t, start(t), screen[0], screen[1])
			p.until(says("server", "◆ shop") + " && " + says("server", "◆ mail"))
			p.until(says("store", "replicas 4"))
			p.until(says("store", "◆ shop @7 minAvailable 3"))
			p.until(says("request", "ended 200 PATCH") + " || " + says("request", "ended 200 PUT"))
			if wide := evaluate[int64](p, "document.documentElement.scrollWidth"); wide > screen[0] {
				t.Errorf("the page is %d pixels wide on a screen of %d", wide, screen[0])
			}
			if high := evaluate[int64](p, `document.querySelector("body > header").offsetHeight`); high > screen[1]/5 {
				t.Errorf("the header is %d pixels high on a screen of %d", high, screen[1])
			}
			for _, problem := range evaluate[[]string](p, accessible) {
				t.Error(problem)
			}
			p.screen(fmt.Sprint("first-", screen[0]))
			p.click("Projector")
			p.until(`!document.querySelector(".you").checkVisibility()`)
			p.screen(fmt.Sprint("projector-", screen[0]))
		})
	}
}

// A click on the time axis goes to a moment, a drag shows a part of the run, and a button all of it.
func TestAxis(t *testing.T) {
	p := openEmpty(t, start(t), 1440, 900)
	p.until(says("reflector", "◉ watches"))
	p.click("Fail the next three writes")
	p.click("Create a Deployment")
	p.until(says("queue", "waiting"))
	p.until(says("server", "◆ web"))
	const at = `(() => { const r = document.querySelector("#axis").getBoundingClientRect(); return [r.left, r.top, r.width] })()`
	box := evaluate[[]float64](p, at)
	p.until(`document.querySelector("#axis").offsetHeight > 50`)
	p.run(chromedp.MouseClickXY(box[0]+box[2]*0.6, box[1]+20))
	p.until(`document.querySelector("#status").textContent.startsWith("step ")`)
	p.screen("axis")
	p.press("l")
	const drag = `for (const [kind, x] of [["down", 0.5], ["move", 0.6], ["up", 0.7]])
		document.querySelector("#axis").dispatchEvent(new PointerEvent("pointer" + kind, {pointerId: 1, clientX: %f + x * %f}))`
	p.run(chromedp.Evaluate[chromedp.Void]("HTMLCanvasElement.prototype.setPointerCapture = () => {};" +
		fmt.Sprintf(drag, box[0], box[2])))
	p.until(`!document.querySelector("#whole").disabled`)
	p.screen("axis-part")
	p.click("Whole run")
	p.until(`document.querySelector("#whole").disabled`)
}

// The picture of the README, in light and dark: a Deployment has been scaled, and the run is paused on its way.
func TestPicture(t *testing.T) {
	if *screens == "" {
		t.Skip("-screens writes the picture")
	}
	p := openEmpty(t, start(t), 1400, 850)
	p.until(says("reflector", "◉ watches"))
	p.click("Create a Deployment")
	p.until(says("server", "◆ web"))
	p.click("Create a Deployment")
	p.until(says("server", "◆ db"))
	p.until(says("queue", "queue none dirty none processing none"))
	p.run(chromedp.Evaluate[chromedp.Void](`(() => { const s = document.querySelector("#until");
		s.value = "write"; s.dispatchEvent(new Event("change")) })()`))
	p.click("Scale it")
	p.until(says("worker", "waits, and is next"))
	p.run(chromedp.Evaluate[chromedp.Void](`document.querySelector("[data-seam=store] .chip").click()`))
	p.until(`document.querySelectorAll("#way li").length > 5`)
	p.until(`document.querySelectorAll(".chip.lit").length === document.querySelectorAll(".chip[data-key='default/db']").length`)
	p.until(`document.querySelectorAll("#tokens .token").length === 0`)
	p.run(chromedp.Sleep(time.Second)) // the time axis follows the run
	for _, scheme := range []string{"light", "dark"} {
		p.emulate("prefers-color-scheme", scheme)
		p.until(fmt.Sprintf(`matchMedia("(prefers-color-scheme: %s)").matches`, scheme))
		picture, err := chromedp.Call(p.ctx, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{
			Format: cdppage.CaptureScreenshotFormatWebp, Quality: new(int64(80))})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(*screens, "show-"+scheme+".webp")
		if err := os.WriteFile(path, picture.Data, 0o644); err != nil {
			t.Fatal(err)
		}
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

// Every button has an effect that the page shows, and no error appears.
func TestButtons(t *testing.T) {
	p := openEmpty(t, start(t), 1920, 1080)
	p.until(says("reflector", "◉ watches"))
	for _, button := range []struct{ name, seam, text string }{
		{"Create a Deployment", "store", "◆ web @"},
		{"Scale it", "store", "replicas 4"},
		{"Edit its budget", "server", "minAvailable 3"},
		{"Delete its budget", "server", "minAvailable 3"},
		{"End the watches", "server", "the watches end"},
		{"Cut a frame", "server", "breaks in the middle of a frame"},
		{"Answer with", "server", "the next watch of Deployments gets 410"},
		{"Compact the history", "server", "compacted"},
		{"Restart the server", "server", "restart"},
		{"Slow answers", "server", "takes a second"},
		{"End all faults", "server", "last: up"},
		{"Stop the server", "server", "connections are refused"},
		{"Start the server", "server", "last: up"},
		{"Fail the next three writes", "server", "get 500"},
		{"End all faults", "reflector", "◉ watches"},
		{"Add a slow handler", "handler", "handler 2"},
		{"Add a stuck handler", "handler", "handler 2"},
		{"End all faults", "reflector", "◉ watches"},
		{"1,000 changes", "store", "more objects"},
	} {
		p.click(button.name)
		p.until(says(button.seam, button.text))
	}
	p.click("Remove that handler")
	p.until("!" + says("handler", "handler 2"))
	p.click("Hold the workers")
	p.until(`document.querySelector("#banner").innerText.includes("The workers are held")`)
	p.click("Let the workers go")
	p.click("Hold the consumer of the deltas")
	p.until(`document.querySelector("#banner").innerText.includes("The consumer of the deltas is held")`)
	p.click("Let the consumer go")
	p.until(`document.querySelector("#banner").hidden`)
	p.until(says("queue", "queue none dirty none processing none"))
	p.click("Start again")
	p.until(says("store", "empty: a row") + " && " + says("server", "no objects yet"))
	p.click("Delete it")
	p.until(`document.querySelector("#answer").textContent.includes("there is no Deployment")`)
	// Saving is a download, which needs no page: the file is what the address sends.
	p.until(`document.querySelector("#save") !== null`)
}

// The whole page works without a mouse.
func TestKeys(t *testing.T) {
	p := openEmpty(t, start(t), 1280, 800)
	p.until(says("reflector", "◉ watches"))
	p.press(" ")
	p.until(status("paused, 0 waiting"))
	p.run(chromedp.Focus(chromedp.CSS(`[data-do="create"]`)))
	last := evaluate[int64](p, `Number(document.querySelector("#slider").max)`)
	p.press("\r")
	p.until(status("paused, 1 waiting"))
	p.until(fmt.Sprintf(`Number(document.querySelector("#slider").max) > %d`, last))
	p.press(kb.ArrowLeft)
	p.until(`document.querySelector("#status").textContent.startsWith("step ")`)
	shown := evaluate[string](p, `document.querySelector("#place").textContent`)
	p.press(kb.ArrowLeft)
	p.until(fmt.Sprintf(`document.querySelector("#place").textContent !== %q`, shown))
	p.press(kb.ArrowRight)
	p.until(fmt.Sprintf(`document.querySelector("#place").textContent === %q`, shown))
	p.press("l")
	p.until(`document.querySelector("#status").textContent.startsWith("paused")`)
	p.run(chromedp.Focus(chromedp.CSS(`[data-break="store"]`)))
	p.press("b")
	p.until(`document.querySelector("[data-seam=store]").classList.contains("broken")`)
	p.run(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	p.press(" ")
	p.until(says("store", "popAll waits, and is next"))
	p.until(says("store", "It holds the lock of the queue of Deployments"))
	p.run(chromedp.Focus(chromedp.CSS(`[data-break="store"]`)))
	p.press("b")
	p.until(says("server", "◆ web"))
	p.run(chromedp.Focus(chromedp.CSS(`[data-seam=store] .chip`)))
	p.press("\r")
	p.until(`document.querySelectorAll("#way li").length > 5`)
	p.press("?")
	p.until(`document.querySelector("#help").open`)
	p.press(kb.Escape)
	p.until(`!document.querySelector("#help").open`)
	p.until(`document.querySelector("#spoken").textContent.length > 10`)
}

func status(text string) string {
	return fmt.Sprintf(`document.querySelector("#status").textContent === %q`, text)
}

func (p *page) press(key string) {
	p.Helper()
	p.run(chromedp.KeyEvent(key))
}

// A recording opens again, and shows the same. It has no buttons for a run.
func TestRecording(t *testing.T) {
	url := start(t)
	p := openEmpty(t, url, 1280, 800)
	p.until(says("reflector", "◉ watches"))
	p.click("Create a Deployment")
	p.until(says("server", "◆ web"))
	answer, err := http.Get(url + "recording")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	path := filepath.Join(t.TempDir(), "recording.json")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, answer.Body); err != nil {
		t.Fatal(err)
	}
	file.Close()
	again := open(t, start(t, path), 1280, 800)
	again.until(says("store", "◆ web @"))
	again.until(`document.querySelector("#pause").disabled && document.querySelector("#status").textContent === "recording"`)
	again.press(kb.ArrowLeft)
	again.until(`document.querySelector("#status").textContent.startsWith("step ")`)
	again.screen("recording")
}

// Ten thousand objects and a thousand events a second leave the page usable.
func TestManyObjects(t *testing.T) {
	p := openEmpty(t, start(t), 1280, 800)
	p.until(says("reflector", "◉ watches"))
	p.click("10,000 Deployments")
	p.until(`document.querySelector("#log").innerText.includes("steps are not listed")`)
	// In the middle of the load, however fast this machine is.
	p.until(`parseInt(document.querySelector("[data-seam=store] .rate").textContent.replace(",", "")) > 0`)
	p.press(" ")
	p.until(`document.querySelector("#status").textContent.startsWith("paused")`)
	p.press(" ")
	p.until(`document.querySelector("#status").textContent.startsWith("live")`) // the key means Pause only after that
	p.until(says("store", "and 9,990 more objects"))
	p.until(says("queue", "queue none dirty none processing none"))
	p.screen("many")
	p.click("1,000 changes")
	p.press(" ")
	p.until(`document.querySelector("#status").textContent.startsWith("paused")`)
	p.press(kb.ArrowLeft)
	p.until(`document.querySelector("#status").textContent.startsWith("step ")`)
	if nodes := evaluate[int](p, `document.querySelectorAll("*").length`); nodes > 2000 {
		t.Errorf("the page has %d elements for 10,000 objects", nodes)
	}
}

// Without motion no token moves.
func TestReducedMotion(t *testing.T) {
	p := openEmpty(t, start(t), 1280, 800)
	p.emulate("prefers-reduced-motion", "reduce")
	p.run(chromedp.Evaluate[chromedp.Void](`window.moved = 0; new MutationObserver(() => { window.moved++ })
		.observe(document.querySelector("#tokens"), {childList: true})`))
	p.until(says("reflector", "◉ watches"))
	p.click("Create a Deployment")
	p.until(says("server", "◆ web"))
	if moved := evaluate[int](p, "window.moved"); moved > 0 {
		t.Errorf("%d tokens moved", moved)
	}
}

// What axe checks first: every control has a name, every text has contrast, the headings and ids are in order.
func TestAccessibility(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			p := openEmpty(t, start(t), 1280, 800)
			p.emulate("prefers-color-scheme", scheme)
			p.until(says("reflector", "◉ watches"))
			p.click("Create a Deployment")
			p.until(says("server", "◆ web"))
			p.run(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach((d) => { d.open = true })`))
			for _, problem := range evaluate[[]string](p, accessible) {
				t.Error(problem)
			}
		})
	}
}
