// Small helpers to build elements. Text is always set as text, so nothing in a name can become markup.

// h makes an element: h("button", {class: "chip", data: {key: "a"}}, "text", child).
export function h(tag, attributes = {}, ...children) {
  const e = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false || value === null) continue
    if (name === "data") Object.assign(e.dataset, value)
    else if (name.startsWith("on")) e.addEventListener(name.slice(2), value)
    else e.setAttribute(name, value === true ? "" : value)
  }
  e.append(...children.flat(9).filter((c) => c !== undefined && c !== null && c !== false && c !== ""))
  return e
}

// fill replaces the children of an element, unless they would be the same. The focus stays on the element with the
// same data-id.
const drawn = new WeakMap()
export function fill(e, data, build) {
  const text = JSON.stringify(data)
  if (drawn.get(e) === text) return
  drawn.set(e, text)
  const id = e.contains(document.activeElement) ? document.activeElement.dataset.id : undefined
  e.replaceChildren(...[build(data)].flat(9).filter(Boolean))
  if (id) e.querySelector(`[data-id="${CSS.escape(id)}"]`)?.focus({ preventScroll: true })
}

// ms says a duration: "1.2 s".
export function ms(n) {
  if (n < 1000) return `${n} ms`
  if (n < 60000) return `${(n / 1000).toFixed(1)} s`
  return `${Math.floor(n / 60000)} min ${Math.floor((n % 60000) / 1000)} s`
}

// number writes 12345 as 12,345.
export const number = (n) => n.toLocaleString("en")
