// The instructor's board. It asks the server for its state every two seconds, and draws it. All text is set as text,
// never as HTML.

const every = 2000
const $ = (selector) => document.querySelector(selector)

// h makes an element with a class and children.
function h(tag, name, ...children) {
  const e = document.createElement(tag)
  if (name) e.className = name
  e.append(...children)
  return e
}

const place = (r) => (r.task === 0 ? "finished" : `${r.chapter} ${r.task}`)

function row(r) {
  const tr = h("tr", r.away ? "away" : r.long ? "long" : "")
  const name = h("th", "", r.name)
  name.scope = "row"
  const task = h("td", "", h("b", "", place(r)), ` ${r.title}`)
  const minutes = h("td", "num")
  if (r.task > 0) minutes.append(h("b", "", String(r.minutes)), ` of ${r.planned}`)
  const rule = h("td", "rule", r.rule)
  const long = r.ruleMinutes >= 15 ? `${r.ruleMinutes} min at this rule` : "longer than planned"
  if (r.away || r.long) rule.prepend(h("span", "tag", r.away ? "away" : long), " ")
  tr.append(name, task, minutes, h("td", "num", r.hints ? String(r.hints) : ""), rule)
  return tr
}

// bar is a line of a list with the number of people, drawn as a bar too.
function bar(people, most, ...text) {
  const li = h("li", "")
  const meter = document.createElement("meter")
  meter.max = most
  meter.value = people
  meter.setAttribute("aria-hidden", "true")
  li.append(h("span", "people", String(people)), h("div", "", h("span", "", ...text), meter))
  return li
}

function draw(v) {
  document.body.classList.add("ready")
  document.body.classList.toggle("names", v.names)
  const here = v.people - v.away
  const parts = [here === 1 ? "1 person is here" : `${here} people are here`]
  if (v.done) parts.push(`${v.done} finished`)
  if (v.away) parts.push(`${v.away} away`)
  const text = v.people ? parts.join(", ") : "no one reports yet"
  if ($("#status").textContent !== text) $("#status").textContent = text
  $("#status").classList.remove("lost")
  $("#people").hidden = !v.names
  $("tbody").replaceChildren(...(v.rows ?? []).map(row))
  const most = Math.max(1, ...v.places.map((p) => p.people))
  $("#places").replaceChildren(...v.places.map((p) => bar(p.people, most, h("b", "", place(p)), ` ${p.title}`)))
  $("#rules").replaceChildren(...v.rules.slice(0, 6).map((r) => bar(r.people, most, r.rule)))
  for (const list of ["#places", "#rules"]) if (!$(list).children.length) $(list).append(h("li", "none", "none yet"))
}

async function ask() {
  try {
    const answer = await fetch("state", { signal: AbortSignal.timeout(5000) })
    if (!answer.ok) throw new Error(answer.statusText)
    draw(await answer.json())
  } catch {
    $("#status").textContent = "share does not answer; this is the last state"
    $("#status").classList.add("lost")
  }
  setTimeout(ask, every)
}
ask()
