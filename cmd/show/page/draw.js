// This module draws a message. It keeps no state of the pipeline: each panel is a function of the message alone.

import { fill, h, ms, number } from "./dom.js"

const $ = (selector) => document.querySelector(selector)
const bodies = Object.fromEntries([...document.querySelectorAll(".station:not(.you)")].map((s) => [s.dataset.seam, s.querySelector(".body")]))

export const signs = { Deployment: "■", PodDisruptionBudget: "◆" }
const short = (key) => key.replace(/^default\//, "")
// ago is how many milliseconds ago something was, and rounded says it.
const ago = (v, since) => round(Math.max(0, Math.floor((v.at - since) / 1e6)))
const rounded = (ns) => ms(round(Math.floor(ns / 1e6)))
// long says how long something takes that usually takes no time.
const long = (n) => n >= 1000 && h("span", { class: "warn num" }, ` for ${ms(n)}`)
const plural = (kind) => kind + "s"
const rows = 10 // of a table, at most. A view has more, for the names.
const top = (list) => list.slice(0, rows)
const open = (v) => Object.values(v.requests)

// hue gives each name a colour of its own. The name is always there as text too.
function hue(key) {
  let n = 7
  for (const c of key) n = (n * 31 + c.charCodeAt(0)) % 360
  return n
}

// chip is an object. Its id keeps the focus over redraws.
export function chip(kind, key, version, note, place) {
  const e = h("button", { class: "chip", data: { key, id: `${place} ${kind} ${key} ${version ?? ""}` }, title: `${kind ?? ""} ${key}${version ? ", version " + version : ""}` },
    kind && signs[kind] ? signs[kind] + " " : "", short(key), version ? h("small", {}, "@" + version) : "", note ? h("small", {}, " " + note) : "")
  e.style.setProperty("--hue", hue(key))
  return e
}

const more = (total, what) => total > rows && h("p", { class: "more" }, `and ${number(total - rows)} more ${what}`)
const empty = (text) => h("p", { class: "dim" }, text)
const part = (title, ...children) => h("div", { class: "part" }, h("h3", {}, title), children)
const informers = (view) => Object.values(view.informers)
const each = (view, draw) => informers(view).map((i) => part(`${signs[i.kind] ?? ""} ${plural(i.kind)}`, draw(i)))

// tables returns the keys of each value of each index, and sorted the entries of a table in order.
function tables(store) {
  const all = Object.create(null) // a value can have any name
  for (const [key, places] of Object.entries(store.entries ?? {})) for (const { type, version } of places) ((all[type] ??= Object.create(null))[version] ??= []).push(key)
  return all
}
const sorted = (table) => Object.entries(table).sort(([a], [b]) => a < b ? -1 : 1)

// behind says how many versions of its objects a layer has not had.
const behind = (v, n) => v.server.version && h("span", { class: n > 0 ? "warn" : "dim" }, n > 0 ? `${number(n)} ${n === 1 ? "version" : "versions"} behind the server` : "not behind the server")

const panels = {
  server: (v) => [
    h("p", { class: v.server.version ? "" : "dim" }, v.server.down ? h("span", { class: "warn" }, "stopped: connections are refused") : v.server.version ? `version ${v.server.version}` : "no objects yet: each one would be here, with its version"),
    h("div", { class: "row" }, top(Object.values(v.server.objects)).map((o) => chip(o.kind, o.key, o.version, o.note, "server"))),
    more(v.server.total, "objects"),
    v.server.last && h("p", { class: "more" }, `last: ${v.server.last}`),
  ],
  request: (v) => [
    open(v).length === 0 && empty("no request is open: each one would be here until it ends"),
    open(v).slice(-rows).map((r) => h("div", {}, h("p", { class: "path" }, r.text), h("p", { class: "more num" }, `${r.streams ? "open" : "sent"} for ${ms(ago(v, r.since))}`))),
    v.finished.length > 0 && part("ended", v.finished.toReversed().map((r) => h("p", { class: "path" },
      h("span", { class: r.code >= 400 || !r.code ? "code warn" : "code" }, r.code || "error"), ` ${r.text}`, h("small", { class: "num" }, ` ${ms(ago(v, r.since))} ago`)))),
  ],
  stream: (v) => each(v, (i) => {
    const r = open(v).find((r) => r.streams && r.kind === i.kind)
    return [
      r ? h("p", { class: "num" }, `${number(r.frames)} ${r.frames === 1 ? "frame" : "frames"}, ${number(r.bytes)} bytes`) : empty("no watch is open: its bytes, frames and last event would be here"),
      r && r.partial > 0 && h("p", { class: "warn" }, `${r.partial} bytes of a frame that has not ended`),
      i.lastEvent.n > 0 && h("div", { class: "row" }, h("span", { class: "delta" }, i.lastEvent.verb), i.lastEvent.key && chip(i.kind, i.lastEvent.key, i.lastEvent.version, "", "event")),
    ]
  }),
  reflector: (v) => each(v, ({ reflector: r, notReceived }) => [
    h("p", {}, { listing: "… lists", watching: "◉ watches", waiting: "◌ waits" }[r.phase] ?? "○ has not started", r.phase === "waiting" ? h("span", { class: "num" }, ` for ${ms(ago(v, r.since))}${r.wait ? " of " + rounded(r.wait) : ""}`) : r.from !== "" ? ` from version ${r.from}` : ""),
    h("p", { class: "num" }, r.version ? `has version ${r.version}` : "has no version", v.server.version && ", ", behind(v, notReceived ?? 0)),
    r.phase === "waiting" && r.error && h("p", { class: "warn" }, r.error),
  ]),
  delta: (v) => each(v, ({ kind, closed, fifo }) => closed ? empty("client-go's informer does not show its keys") : [
    fifo.popping && h("p", { class: "wait" }, "popAll has the lock and processes ", chip(kind, fifo.popping, "", "", "popping"), fifo.popped?.map((d) => [" ", h("span", { class: "delta" }, d.type)]), long(ago(v, fifo.since))),
    fifo.blocked && h("p", { class: "wait" }, `reflect waits for the lock: ${fifo.blocked}`),
    fifo.keys.length === 0 ? empty("empty: a key would be here with its changes, until Pop") : top(fifo.keys).map((k) => h("div", { class: "row" }, chip(kind, k, "", "", "delta"), fifo.deltas[k].slice(0, 8).map((d) => h("span", { class: "delta", title: d.version ? `version ${d.version}` : "" }, d.type)))),
    more(fifo.total, "keys"),
  ]),
  store: (v) => each(v, (i) => [
    !i.store.total ? empty("empty: a row for each object would be here") : h("table", { class: "grid" },
      h("thead", {}, h("tr", {}, ["object", "version", "has"].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, top(Object.values(i.store.objects)).map((o) => h("tr", {}, h("td", {}, chip(o.kind, o.key, "", "", "store")), h("td", { class: "num" }, "@" + o.version), h("td", {}, o.note))))),
    more(i.store.total, "objects"),
    v.server.version && h("p", { class: "more num" }, behind(v, i.notStored ?? 0)),
    i.store.unread ? h("p", { class: "more" }, "there were more than 100 objects: the index tables are not read") : sorted(tables(i.store)).map(([name, table]) => h("table", { class: "grid" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, `index ${name.split("/").pop()}`), h("th", { scope: "col" }, "keys"))),
      h("tbody", {}, top(sorted(table)).map(([value, keys]) => h("tr", {}, h("td", {}, value), h("td", {}, top(keys).map(short).join(", "), keys.length > rows ? ` and ${keys.length - rows} more` : "")))))),
  ]),
  handler: (v) => each(v, (i) => Object.keys(i.handlers).length === 0 ? empty("no handler: its calls would be here") : Object.entries(i.handlers).map(([name, x]) => h("div", { class: "part" },
    h("p", {}, name, ": ", x.current.key ? [h("span", { class: "delta" }, x.current.type), " ", chip(i.kind, x.current.key, x.current.version, "", name), long(ago(v, x.since))] : h("span", { class: "dim" }, "waits"), h("span", { class: "more num" }, ` ${number(x.calls)} ${x.calls === 1 ? "call" : "calls"} so far`)),
    x.total > 0 && h("div", { class: "row" }, h("span", { class: "more" }, `owed ${number(x.total)}:`), x.pending.slice(0, 4).map((n) => h("span", { class: "delta" }, `${n.type} ${short(n.key)}`)))))),
  queue: (v) => {
    const q = v.queue
    const byTime = (table) => Object.keys(table).sort((a, b) => table[a] - table[b])
    const keys = (list, place, note) => list.length === 0 ? empty("none") : h("div", { class: "row" }, top(list).map((k) => chip("", k, "", note?.(k) ?? "", place)), more(q.totals[place], "keys"))
    const due = (k) => (q.waiting[k] < v.at ? `for ${ms(ago(v, q.waiting[k]))}` : `in ${rounded(q.waiting[k] - v.at)}`) + (q.waits[k] > 0 ? ` of ${rounded(q.waits[k])}` : "")
    return [
      q.down && h("p", { class: "warn" }, "shuts down"),
      part("queue", keys(q.queue, "queue")),
      part("dirty", keys(q.dirty ?? [], "dirty")),
      part("processing", keys(byTime(q.processing), "processing")),
      q.totals.queue + q.totals.processing + q.totals.waiting === 0 && empty("a key would be here from Add until a worker's Done"),
      q.totals.waiting > 0 && part("waiting", keys(byTime(q.waiting), "waiting", due)),
      q.totals.failures > 0 && part("failures", keys(byTime(q.failures), "failures", (k) => `× ${q.failures[k]}`)),
    ]
  },
  worker: (v) => Object.keys(v.workers).length === 0 ? empty("no worker has started: each would be here with its key") : Object.values(v.workers).map((w) => part(w.name,
    h("div", { class: "row" }, w.key && chip("", w.key, "", "", w.name), h("span", { class: w.key ? "" : "dim" }, w.doing || "waits for a key"), w.key && h("span", { class: "more num" }, ms(ago(v, w.since)))))),
}

