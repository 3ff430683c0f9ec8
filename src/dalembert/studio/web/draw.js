// Sketching: pens, gestures on the paper, dimensions that are typed. The sketch itself is the session's.
import { $, make, number, toast } from "./dom.js";
import { Stream } from "./link.js";
import { paint, Sight2 } from "./paper.js";

const NEAR = 13;  // pixels: a press this near to a pin means it
const SETTLES = 600;  // ms after a sketch came, in which it is fitted into a paper that still changes its size
const TWO = ["bar", "spring", "damper", "cylinder"];
const HINTS = {
  select: "Drag a pin; click one or a member to choose it. Drag the paper to shift it.",
  pin: "Click where a pin is to be.", ground: "Click a pin to fix or free it, or the paper for a fixed pin.",
  bar: "Click its two ends.", plate: "Click its pins one after another; click the first again, or press Enter, to end.",
  slider: "Click its pin, then a point in its direction, or a bar to slide along.", motor: "Click a pin that joins two bodies.",
  spring: "Click its two ends.", damper: "Click its two ends.", cylinder: "Click its two ends.", trace: "Click a pin to show its path.",
  follow: "Draw the path that the chosen or traced pin is to take; the lengths follow. A click takes the path away.",
};

export class Draw {
  /** @type {any} */ studio;
  /** @type {any} */ shown;
  /** @type {any} */ chosen;
  /** @type {any} */ pointers;

  /** studio: { state, link, units }; shown(on): the paper came or went. */
  constructor(studio, shown) {
    Object.assign(this, { studio, shown, told: null, pen: "select", chosen: new Set(), pending: [], pointers: new Map(), drag: null, settling: 0, stroke: null });
    this.svg = $("paper");
    this.sight = new Sight2(this.svg);
    this.drags = new Stream(studio.link);
    for (const [event, f] of [["pointerdown", "down"], ["pointermove", "move"], ["pointerup", "up"], ["pointercancel", "up"]]) this.svg.addEventListener(event, e => this[f](e));
    this.svg.addEventListener("wheel", e => { e.preventDefault(); this.sight.zoom(Math.exp(-0.0015 * e.deltaY), ...this.local(e)); this.paint(); }, { passive: false });
    this.svg.addEventListener("contextmenu", e => { e.preventDefault(); this.take("select"); });
    $("pens").addEventListener("click", e => {
      const button = e.target.closest("button");
      if (button?.dataset.pen) this.take(button.dataset.pen);
      else if (button?.dataset.op) this.act(button.dataset.op);
    });
    addEventListener("keydown", e => this.key(e), true);
    this.take("select");
    new ResizeObserver(() => {
      if ($("draw").hidden || !this.told) return;
      if (performance.now() < this.settling) this.fit();  // panels beside it are just filled
      else this.paint();
    }).observe(this.svg);
  }

  get open() { return !$("draw").hidden; }

  send(op, more = {}) { this.studio.send({ do: "sketch", op, ...more }); }

  snap() { return { radius: NEAR / this.sight.scale, grid: this.sight.grid }; }

  show(on) {
    $("draw").hidden = $("sketch-section").hidden = !on;
    document.body.classList.toggle("drawing", on);
    $("draw-again").hidden = on || !this.told;
    this.shown(on);
    if (on) this.paint();
  }

  /** What the session tells of the sketch. */
  tell(told) {
    const first = !this.told;
    this.told = told;
    this.drags.answered();
    for (const name of this.chosen) if (!(name in told.sketch.pins) && !(name in told.sketch.members)) this.chosen.delete(name);
    if (first) { this.settling = Object.keys(told.sketch.pins).length ? performance.now() + SETTLES : 0; this.show(true); this.fit(); }
    if (!this.open) return;
    if (told.fitted) this.fit();
    else this.paint();
    if (!told.dragged) this.fields();
    const { pins } = told.sketch;
    $("pens").querySelector('[data-op="undo"]').disabled = !told.can_undo;
    $("pens").querySelector('[data-op="redo"]').disabled = !told.can_redo;
    $("facts").textContent = Object.keys(pins).length ? [`Mobility ${told.mobility}`, `${told.redundant} redundant`, told.why || (told.dead.length ? `${told.dead.length} dead point${told.dead.length > 1 ? "s" : ""} of ${told.driver}` : "")].filter(Boolean).join(" · ") : "Begin with a pin on the ground.";
    $("facts").classList.toggle("moves", !told.why);
  }

  close() { this.told = null; this.chosen.clear(); this.show(false); }

  ready(on) { $("move-it").disabled = !on; }

  fit() { this.sight.fit([...Object.values(this.told.sketch.pins), ...this.told.wanted]); this.paint(); }

  paint() {
    if (this.told) paint(this.sight, this.told, this.chosen, this.stroke?.length > 1 ? this.stroke : [...this.pending, ...(this.pending.length && this.at ? [this.at] : [])], this.studio.units);
  }

  take(pen) {
    this.pen = pen;
    this.pending = [];
    for (const b of $("pens").querySelectorAll("[data-pen]")) b.setAttribute("aria-pressed", b.dataset.pen === pen);
    this.svg.dataset.pen = pen;
    $("pen-hint").textContent = HINTS[pen];
    this.paint();
  }

