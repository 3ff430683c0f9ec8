// Curves over time, linked with the clock.
import { $, color, drawing, make, number, tabs } from "./dom.js";

const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#8c6d31", "#5e4fa2", "#c0272d", "#6b8e23"];
const DARK = ["#4aa8e8", "#ff8a45", "#3ecf9f", "#e79ac6", "#f0c040", "#7cc8f5", "#c9a55a", "#9d90e6", "#ff7b72", "#a6c95a"];
const GROUPS = ["positions", "velocities", "energy", "multipliers", "evidence"];
const LEFT = 58, BOTTOM = 20, TOP = 8, RIGHT = 10;

/** Round steps between low and high. */
export function ticks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find(k => k * power >= raw * 0.999), out = [];
  for (let x = Math.ceil(low / step) * step; x <= high + 1e-9 * step; x += step) out.push(Math.abs(x) < 1e-9 * step ? 0 : x);
  return out;
}

export class Plots {
  /** @type {any} */ colors;
  /** @type {any} */ t;
  /** @type {any} */ seek;
  /** @type {any} */ runs;
  /** @type {any} */ units;
  /** @type {any} */ hidden;

  /** units: of what is shown; seek(t): the time that was clicked. */
  constructor(units, seek) {
    Object.assign(this, { units, colors: {}, near: null, runs: {}, group: "positions", hidden: new Set(), shownGroups: "", t: null, hover: null, seek });
    this.canvas = $("plot");
    const at = e => {
      const box = this.canvas.getBoundingClientRect();
      return this.time(e.clientX - box.left);
    };
    this.canvas.addEventListener("pointerdown", e => { this.canvas.setPointerCapture(e.pointerId); this.pressed = true; this.seek(at(e), false); });
    this.canvas.addEventListener("pointermove", e => { this.hover = at(e); if (this.pressed) this.seek(this.hover, false); this.later(); });
    this.canvas.addEventListener("pointerup", e => { this.pressed = false; this.seek(at(e), true); });
    this.canvas.addEventListener("pointerleave", () => { this.hover = null; this.later(); });
    this.canvas.addEventListener("wheel", e => { e.preventDefault(); this.zoom(Math.exp(0.002 * e.deltaY), at(e)); }, { passive: false });
    this.canvas.addEventListener("dblclick", () => this.zoom(Infinity));
    this.canvas.addEventListener("keydown", e => {
      const factor = { "+": 0.7, "=": 0.7, "-": 1 / 0.7, "0": Infinity }[e.key];
      if (!factor) return;
      e.preventDefault();
      this.zoom(factor, this.t ?? undefined);
    });
    this.select = tabs($("groups"), tab => { this.group = tab.dataset.group; this.legend(); this.later(); });
    new ResizeObserver(() => this.later()).observe(this.canvas);
    this.groups();
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  setRun(slot, run) {
    if (run) this.runs[slot] = run;
    else delete this.runs[slot];
    if (!run || this.near?.[1] > this.whole[1]) this.near = null;
    this.groups();
    this.legend();
    this.later();
  }

  groups() {
    const known = GROUPS.filter(g => g !== "multipliers" || !this.runs.A || !this.runs.A.more || this.runs.A.series.some(s => s.group === g));
    if (this.shownGroups !== known.join()) {
      this.shownGroups = known.join();
      $("groups").replaceChildren(...known.map(g => {
        const tab = make("button", { role: "tab", textContent: g[0].toUpperCase() + g.slice(1), data: { group: g, panel: "shared" } });
        tab.setAttribute("aria-controls", "plot");
        tab.setAttribute("aria-selected", g === this.group);
        tab.tabIndex = g === this.group ? 0 : -1;
        return tab;
      }));
    }
  }

  series() {
    const out = [], palette = document.documentElement.dataset.theme === "dark" ? DARK : COLORS;
    for (const slot of ["B", "A"]) {
      const list = (this.runs[slot]?.series ?? []).filter(s => s.group === this.group);
      const used = new Map();
      list.forEach((s, k) => out.push({ ...s, slot, factor: this.units.factor(s.unit), unit: this.units.name(s.unit), color: this.color(s, used) ?? palette[k % palette.length] }));
    }
    return out;
  }

  /** The colour of the body that a joint moves; its second coordinate is lighter. */
  color(s, used) {
    const joint = Object.keys(this.colors).find(j => s.name === j || s.name.startsWith(`${j}.`));
    if (!joint || !["positions", "velocities"].includes(s.group)) return null;
    const share = [100, 62, 40][used.get(joint) ?? 0] ?? 25;
    used.set(joint, (used.get(joint) ?? 0) + 1);
    return share === 100 ? this.colors[joint] : `color-mix(in srgb, ${this.colors[joint]} ${share}%, ${document.documentElement.dataset.theme === "dark" ? "white" : "black"})`;
  }

  /** Look closer about a time, for a factor below 1, or see more; without end: all of it. */
  zoom(factor, about = 0.5 * (this.span[0] + this.span[1])) {
    if (!Object.keys(this.runs).length) return;
    const [a, b] = this.span, [low, high] = this.whole, wide = Math.max((b - a) * factor, 1e-6 * (high - low));
    const start = Math.min(Math.max(about - (about - a) * wide / (b - a || 1), low), Math.max(high - wide, low));
    this.near = wide < high - low ? [start, start + wide] : null;
    this.later();
  }

  legend() {
    const seen = new Map();
    for (const s of this.series()) if (!seen.has(s.name)) seen.set(s.name, s);
    $("legend").replaceChildren(...[...seen.values()].map((s, k) => {
      const key = `${this.group} ${s.name}`, first = k >= 8 && !this.hidden.has(`seen ${key}`);
      if (first) { this.hidden.add(`seen ${key}`); this.hidden.add(key); }
      const swatch = make("i");
      swatch.style.background = s.color;
      const button = make("button", { title: `${s.name} (${s.unit})`, onclick: () => {
        if (!this.hidden.delete(key)) this.hidden.add(key);
        button.setAttribute("aria-pressed", !this.hidden.has(key));
        this.later();
      } }, swatch, s.name);
      button.setAttribute("aria-pressed", !this.hidden.has(key));
      return button;
    }), ...(this.runs.B ? [make("span", { className: "hint", textContent: `dashed: ${this.runs.B.name}` })] : []));
  }

  get span() { return this.near ?? this.whole; }

  get whole() {
    const runs = Object.values(this.runs);
    return [Math.min(...runs.map(r => r.begin)), Math.max(...runs.map(r => r.begin + r.duration))];
  }

  time(x) {
    if (!Object.keys(this.runs).length) return null;
    const [a, b] = this.span;
    return Math.min(Math.max(a + (b - a) * (x - LEFT) / (this.canvas.clientWidth - LEFT - RIGHT), a), b);
  }

  draw() {
    const [g, w, h] = drawing(this.canvas), soft = color("soft"), line = color("line");
    const list = this.series().filter(s => !this.hidden.has(`${this.group} ${s.name}`));
    this.canvas.setAttribute("aria-label", list.length ? `Plot of ${this.group} over time: ${list.map(s => s.name).join(", ")}` : "Plot over time, empty");
    if (!Object.keys(this.runs).length) {
      g.fillStyle = soft;
      g.textAlign = "center";
      g.fillText("Simulate, and the curves are here.", w / 2, h / 2);
      return;
    }
    const log = this.group === "evidence", value = (y, s) => log ? Math.log10(Math.max(Math.abs(y), 1e-17)) : y * s.factor;
    const [a, b] = this.span;
    let low = Infinity, high = -Infinity;
    for (const s of list) s.y.forEach((y, k) => {
      const v = value(y, s);
      if (Number.isFinite(v) && (!this.near || (s.t[k] >= a && s.t[k] <= b))) { low = Math.min(low, v); high = Math.max(high, v); }
    });
    if (!(low <= high)) [low, high] = [0, 1];
    const most = Math.max(Math.abs(low), Math.abs(high));
    const room = Math.max(0.06 * (high - low), 1e-9 * most, log ? 0.3 : most < 1e-12 ? 1 : 0);  // all zero: from −1 to 1
    [low, high] = [low - room, high + room];
    const X = t => LEFT + (w - LEFT - RIGHT) * (t - a) / (b - a || 1), Y = v => TOP + (h - TOP - BOTTOM) * (high - v) / (high - low);
    g.strokeStyle = line;
    g.fillStyle = soft;
    g.lineWidth = 1;
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const v of ticks(low, high, (h - TOP - BOTTOM) / 26)) {
      if (log && v !== Math.round(v)) continue;
      g.beginPath(); g.moveTo(LEFT, Y(v)); g.lineTo(w - RIGHT, Y(v)); g.stroke();
      g.fillText(log ? `1e${v}` : number(v, 4), LEFT - 6, Y(v));
    }
    g.textAlign = "center";
    for (const t of ticks(a, b, (w - LEFT) / 90)) {
      g.beginPath(); g.moveTo(X(t), TOP); g.lineTo(X(t), h - BOTTOM); g.stroke();
      g.fillText(`${number(t, 4)} s`, X(t), h - BOTTOM / 2 + 2);
    }
    for (const m of this.runs.A?.marks ?? []) {
      g.fillStyle = m.kind === "passage" ? "#d5000030" : "#0072b240";
      const x = X(m.t);
      g.fillRect(x - 1.5, TOP, Math.max(3, X(m.end) - x), h - TOP - BOTTOM);
    }
    g.save();
    g.beginPath();
    g.rect(LEFT, TOP, w - LEFT - RIGHT, h - TOP - BOTTOM);
    g.clip();
    for (const s of list) {
      g.strokeStyle = s.color;
      g.globalAlpha = s.slot === "B" ? 0.6 : 1;
      g.lineWidth = s.slot === "B" ? 1.2 : 1.7;
      g.setLineDash(s.slot === "B" ? [5, 4] : []);
      g.beginPath();
      s.t.forEach((t, k) => { const x = X(t), y = Y(value(s.y[k], s)); if (k) g.lineTo(x, y); else g.moveTo(x, y); });
      g.stroke();
    }
    g.restore();
    g.setLineDash([]);
    const unit = [...new Set(list.map(s => s.unit).filter(Boolean))].slice(0, 2).join(", ");
    if (unit) { g.textAlign = "right"; g.fillStyle = soft; g.fillText(unit, LEFT - 14, h - BOTTOM / 2 + 2); }  // below its numbers
    for (const [t, strong] of [[this.t, true], [this.hover, false]]) {
      if (t == null) continue;
      g.strokeStyle = strong ? color("accent") : soft;
      g.lineWidth = strong ? 1.5 : 1;
      g.beginPath(); g.moveTo(X(t), TOP); g.lineTo(X(t), h - BOTTOM); g.stroke();
    }
    if (this.hover != null) this.readout(g, list, this.hover, X(this.hover), w);
  }