// What is known about client-go's own informer stands below the panel.
for (const [seam, panel] of Object.entries(panels)) {
  panels[seam] = (v) => [panel(v), informers(v).map((i) => i.facts?.[seam]?.map((text) =>
    h("p", { class: "more num" }, informers(v).length > 1 ? `${plural(i.kind)}: ${text}` : text)))]
}

// round keeps the panels from changing thirty times a second.
const round = (n) => n < 100 ? n : Math.round(n / 100) * 100

// draw draws a message.
export function draw(m, past) {
  document.body.classList.toggle("past", past)
  for (const [seam, body] of Object.entries(bodies)) {
    const waiting = m.waiting.map((w, n) => ({ ...w, first: n === 0, at: station(w) })).filter((w) => w.at === seam)
    fill(body, [waiting, m.runs.length ? m.runs.map((r) => [r.name, strip(r.view ?? m.view, seam)]) : strip(m.view, seam)], () => [
      waiting.slice(0, 3).map(held), waiting.length > 3 && h("p", { class: "more" }, `and ${waiting.length - 3} more wait here`),
      m.runs.length ? both(m, seam) : panels[seam](m.view)])
  }
  for (const s of document.querySelectorAll(".station")) {
    s.classList.toggle("look", m.tour !== undefined && s.dataset.seam === station(m.tour))
    s.classList.toggle("differs", m.differs !== undefined && m.view.n >= m.differs.step && s.dataset.seam === m.differs.seam)
    s.classList.toggle("cause", m.causes.some((l) => station(l) === s.dataset.seam))
    const on = m.breaks.includes(s.dataset.seam)
    s.classList.toggle("broken", on)
    const button = s.querySelector("header button")
    button?.setAttribute("aria-pressed", on)
  }
  banner(m)
  tour(m)
}

