// The page of `workshop show`. The server sends what is to be drawn, some times a second; this module draws it, and
// sends what the reader does. It keeps only the place in the run and the chosen object.

import { follow, mark } from "./axis.js"
import { clock, draw, list, station } from "./draw.js"
import { h, ms } from "./dom.js"
import { move, rates } from "./tokens.js"

const $ = (selector) => document.querySelector(selector)
let last // the last message
let past // the step that is shown, if it is not the last one
let chosen // the key of an object
let lines = [] // the last steps

// Each station gets its counter and its button for a breakpoint.
for (const s of document.querySelectorAll(".station:not(.you)")) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg")
  svg.setAttribute("class", "spark")
  svg.setAttribute("viewBox", "0 0 60 18")
  svg.setAttribute("aria-hidden", "true")
  svg.append(document.createElementNS("http://www.w3.org/2000/svg", "polyline"))
  const header = s.querySelector("header")
  header.append(svg, h("span", { class: "rate" }))
  if (s.dataset.seam !== "server") {
    const name = s.querySelector("h2").textContent
    header.append(h("button", { class: "needs-gate", "aria-pressed": "false", "aria-label": `Break at ${name}`, data: { break: s.dataset.seam, id: `break ${s.dataset.seam}` } }, "break"))
  }
}

// send sends an order, and returns to the run that the order is for. The server answers with an error if it cannot carry
// it out.
async function send(action, rest = {}) {
  if (past !== undefined) live()
  const answer = await fetch("do", { method: "POST", body: JSON.stringify({ action, ...rest }) })
  $("#answer").textContent = (await answer.json()).error ?? ""
}

function show(m) {
  const fresh = last === undefined || m.last < last.last || m.title !== last.title
  last = m
  lines = fresh ? m.lines : [...lines, ...m.lines].slice(-20)
  document.body.classList.add("ready")
  enable(m)
  place(m)
  if (past !== undefined) return
  draw(m, false)
  light()
  log(lines, m.skipped)
  if (fresh && m.key) way(m.key)
  if (fresh && m.open) rewind(m.open)
  rates(m.view.counts, m.view.at / 1e6)
  follow(m, fresh)
  if (!fresh && m.skipped === 0 && m.lines.length <= 6) move(m.lines)
  speak(m)
}

