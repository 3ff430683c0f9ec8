// Sliders of coordinates, parameters and inputs.
import { make, number } from "./dom.js";

/** One slider with its number; changed(value) follows the hand. */
class Slider {
  /** @type {any} */ low;
  /** @type {any} */ high;

  constructor({ name, unit = "", units = null, low, high, value, limits = false, drive = false, zero = false }, changed) {
    this.name = name;
    this.changed = changed;
    this.factor = units?.factor(unit) ?? 1;  // of what is shown; low, high and value stay rad and m
    unit = units?.name(unit) ?? unit;
    const id = `slider ${name} ${Math.random().toString(36).slice(2)}`;
    this.range = make("input", { type: "range", min: 0, max: 1000, step: 1, id });
    this.range.setAttribute("aria-label", `${name}${unit ? `, ${unit}` : ""}`);
    this.field = make("input", { type: "number", step: "any" });
    this.field.setAttribute("aria-label", `${name}, value`);
    const label = make("label", { htmlFor: id, title: name }, drive ? make("span", { className: "drive", textContent: "●", title: "actuated" }) : null, name, " ", make("small", { textContent: unit }));
    this.ends = [make("span", { className: limits ? "limit" : "" }), make("span", { className: limits ? "limit" : "" })];
    this.element = make("div", { className: "slider" }, label, this.field, this.range, make("div", { className: "ends" }, ...this.ends));
    this.element.dataset.name = name;
    this.grows = !!unit && !limits;  // a coordinate that may go on
    this.span(low, high);
    this.set(value);
    this.range.addEventListener("input", () => this.moved(this.low + (this.high - this.low) * this.range.value / 1000));
    this.range.addEventListener("change", () => { this.held = false; });
    this.range.addEventListener("pointerdown", () => { this.held = true; });
    this.range.addEventListener("pointerup", () => { this.held = false; });
    if (zero) this.range.addEventListener("dblclick", () => this.moved(0));
    this.field.addEventListener("input", () => { this.typing = true; });
    this.field.addEventListener("blur", () => { this.typing = false; this.show(this.value); });
    this.field.addEventListener("change", () => { this.typing = false; if (Number.isFinite(this.field.valueAsNumber)) this.moved(this.field.valueAsNumber / this.factor); });
  }

  span(low, high) {
    [this.low, this.high] = [low, high];
    this.ends[0].textContent = number(low * this.factor, 3);
    this.ends[1].textContent = number(high * this.factor, 3);
  }

  moved(value) {
    this.show(value);
    this.changed(value);
  }

  show(value) {
    this.value = value;
    const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.max((this.high - this.low) * this.factor, 1e-12))));
    this.field.value = String(+(value * this.factor).toFixed(Math.min(digits, 12)));
  }

  /** What the mechanism says; a slider in the hand stays with the hand. */
  set(value) {
    if (this.grows && (value < this.low || value > this.high)) {
      const more = 0.15 * (this.high - this.low);
      this.span(Math.min(this.low, value - more), Math.max(this.high, value + more));
    }
    if (!this.typing) this.show(value);
    if (!this.held) this.range.value = Math.round(1000 * (value - this.low) / (this.high - this.low || 1));
  }
}

export class Sliders {
  /** @type {any} */ all;
  /** @type {any} */ element;

  constructor(element) { Object.assign(this, { element, all: new Map() }); }

  build(list, changed) {
    this.all.clear();
    this.element.replaceChildren();
    for (const given of list) {
      const slider = new Slider(given, value => changed(given.name, value));
      this.all.set(given.name, slider);
      this.element.append(slider.element);
    }
  }

  set(name, value) { this.all.get(name)?.set(value); }

  stopped(names) {
    for (const [name, slider] of this.all) slider.element.classList.toggle("stopped", names.includes(name));
  }
}

/** The range a coordinate gets: its limits, else a turn or a length about where it is. */
export function rangeOf(c, value) {
  const limited = c.low != null && c.high != null;
  if (limited) return { low: c.low, high: c.high, limits: true };
  const about = c.unit === "rad" ? Math.PI : c.reach;
  const middle = c.unit === "rad" ? 0 : value;
  return { low: c.low ?? Math.min(middle - about, value), high: c.high ?? Math.max(middle + about, value), limits: false };
}