// both draws the panels of two runs, and one panel if they have the same text.
function both(m, seam) {
  const sections = m.runs.map((r) => h("section", { class: "run" }, h("h3", {}, r.name), h("div", { class: "body" }, panels[seam](r.view ?? m.view))))
  const [a, b] = sections.map((s) => s.lastChild.textContent)
  if (a !== b) return sections
  sections[0].firstChild.textContent = "both"
  return sections[0]
}

// station is the card of a seam. Events belong to the watch stream.
export const station = (line) => line.seam === "event" ? "stream" : line.seam

// strip is the part of the view that a panel draws, so that the others can stay.
function strip(v, seam) {
  const of = (pick) => informers(v).map((i) => [i.kind, i.facts?.[seam], pick(i)])
  const times = (list) => list.map((r) => [r.text, ago(v, r.since)])
  return {
    server: () => v.server, request: () => [times(open(v)), times(v.finished)],
    stream: () => [of((i) => i.lastEvent), open(v).map((r) => [r.kind, r.streams, r.bytes, r.partial])],
    reflector: () => of((i) => [i.reflector.phase, i.reflector.from, i.reflector.version, i.reflector.error, i.notReceived, i.reflector.phase === "waiting" && ago(v, i.reflector.since)]),
    delta: () => of((i) => [i.fifo, i.closed, i.fifo.popping && ago(v, i.fifo.since)]),
    store: () => of((i) => [i.store, i.notStored]), handler: () => of((i) => Object.entries(i.handlers).map(([name, x]) => [name, x, x.current.key && ago(v, x.since)])),
    queue: () => [v.queue, v.queue.totals.waiting > 0 && v.at], worker: () => Object.values(v.workers).map((w) => [w, ago(v, w.since)]),
  }[seam]?.() ?? of(() => "")
}