  // --- fields -------------------------------------------------------------------------------------------------------

  fields() {
    const { sketch, edges } = this.told, { units } = this.studio, rows = [];
    const add = (name, value, unit, changed, data = {}) => {
      const field = make("input", { type: "number", step: "any", value: +value.toPrecision(6), data });
      field.setAttribute("aria-label", `${name}${unit ? `, ${unit}` : ""}`);
      field.addEventListener("change", () => { if (Number.isFinite(field.valueAsNumber)) changed(field.valueAsNumber); });
      rows.push(make("label", { className: "dim" }, make("span", { textContent: name }), field, make("small", { textContent: unit })));
    };
    for (const [a, b] of edges) {
      const [p, q] = [sketch.pins[a], sketch.pins[b]];
      add(`${a}${b}`, units.shown(Math.hypot(p[0] - q[0], p[1] - q[1]), "m"), units.name("m"), x => this.send("length", { a, b, to: units.taken(x, "m") }), { edge: `${a} ${b}` });
    }
    for (const [name, m] of Object.entries(sketch.members)) for (const [key, value] of Object.entries(m.values)) {
      if (key === "angle" && m.pins.length > 1) continue;
      const unit = { angle: "rad", stiffness: "N/m", damping: "N s/m" }[key];
      add(`${name} ${key}`, units.shown(value, unit), units.name(unit), x => this.send("values", { member: name, values: { [key]: units.taken(x, unit) } }));
    }
    $("dimensions").replaceChildren(...(rows.length ? rows : [make("p", { className: "hint", textContent: "Lengths are here when there is a bar." })]));
  }

  // --- gestures -----------------------------------------------------------------------------------------------------

  local(e) {
    const box = this.svg.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  }

  near(place) {
    const [px, py] = place;
    let best = null, least = NEAR;
    for (const [name, p] of Object.entries(this.told.sketch.pins)) {
      const [x, y] = this.sight.px(p), far = Math.hypot(x - px, y - py);
      if (far <= least) [best, least] = [name, far];
    }
    return best;
  }

  down(e) {
    if (!this.told || e.button > 0) return;
    const edge = e.target.dataset?.edge;
    if (edge && this.pen === "select") { e.preventDefault(); return this.studio.sheet("left"), [...$("dimensions").querySelectorAll("input")].find(f => f.dataset.edge === edge)?.select(); }
    this.svg.setPointerCapture(e.pointerId);
    const at = this.local(e);
    this.pointers.set(e.pointerId, at);
    if (this.pointers.size > 1) { this.drag = null; return; }
    this.stroke = this.pen === "follow" ? [this.sight.metres(...at)] : null;
    this.drag = { pin: this.pen === "select" ? this.near(at) : null, start: at, member: e.target.closest?.(".member")?.dataset.name, far: false };
  }

  move(e) {
    if (!this.told) return;
    const at = this.local(e), before = this.pointers.get(e.pointerId);
    this.at = this.sight.metres(...at);
    if (before && this.pointers.size === 2) this.pinch(e.pointerId, at);
    else if (before && this.drag) {
      this.drag.far ||= Math.hypot(at[0] - this.drag.start[0], at[1] - this.drag.start[1]) > 4;
      if (this.stroke) { if (this.drag.far) { this.stroke.push(this.at); this.paint(); } }
      else if (this.drag.far && this.drag.pin) this.drags.send({ do: "sketch", op: "drag", pin: this.drag.pin, to: this.at, ...this.snap() });
      else if (this.drag.far) { this.sight.x -= (at[0] - before[0]) / this.sight.scale; this.sight.y += (at[1] - before[1]) / this.sight.scale; this.paint(); }
    } else if (this.pending.length) this.paint();
    if (before) this.pointers.set(e.pointerId, at);
  }

