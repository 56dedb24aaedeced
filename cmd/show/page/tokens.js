// This module moves tokens from station to station. It only decorates: below twenty steps a second a step is a token,
// above that the stations show rates.

import { chip, station } from "./draw.js"

const still = matchMedia("(prefers-reduced-motion: reduce)")

// The way of each step, by its seam and verb.
function way(l) {
  if (!l.key) return l.seam === "stream" && l.verb === "read" ? ["request", "stream"] : undefined
  switch (l.seam) {
    case "event": return ["stream", "reflector"]
    case "delta": return l.verb === "Pop" ? ["delta", "store"] : ["Added", "Updated", "Deleted"].includes(l.verb) ? ["reflector", "delta"] : undefined
    case "handler": return l.verb.startsWith("On") ? ["store", "handler"] : undefined
    case "queue": return { Add: ["handler", "queue"], Get: ["queue", "worker"], AddRateLimited: ["worker", "queue"] }[l.verb]
    case "worker": return l.verb === "writes" ? ["worker", "request"] : undefined
    case "server": return l.verb === "wrote" ? ["request", "server"] : undefined
  }
}

const cards = Object.fromEntries([...document.querySelectorAll(".station")].map((s) => [s.dataset.seam, s]))

// hit lights the station of a step for a moment.
function hit(seam) {
  const card = cards[seam]
  if (!card) return
  card.classList.add("hit")
  clearTimeout(card.timer)
  card.timer = setTimeout(() => card.classList.remove("hit"), 500)
}

// move shows the steps of a message, one after the other.
export function move(lines) {
  lines.forEach((l, n) => {
    hit(station(l))
    const path = way(l)
    if (!path || still.matches) return
    const [from, to] = path.map((seam) => cards[seam].getBoundingClientRect())
    const token = l.key ? chip(l.kind, l.key, l.version, "", "token") : document.createElement("span")
    token.classList.add("token")
    token.tabIndex = -1
    document.querySelector("#tokens").append(token)
    const place = (r) => `translate(${r.left + r.width / 2 - 40}px, ${r.top + 14}px)`
    const run = token.animate([{ transform: place(from), opacity: 0 }, { opacity: 1, offset: 0.2 }, { opacity: 1, offset: 0.8 }, { transform: place(to), opacity: 0 }],
      { duration: 650, delay: n * 90, easing: "ease-in-out", fill: "both" })
    run.onfinish = () => token.remove()
  })
}

const before = {}
const history = {}

// rates draws how many steps each station has had, for each half second.
export function rates(counts, at) {
  const seconds = (at - (before.at ?? at)) / 1000
  if (before.at !== undefined && seconds < 0.5 && seconds >= 0) return
  const sums = {}
  for (const [seam, n] of Object.entries(counts)) sums[station({ seam })] = (sums[station({ seam })] ?? 0) + n
  for (const [seam, n] of Object.entries(sums)) {
    const card = cards[seam]
    if (!card || !card.querySelector(".rate")) continue
    const rate = seconds > 0 ? Math.max(0, Math.round((n - (before[seam] ?? n)) / seconds)) : 0
    const past = (history[seam] = [...(history[seam] ?? []), rate].slice(-30))
    const most = Math.max(1, ...past)
    card.querySelector("polyline").setAttribute("points", past.map((r, x) => `${60 - (past.length - 1 - x) * 2},${17 - (r / most) * 16}`).join(" "))
    card.querySelector(".rate").textContent = rate > 0 ? `${rate.toLocaleString("en")}/s` : ""
    before[seam] = n
  }
  before.at = at
}