const held = (w) => h("p", { class: w.first ? "wait next" : "wait" }, `❚❚ ${w.by || "the caller"} waits${w.first ? ", and is next" : ""}. Its step: ${w.text}`, w.holds && h("span", { class: "more" }, ` It holds ${w.holds}.`))

function banner(m) {
  const lines = m.wrong ? [m.wrong] : []
  if (m.differs) lines.push(m.differs.text)
  else if (m.runs.length) lines.push("The two runs do not differ at their end.")
  if (m.view.unwritten) lines.push(`Not written yet: ${m.view.unwritten}`)
  for (const i of informers(m.view)) for (const d of i.differs ?? []) lines.push(`Differs from the contract (${plural(i.kind)}): ${d}`)
  if (m.view.queue.differs) lines.push(`Differs from the contract (workqueue): ${m.view.queue.differs}`)
  lines.push(...m.held)
  $("#banner").hidden = lines.length === 0
  fill($("#banner"), [lines, m.open], () => [lines.map((l) => h("p", {}, l)),
    m.open && h("button", { data: { step: m.open, id: "open" } }, `Go to step ${number(m.open)}`)])
}

function tour(m) {
  const t = m.tour
  $("#tour").hidden = !t
  fill($("#tour"), t ?? null, () => t && [
    h("h2", {}, `Tour ${t.name}, ${t.title}: ${t.at} of ${t.of}`),
    h("p", {}, t.say),
    t.ask && h("p", {}, h("strong", {}, t.ask)),
    t.options.length > 0 && h("div", { class: "options" }, t.options.map((o, n) => h("button", {
      class: t.chose === n ? "chosen" : "", disabled: t.phase !== "ask", data: { id: `option ${n}`, do: "tour answer", n },
    }, t.phase === "done" && n === t.right ? "✓ " : t.phase === "done" && n === t.chose ? "✗ " : "", o))),
    t.phase === "wait" && h("p", { class: "dim" }, "Watch the pipeline …"),
    t.phase === "done" && t.answer && h("p", {}, h("span", { class: "verdict" }, t.chose === t.right ? "Yes. " : "No. "), t.answer),
    h("div", { class: "ends" },
      h("button", { disabled: t.phase !== "done", data: { id: "next", do: "tour next" } }, t.at === t.of ? "Finish" : "Next"),
      h("button", { data: { id: "end", do: "tour end" } }, "Leave the tour")),
  ])
}

// list draws the last lines and the way of an object.
export function list(e, lines, at) {
  fill(e, [lines, at], () => lines.map((l) => h("li", { "aria-current": l.n === at ? "step" : null }, h("time", {}, clock(l.at)),
    l.n ? h("button", { class: "line", data: { step: l.n, id: `line ${l.n}` }, title: `Go to step ${l.n}` }, l.text) : h("span", {}, l.text))))
}

// clock says a moment: "3.24 s", or "1:20:00" after the first minute.
export function clock(ns) {
  const at = ns / 1e6
  if (at < 60000) return (at / 1000).toFixed(2) + " s"
  const two = (n) => String(Math.floor(n)).padStart(2, "0")
  return `${at < 3600000 ? "" : Math.floor(at / 3600000) + ":"}${two(at / 60000 % 60)}:${two(at / 1000 % 60)}`
}
