// This module draws the time axis: a lane for each station, with marks for errors, lists after the first, and waits. A
// click asks for the step at that moment, a drag shows a part of the run. The slider below it does the same for keys.

const canvas = document.querySelector("#axis")
const whole = document.querySelector("#whole")
const signs = { error: "▲", relist: "↻", "back-off": "◌" }
const names = 84 // the width of the lanes' names
const lane = 11 // the height of a lane

let axis // the last answer
let part // the part of the run that is shown, or undefined for all of it
let shown // the time of the step that is shown, if it is an earlier one
let asked = 0 // when
let seen // the last step at that time
let drag

const lanes = [...document.querySelectorAll(".station:not(.you)")].map((s) => ({
  seam: s.dataset.seam, card: s, name: s.querySelector("h2").textContent.replace(/^\d+ /, ""),
}))

// follow asks for the axis of the run, four times a second at most, and less often for a long one.
export function follow(m, fresh) {
  if (fresh) part = undefined
  else if (part || m.last === seen || Date.now() - asked < Math.max(250, m.last / 20)) return
  asked = Date.now()
  seen = m.last
  ask()
}

async function ask() {
  const columns = Math.max(50, Math.floor((canvas.clientWidth - names) / 4))
  const { from, to } = part ?? { from: 0, to: 0 }
  const answer = await fetch(`axis?from=${from}&to=${to}&columns=${columns}`).catch(() => undefined)
  if (!answer?.ok) return
  axis = await answer.json()
  whole.disabled = !part
  paint()
}

// mark shows which moment the page shows: of a step in the past, or the end.
export function mark(past, at) {
  if (past === undefined) shown = undefined
  else if (at !== undefined) shown = at
  else return
  paint()
}

const x = (at) => names + ((at - axis.from) / Math.max(1, axis.to - axis.from)) * (canvas.clientWidth - names)

function paint() {
  if (!axis?.steps) return
  const visible = lanes.filter((l) => l.card.checkVisibility() || axis.lanes[l.seam])
  const style = getComputedStyle(document.body)
  const ratio = devicePixelRatio
  canvas.style.height = visible.length * lane + 14 + "px"
  canvas.width = canvas.clientWidth * ratio
  canvas.height = (visible.length * lane + 14) * ratio
  const g = canvas.getContext("2d")
  g.scale(ratio, ratio)
  const columns = axis.steps.length
  const width = (canvas.clientWidth - names) / columns
  visible.forEach((l, row) => {
    const card = getComputedStyle(l.card)
    const y = row * lane
    g.font = "10px system-ui, sans-serif"
    g.fillStyle = style.color
    g.fillText(l.name, 0, y + 9)
    const counts = axis.lanes[l.seam] ?? []
    const most = Math.max(1, ...counts)
    counts.forEach((n, c) => {
      if (n === 0) return
      g.globalAlpha = 0.35 + 0.65 * Math.min(1, Math.log(n + 1) / Math.log(most + 1))
      g.fillStyle = card.borderTopColor
      g.fillRect(names + c * width, y + 2, Math.max(2, width - 1), lane - 4)
    })
    g.globalAlpha = 1
    g.fillStyle = style.color
    g.font = "bold 11px system-ui, sans-serif"
    axis.marks[l.seam]?.forEach((m, c) => { if (m) g.fillText(signs[m], names + c * width - 3, y + 9) })
  })
  g.fillStyle = style.color
  g.font = "10px system-ui, sans-serif"
  g.fillText(seconds(axis.from), names, visible.length * lane + 11)
  const end = seconds(axis.to)
  g.fillText(end, canvas.clientWidth - g.measureText(end).width, visible.length * lane + 11)
  if (shown !== undefined && shown >= axis.from && shown <= axis.to) g.fillRect(x(shown), 0, 2, visible.length * lane)
  if (drag) {
    g.globalAlpha = 0.2
    g.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), visible.length * lane)
    g.globalAlpha = 1
  }
}

const seconds = (ms) => (ms / 1000).toFixed(ms < 10000 ? 2 : 0) + " s"
const at = (px) => axis.from + (Math.max(0, px - names) / (canvas.clientWidth - names)) * (axis.to - axis.from)
const place = (event) => event.clientX - canvas.getBoundingClientRect().left

canvas.addEventListener("pointerdown", (event) => {
  if (!axis?.steps) return
  canvas.setPointerCapture(event.pointerId)
  drag = { from: place(event), to: place(event) }
})
canvas.addEventListener("pointermove", (event) => {
  if (!drag) return
  drag.to = place(event)
  paint()
})
canvas.addEventListener("pointerup", () => {
  if (!drag) return
  const [from, to] = [drag.from, drag.to].sort((a, b) => a - b)
  drag = undefined
  if (to - from > 6) {
    part = { from: Math.floor(at(from)), to: Math.ceil(at(to)) }
    ask()
    return
  }
  const columns = axis.steps.length
  let c = Math.min(columns - 1, Math.max(0, Math.floor(((from - names) / (canvas.clientWidth - names)) * columns)))
  while (c > 0 && !axis.steps[c]) c--
  if (axis.steps[c]) canvas.dispatchEvent(new CustomEvent("step", { detail: axis.steps[c] }))
})
whole.addEventListener("click", () => { part = undefined; ask() })
addEventListener("resize", paint)