  pinch(id, at) {
    const [[, other]] = [...this.pointers].filter(([k]) => k !== id), before = this.pointers.get(id), apart = p => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
    this.sight.zoom(apart(at) / apart(before), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
    this.paint();
  }

  up(e) {
    if (!this.pointers.delete(e.pointerId) || !this.drag) return;
    const { drag } = this, at = this.local(e);
    this.drag = null;
    if (this.stroke) return this.wish(drag.far && e.type === "pointerup" ? this.stroke : []);
    if (drag.far && drag.pin) { this.drags.waiting = null; this.send("drag", { pin: drag.pin, to: this.sight.metres(...at), ...this.snap(), end: true }); }
    else if (!drag.far && e.type === "pointerup") this.press(at, drag.member);
  }

  /** The path that a pin is to take: of the pin that is chosen, else of one whose path is shown. */
  wish(path) {
    this.stroke = null;
    const { sketch } = this.told, [chosen] = [...this.chosen].filter(n => n in sketch.pins), pin = chosen ?? sketch.traced[0];
    if (path.length && !pin) toast("Choose the pin that is to follow, or show its path; then draw.", "error");
    else this.studio.send({ do: "follow", pin: pin ?? "", path });
    this.paint();
  }

  /** A click with the pen at a place of the paper, perhaps on a member. */
  press(px, member) {
    const pin = this.near(px), at = this.sight.metres(...px), { sketch } = this.told, { pen } = this;
    if (pen === "select") {
      const name = pin ?? member;
      if (!name) this.chosen.clear();
      else if (!this.chosen.delete(name)) this.chosen.add(name);
    } else if (pen === "pin") this.send("pin", { at, ...this.snap() });
    else if (pen === "ground") this.send(pin && sketch.ground.includes(pin) ? "ground" : "pin", pin && sketch.ground.includes(pin) ? { pin, on: false } : { at, ground: true, ...this.snap() });
    else if (pen === "trace") { if (pin) this.send("trace", { pin, on: !sketch.traced.includes(pin) }); }
    else if (pen === "motor") this.send("member", { kind: "motor", pins: [pin ?? at], ...this.snap() });
    else if (pen === "slider") this.slider(at, pin, member);
    else {
      const first = this.pending.length && Math.hypot(...this.sight.px(this.pending[0]).map((c, k) => c - px[k])) <= NEAR;
      if (pen === "plate" && first && this.pending.length > 2) return this.end();
      this.pending.push(pin ? sketch.pins[pin] : at);
      if (TWO.includes(pen) && this.pending.length === 2) return this.end();
    }
    this.paint();
  }

  slider(at, pin, member) {
    if (!this.pending.length) { this.pending = [pin ? this.told.sketch.pins[pin] : at]; return; }
    const [from] = this.pending, bar = this.told.sketch.members[member];
    this.pending = [];
    if (bar?.kind === "bar") return this.send("member", { kind: "slider", pins: [from, ...bar.pins.slice(0, 2)], ...this.snap() });
    const step = Math.PI / 12, angle = Math.round(Math.atan2(at[1] - from[1], at[0] - from[0]) / step) * step;
    this.send("member", { kind: "slider", pins: [from], values: { angle }, ...this.snap() });
  }

  /** The member whose pins were pressed. */
  end() {
    const pins = this.pending;
    this.pending = [];
    if (pins.length > 1) this.send("member", { kind: this.pen === "plate" ? "bar" : this.pen, pins, ...this.snap() });
    this.paint();
  }

  act(op) {
    const names = [...this.chosen];
    if (op === "fit") return this.fit();
    if ((op === "delete" || op === "copy") && !names.length) return;
    if (op === "delete") { this.chosen.clear(); return this.send("delete", { names }); }
    if (op === "copy") {
      const { members, pins } = this.told.sketch, all = new Set(names.flatMap(n => n in pins ? [n] : members[n].pins)), by = 2 * this.sight.grid;
      return this.send("copy", { names: [...all], by: [by, -by] });
    }
    this.send(op);
  }

  key(e) {
    if (!this.open || e.target.closest?.("input, select, textarea, dialog")) return;
    const done = f => { e.preventDefault(); e.stopImmediatePropagation(); f(); };
    const key = e.key.toLowerCase();
    if (e.ctrlKey || e.metaKey) {
      if (key === "z") done(() => this.send(e.shiftKey ? "redo" : "undo"));
      else if (key === "y") done(() => this.send("redo"));
      else if (key === "d") done(() => this.act("copy"));
      return;
    }
    const pens = { v: "select", n: "pin", g: "ground", b: "bar", p: "plate", s: "slider", m: "motor", t: "trace", w: "follow" };
    const ARROWS = { arrowleft: [-1, 0], arrowright: [1, 0], arrowup: [0, 1], arrowdown: [0, -1] };
    if (key === "escape") done(() => this.take("select"));
    else if (key === "enter" && this.pending.length) done(() => this.end());
    else if (key === "delete" || key === "backspace") done(() => this.act("delete"));
    else if (key === "f") done(() => this.fit());
    else if (key in pens) done(() => this.take(pens[key]));
    else if (key in ARROWS && this.chosen.size === 1) {
      const [pin] = this.chosen, p = this.told.sketch.pins[pin];
      if (p) done(() => this.send("place", { pin, at: ARROWS[key].map((way, k) => p[k] + way * this.sight.grid) }));
    }
  }
}

/** Lengths and angles as the user wants to see them. */
export class Units {
  /** @type {any} */ angle;
  /** @type {any} */ metres;

  constructor() { Object.assign(this, { angle: "deg", metres: "m" }); }

  factor(unit) { return unit.startsWith("rad") && this.angle === "deg" ? 180 / Math.PI : unit === "m" || unit === "m/s" ? (this.metres === "mm" ? 1000 : 1) : 1; }

  name(unit) { return unit.startsWith("rad") && this.angle === "deg" ? unit.replace("rad", "°") : (unit === "m" || unit === "m/s") && this.metres === "mm" ? unit.replace("m", "mm") : unit; }

  shown(x, unit) { return x * this.factor(unit); }

  taken(x, unit) { return x / this.factor(unit); }

  length(x) { return number(this.shown(x, "m"), 4); }
}