  readout(g, list, t, x, w) {
    const lines = [`t = ${number(t, 5)} s`, ...list.filter(s => s.slot === "A").slice(0, 8).map(s => `${s.name} ${number(at(s, t) * s.factor, 5)} ${s.unit}`)];
    const width = Math.max(...lines.map(l => g.measureText(l).width)) + 14, left = x + width + 14 < w ? x + 8 : x - width - 8;
    g.fillStyle = color("panel");
    g.globalAlpha = 0.92;
    g.fillRect(left, TOP + 2, width, 15 * lines.length + 6);
    g.globalAlpha = 1;
    g.strokeStyle = color("line");
    g.strokeRect(left, TOP + 2, width, 15 * lines.length + 6);
    g.textAlign = "left";
    lines.forEach((l, k) => {
      g.fillStyle = k ? list.filter(s => s.slot === "A")[k - 1].color : color("soft");
      g.fillText(l, left + 7, TOP + 13 + 15 * k);
    });
  }
}

/** The value of a curve at a time. */
export function at(s, t) {
  let a = 0, b = s.t.length - 1;
  while (b - a > 1) { const k = (a + b) >> 1; if (s.t[k] <= t) a = k; else b = k; }
  const share = s.t[b] > s.t[a] ? Math.min(Math.max((t - s.t[a]) / (s.t[b] - s.t[a]), 0), 1) : 0;
  return s.y[a] + share * (s.y[b] - s.y[a]);
}
