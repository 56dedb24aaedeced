package browser

// accessible is a script that returns what a reader with a keyboard, a screen reader or weak eyes would miss.
const accessible = `(() => {
	const problems = []
	const visible = (e) => e.checkVisibility() && e.getClientRects().length > 0
	for (const e of document.querySelectorAll("button, select, input, a, summary")) {
		if (e.closest('[aria-hidden="true"]')) continue // a copy that moves: the chip that it comes from is there
		const name = e.getAttribute("aria-label") || e.labels?.[0]?.textContent.trim() || e.textContent.trim()
		if (!name) problems.push("without a name: " + e.outerHTML.slice(0, 90))
		if (e.tabIndex < 0 && !e.disabled) problems.push("no keyboard reaches " + e.outerHTML.slice(0, 90))
		const box = e.getBoundingClientRect()
		if (visible(e) && !e.matches("a") && Math.min(box.height, box.width) < 24 && !e.matches("input[type=range]"))
			problems.push("smaller than 24 pixels: " + e.outerHTML.slice(0, 90) + " " + box.width + "×" + box.height)
	}
	for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) problems.push("an order of its own: " + e.id)
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id)
	for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) problems.push("two elements with the id " + id)
	for (const e of document.querySelectorAll("[aria-labelledby]"))
		if (!document.getElementById(e.getAttribute("aria-labelledby"))) problems.push("no label for " + e.outerHTML.slice(0, 90))
	if (document.querySelectorAll("h1").length !== 1) problems.push("not one h1")
	if (!document.documentElement.lang) problems.push("no language")

	const pixel = document.createElement("canvas").getContext("2d", {willReadFrequently: true})
	const parse = (color) => {
		pixel.clearRect(0, 0, 1, 1)
		pixel.fillStyle = color
		pixel.fillRect(0, 0, 1, 1)
		return [...pixel.getImageData(0, 0, 1, 1).data]
	}
	const behind = (e) => {
		for (let p = e; p; p = p.parentElement) {
			const c = parse(getComputedStyle(p).backgroundColor)
			if (c[3] > 250) return c
		}
		return [255, 255, 255, 255]
	}
	const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, n) => {
		const v = c[n] / 255
		return sum + w * (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
	}, 0)
	for (const e of document.querySelectorAll("body *")) {
		const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())
		if (!own || !visible(e) || e.closest(":disabled, .hidden, .skip, #tokens")) continue
		const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x)
		const ratio = (a + 0.05) / (b + 0.05)
		if (ratio < 4.5) problems.push("contrast " + ratio.toFixed(2) + ": " + e.textContent.slice(0, 40) + " " + e.className)
	}
	return problems
})()`