// enable turns off what this run does not have.
function enable(m) {
  for (const e of document.querySelectorAll(".needs-gate, .needs-machine")) e.disabled = !m.gate
  $("#live").textContent = m.live ? "Live" : "End"
  document.body.classList.toggle("recording", !m.live)
  document.body.classList.toggle("observed", m.live && !m.gate)
  $("#pause").textContent = m.paused ? "Go on" : "Pause"
  $("#step").disabled = !m.gate || m.waiting.length === 0
  const status = $("#status")
  const stuck = Math.max(0, ...Object.values(m.view.informers).map(({ fifo }) => fifo.popping ? (m.view.at - fifo.since) / 1e6 : 0))
  const text = past !== undefined ? `step ${past}${m.live ? ", the past: the run goes on" : ""}` : !m.live ? "recording" : m.paused ? `paused, ${m.waiting.length} waiting` : m.running ? "running to …" : m.waiting.length ? `live, ${m.waiting.length} held` : stuck > 1000 ? `live, a lock is held for ${ms(Math.floor(stuck / 1000) * 1000)}` : m.held.length ? "live, held" : "live"
  if (status.textContent !== text) status.textContent = text
  status.className = "status " + (past !== undefined || !m.live ? "past" : text === "live" || m.running ? "live" : "paused")
  const objects = [m.view.server, ...Object.values(m.view.informers).map((i) => i.store)].flatMap((s) => Object.values(s.objects))
  const keys = ["", ...[...new Set(objects.map((o) => o.key))].sort().slice(0, 50).map((k) => k.replace(/^default\//, ""))]
  const select = $("#object")
  if (document.activeElement !== select && [...select.options].map((o) => o.value).join() !== keys.join()) {
    const value = select.value
    select.replaceChildren(...keys.map((k) => h("option", { value: k }, k || "any")))
    select.value = keys.includes(value) ? value : ""
  }
}

function place(m) {
  mark(past)
  const slider = $("#slider")
  slider.min = m.first
  slider.max = m.last
  const at = past ?? m.last
  if (document.activeElement !== slider || past === undefined) slider.value = at
  $("#place").textContent = `step ${at.toLocaleString("en")} of ${m.last.toLocaleString("en")}`
  $("#live").disabled = past === undefined
}

function log(all, skipped) {
  const left = skipped > 0 ? [{ at: all[0]?.at ?? 0, text: `${skipped.toLocaleString("en")} steps are not listed.` }] : []
  list($("#log"), [...left, ...all.slice(-12)].reverse())
}

// speak tells a screen reader the last step, once a second at most.
let spoke = 0
function speak(m) {
  const line = m.lines.at(-1)
  if (!line || Date.now() - spoke < 1000) return
  spoke = Date.now()
  $("#spoken").textContent = m.lines.length > 3 || m.skipped ? `${m.lines.length + m.skipped} steps. Last: ${line.text}` : m.lines.map((l) => l.text).join(" ")
}

// rewind shows an earlier step. It asks for one at a time: a slider asks for many.
let asking = false
async function rewind(step) {
  if (!last) return
  past = Math.max(last.first, Math.min(step, last.last))
  if (asking) return
  asking = true
  const asked = past
  const m = await fetch(`state?step=${asked}`).then((answer) => answer.ok ? answer.json() : undefined).catch(() => undefined)
  asking = false
  if (past !== undefined && past !== asked) rewind(past)
  if (past === undefined || !m) return
  enable(last)
  place(last)
  draw({ ...m, tour: last.tour }, true)
  mark(past, m.view.at / 1e6)
  light()
  log(m.lines, 0)
  causes(m.causes)
  $("#spoken").textContent = m.lines.at(-1)?.text ?? ""
  for (const s of document.querySelectorAll(".station")) s.classList.toggle("hit", m.lines.length > 0 && s.dataset.seam === station(m.lines.at(-1)))
  if (chosen) way(chosen)
}

function live() {
  past = undefined
  causes([])
  if (last) { show({ ...last, lines: [], skipped: 0 }); light() }
}

// causes lists the steps that led to the shown one. Their stations are marked by draw.
function causes(steps) {
  $("#causes").hidden = steps.length < 2
  list($("#causes ol"), steps, past)
}

// way lists the steps of an object.
async function way(key) {
  chosen = key
  light()
  const answer = await fetch(`way?key=${encodeURIComponent(key)}&step=${past ?? last.last}`)
  if (!answer.ok || key !== chosen) return
  const ways = await answer.json()
  $("#way").replaceChildren(...ways.map((steps, n) => {
    const ol = h("ol", { class: n === 0 ? "steps" : "steps other" })
    list(ol, n === 0 ? steps : steps.map((l) => ({ ...l, n: 0 })), past)
    const whose = last.runs.length ? `${last.runs[n].name}: ` : ""
    return h("div", {}, h("p", {}, h("strong", {}, key), `: ${whose}${steps.length ? `its last ${steps.length} steps, up to ${clock(steps.at(-1).at)}` : "no step yet"}`), ol)
  }))
}

function light(key = chosen) {
  for (const c of document.querySelectorAll(".chip")) c.classList.toggle("lit", c.dataset.key === key)
}

// about shows the text of a station's chapter, or closes it.
function about(seam) {
  for (const a of document.querySelectorAll(".about")) {
    const closes = !a.hidden && seam === ""
    a.hidden = a.id !== `about-${seam}`
    if (!a.hidden) a.focus()
    if (closes) $(`[aria-controls=${a.id}]`).focus()
  }
}

document.addEventListener("click", (event) => {
  const e = event.target.closest("button")
  if (!e) return
  if (e.dataset.do === "tour start") live()
  if (e.dataset.do) send(e.dataset.do, { name: e.dataset.do.startsWith("tour") ? e.dataset.name : $("#object").value || undefined, n: e.dataset.do === "refuse" ? Number($("#code").value) : Number(e.dataset.n ?? 0) })
  else if (e.dataset.break) send("break", { name: e.dataset.break, on: e.getAttribute("aria-pressed") !== "true" })
  else if (e.dataset.key) way(e.dataset.key)
  else if (e.dataset.step) rewind(Number(e.dataset.step))
  else if (e.dataset.about !== undefined) about(e.dataset.about)
})
for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, (event) => light(event.target.closest?.(".chip")?.dataset.key ?? chosen))

const pause = () => send(last?.paused || last?.running ? "resume" : "pause")
const step = () => send("step")
$("#pause").addEventListener("click", pause)
$("#step").addEventListener("click", step)
$("#until").addEventListener("change", (event) => { if (event.target.value) send("until", { name: event.target.value }); event.target.value = "" })
$("#tours").addEventListener("change", (event) => { if (event.target.value) send("tour start", { name: event.target.value }); event.target.value = ""; live() })
$("#restart").addEventListener("click", () => { live(); send("restart all") })
$("#save").addEventListener("click", () => { location.href = "recording" })
$("#back").addEventListener("click", () => rewind((past ?? last.last) - 1))
$("#forward").addEventListener("click", () => rewind((past ?? last.last) + 1))
$("#live").addEventListener("click", live)
$("#slider").addEventListener("input", (event) => rewind(Number(event.target.value)))
$("#axis").addEventListener("step", (event) => rewind(event.detail))
const projector = () => $("#projector").setAttribute("aria-pressed", document.body.classList.toggle("projector"))
$("#projector").addEventListener("click", projector)
$("#help-open").addEventListener("click", () => $("#help").showModal())

// After a choice with the mouse, a menu gives the keys back.
let pointed = false
for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, () => { pointed = kind === "pointerdown" }, true)
document.addEventListener("change", (event) => { if (pointed) event.target.blur() })

document.addEventListener("keydown", (event) => {
  const own = event.target.id === "slider" ? ["ArrowLeft", "ArrowRight"] : event.target.closest?.("select") ? [" ", "ArrowLeft", "ArrowRight"] : []
  if (event.target.closest?.("dialog") || own.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return
  const gate = last?.gate
  switch (event.key) {
    case " ": if (event.target.closest("button, summary, a") || !gate) return; pause(); break
    case "s": if (gate) step(); break
    case "b": {
      const seam = event.target.closest(".station")?.dataset.seam
      if (gate && seam && seam !== "server" && seam !== "you") send("break", { name: seam, on: !last.breaks.includes(seam) })
      break
    }
    case "ArrowLeft": rewind((past ?? last.last) - 1); break
    case "ArrowRight": if (past !== undefined) rewind(past + 1); break
    case "l": live(); break
    case "p": projector(); break
    case "?": $("#help").showModal(); break
    default: return
  }
  event.preventDefault()
})

// connect follows the run. The browser connects again by itself.
const source = new EventSource("events")
source.onmessage = (event) => show(JSON.parse(event.data))
source.onerror = () => { $("#status").textContent = "not connected: the program has ended, or the page waits for it"; $("#status").className = "status" }
