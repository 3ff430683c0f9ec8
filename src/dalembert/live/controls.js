// Parts of the panel: sliders, buttons of modes, numbers. They know the document and nothing of mechanisms.

export const find = (id) => document.getElementById(id)

export function text(id, value) {
  const element = find(id)
  if (element.textContent !== value) element.textContent = value
}

/** Numbers as people read them. */
export function number(x, unit = "", digits = 4) {
  if (x === Infinity) return "∞"
  if (!Number.isFinite(x)) return "not a number"
  const size = Math.abs(x)
  const plain = size === 0 || (size >= 1e-3 && size < 1e5)
  const shown = plain ? x.toPrecision(digits) : x.toExponential(digits - 2)
  return `${shown.replace("-", "−")}${unit && " " + unit}`
}

/** Lengths and angles of coordinates: what rounding leaves of zero is zero. */
export const metres = (x) => number(Math.abs(x) < 1e-12 ? 0 : x, "m")
export const degrees = (x) => `${((x * 180) / Math.PI).toFixed(1).replace(/^-0\.0$/, "0.0").replace("-", "−")}°`

/** A labelled slider: { set(value), stopped(flag) }; change(value) is called while it is moved. */
export function slider(section, { name, low, high, value, show, change }) {
  const box = document.createElement("div")
  const label = document.createElement("label")
  const output = document.createElement("output")
  const input = document.createElement("input")
  const id = `${section}-${name}`
  box.className = "slider"
  Object.assign(label, { htmlFor: id, textContent: name })
  Object.assign(input, { id, type: "range", step: "any", min: low, max: high, value })
  input.setAttribute("aria-valuetext", show(value))
  input.step = String((high - low) / 2000)
  output.textContent = show(value)
  input.addEventListener("input", () => change(Number(input.value)))
  box.append(label, output, input)
  find(section).append(box)
  return {
    input,
    set(x) {
      if (document.activeElement !== input || Math.abs(Number(input.value) - x) > (high - low) / 1000) input.value = x
      const said = show(x)
      if (output.textContent !== said) {
        output.textContent = said
        input.setAttribute("aria-valuetext", said)
      }
    },
    stopped(flag) { box.classList.toggle("stopped", flag) },
  }
}

/** Buttons of which one or none is pressed; press(k) with −1 for none. */
export function choice(section, labels, press) {
  const list = document.createElement("div")
  list.className = "modes"
  const buttons = labels.map((label, k) => {
    const button = document.createElement("button")
    button.textContent = label
    button.setAttribute("aria-pressed", "false")
    button.addEventListener("click", () => press(button.getAttribute("aria-pressed") === "true" ? -1 : k))
    list.append(button)
    return button
  })
  find(section).append(list)
  return (chosen) => buttons.forEach((b, k) => b.setAttribute("aria-pressed", String(k === chosen)))
}

export function say(message, bad = false) {
  const line = find("say")
  if (line.textContent !== message) line.textContent = message
  line.classList.toggle("bad", bad)
}

/** Light or dark, as the reader's system has it until the button is pressed. */
export function themes(change) {
  const root = document.documentElement
  const system = matchMedia("(prefers-color-scheme: dark)")
  let chosen = root.dataset.theme
  const use = () => {
    const shade = chosen === "auto" ? (system.matches ? "dark" : "light") : chosen
    root.dataset.shade = shade
    change(shade)
  }
  system.addEventListener("change", use)
  find("theme").addEventListener("click", () => {
    chosen = root.dataset.shade === "dark" ? "light" : "dark"
    use()
  })
  use()
}
