// Studies at a state: modes, poles, Bode plots, and maps of the workspace.
import { color, drawing, make, number } from "./dom.js";
import { ticks } from "./plots.js";

function select(names, label, value) {
  const element = make("select", {}, ...names.map(n => make("option", { value: n, textContent: n })));
  element.setAttribute("aria-label", label);
  if (value) element.value = value;
  return element;
}

function figure(label) {
  const canvas = make("canvas", { className: "figure", role: "img" });
  canvas.setAttribute("aria-label", label);
  return canvas;
}

export class Linear {
  /** @type {any} */ send;

  /** send(command). */
  constructor(element, send) {
    Object.assign(this, { element, send, model: null, chosen: -1, response: null });
    this.amplitude = make("input", { type: "range", min: 1, max: 60, value: 20 });
    this.amplitude.setAttribute("aria-label", "Amplitude of the mode");
    this.amplitude.oninput = () => this.chosen >= 0 && this.play(this.chosen);
    this.body = make("div");
    element.replaceChildren(
      make("div", { className: "row" }, make("button", { className: "primary", textContent: "Linearize here", id: "linearize", onclick: () => send({ do: "linearize" }) })),
      this.body,
    );
    this.body.append(make("p", { className: "hint", textContent: "Modes, poles and Bode plots of the mechanism at the state that is shown, in its independent coordinates." }));
    this.poles = figure("Poles");
    this.bode = figure("Bode plot");
    new ResizeObserver(() => this.draw()).observe(element);
  }

  clear() {
    this.model = this.response = null;
    this.chosen = -1;
    this.body.replaceChildren(make("p", { className: "hint", textContent: "Modes, poles and Bode plots of the mechanism at the state that is shown, in its independent coordinates." }));
  }

  play(k) {
    this.chosen = k;
    [...this.body.querySelectorAll("tr.pick")].forEach((row, j) => row.classList.toggle("on", j === k));
    this.send({ do: "mode", number: k, amplitude: this.amplitude.value / 100 });
  }

  show(model) {
    this.model = model;
    this.chosen = -1;
    this.response = null;
    const rows = model.modes.map((m, k) => {
      const row = make("tr", { className: "pick", tabIndex: 0, title: m.shape.map(([n, a, p]) => `${n}: ${number(a, 3)} ∠ ${number(p, 3)}°`).join("\n"), onclick: () => this.play(k) },
        make("td", { textContent: `${number(m.re, 3)}${m.im ? ` ± ${number(Math.abs(m.im), 3)}j` : ""}` }), make("td", { textContent: number(m.frequency, 3) }), make("td", { textContent: number(m.damping, 3) }), make("td", { textContent: m.shape[0]?.[0] ?? "" }));
      row.addEventListener("keydown", e => { if (e.key === "Enter") this.play(k); });
      return row;
    });
    this.input = select(model.inputs, "Input", model.inputs[0]);
    this.output = make("select", {}, ...Object.entries(model.outputs).map(([group, names]) => make("optgroup", { label: group }, ...names.map(n => make("option", { value: n, textContent: n })))));
    this.output.setAttribute("aria-label", "Output");
    const ask = () => model.inputs.length && this.send({ do: "bode", input: this.input.value, output: this.output.value });
    this.input.onchange = this.output.onchange = ask;
    this.body.replaceChildren(
      make("p", { className: "hint", textContent: `${model.states.length} states, ${model.stable ? "stable" : "not stable"}${model.rate > 1e-6 ? "; no equilibrium: it does not rest here" : ""}` }),
      make("div", { className: "block" }, make("table", {}, make("tr", {}, ...["λ, 1/s", "f, Hz", "damping", "largest"].map(t => make("th", { textContent: t }))), ...rows)),
      make("label", { className: "check" }, "Amplitude", this.amplitude),
      make("div", { className: "block" }, make("h2", { textContent: "Poles" }), this.poles),
      ...(model.inputs.length ? [make("div", { className: "block" }, make("h2", { textContent: "Bode" }), make("div", { className: "row", style: "margin-bottom:6px" }, this.input, "→", this.output), this.bode)] : []),
    );
    ask();
    this.draw();
  }

  showBode(header, arrays) {
    this.response = { omega: arrays.omega.data, gain: arrays.gain.data, phase: arrays.phase.data };
    this.draw();
  }

  draw() {
    if (!this.model || !this.poles.clientWidth) return;
    this.drawPoles();
    if (this.response) this.drawBode();
  }

  drawPoles() {
    const [g, w, h] = drawing(this.poles), poles = this.model.poles, size = 1.2 * Math.max(...poles.map(([a, b]) => Math.hypot(a, b)), 1e-3);
    const k = Math.min(w, h) / 2 / size, X = x => w / 2 + k * x, Y = y => h / 2 - k * y;
    g.fillStyle = color("bad") + "18";
    g.fillRect(w / 2, 0, w / 2, h);
    g.strokeStyle = color("line");
    g.beginPath(); g.moveTo(0, h / 2); g.lineTo(w, h / 2); g.moveTo(w / 2, 0); g.lineTo(w / 2, h); g.stroke();
    g.fillStyle = color("soft");
    g.fillText("Re", w - 18, h / 2 - 5);
    g.fillText("Im", w / 2 + 5, 12);
    g.fillText(`${number(size / 1.2, 3)} /s`, X(size / 1.2) - 30, h / 2 + 14);
    g.lineWidth = 2;
    g.strokeStyle = color("accent");
    for (const [a, b] of poles) {
      const x = X(a), y = Y(b);
      g.beginPath(); g.moveTo(x - 4, y - 4); g.lineTo(x + 4, y + 4); g.moveTo(x + 4, y - 4); g.lineTo(x - 4, y + 4); g.stroke();
    }
  }

  drawBode() {
    const [g, w, h] = drawing(this.bode), { omega, gain, phase } = this.response, left = 46, half = (h - 22) / 2;
    const lw = [...omega].map(Math.log10), a = lw[0], b = lw[lw.length - 1], X = v => left + (w - left - 8) * (v - a) / (b - a);
    const curve = (list, top, hue, name) => {
      const fine = list.filter(Number.isFinite);
      let low = Math.min(...fine), high = Math.max(...fine);
      if (high - low < 1e-6) [low, high] = [low - 1, high + 1];
      const room = 0.08 * (high - low), Y = v => top + (half - 6) * (high + room - v) / (high - low + 2 * room);
      g.fillStyle = color("soft");
      g.textAlign = "right";
      g.strokeStyle = color("line");
      for (const v of ticks(low, high, 3)) { g.beginPath(); g.moveTo(left, Y(v)); g.lineTo(w - 8, Y(v)); g.stroke(); g.fillText(number(v, 3), left - 5, Y(v) + 3); }
      g.fillText(name, w - 12, top + 12);
      g.strokeStyle = hue;
      g.lineWidth = 1.7;
      g.beginPath();
      list.forEach((v, k) => { if (k) g.lineTo(X(lw[k]), Y(v)); else g.moveTo(X(lw[k]), Y(v)); });
      g.stroke();
      g.lineWidth = 1;
    };
    curve([...gain].map(v => 20 * Math.log10(Math.max(v, 1e-30))), 2, color("accent"), "dB");
    curve([...phase], half + 4, color("warn"), "phase, °");
    g.fillStyle = color("soft");
    g.textAlign = "center";
    for (let p = Math.ceil(a); p <= b && X(p) < w - 50; p++) g.fillText(`1e${p}`, X(p), h - 5);
    g.textAlign = "right";
    g.fillText("rad/s", w - 8, h - 5);
  }
}

/** Colours of the map: dark where it is singular. */
function shade(x) {
  const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], at = Math.min(Math.max(x, 0), 1) * 4, k = Math.min(Math.floor(at), 3);
  return stops[k].map((v, i) => Math.round(v + (at - k) * (stops[k + 1][i] - v)));
}

export class Map2 {
  /** @type {any} */ send;

  constructor(element, send) {
    Object.assign(this, { element, send, map: null, model: null });
    this.canvas = figure("Map of the workspace; click a place to go there");
    this.controls = make("div");
    this.told = make("p", { className: "hint" });
    element.replaceChildren(this.controls, this.canvas, this.told);
    this.canvas.addEventListener("click", e => this.clicked(e));
    this.canvas.addEventListener("pointermove", e => { const p = this.place(e); this.canvas.title = p ? `${this.label(p)}` : ""; });
    new ResizeObserver(() => this.draw()).observe(element);
  }

  setModel(model, q, mobility) {
    this.model = model;
    this.map = null;
    this.canvas.hidden = true;
    this.told.textContent = "How far each place is from a singular position. Click a place to go there.";
    const names = model.coordinates.map(c => c.name), bodies = model.bodies.slice(1).flatMap(b => ["x", "y", "z"].map(a => `${b}.${a}`));
    const all = [...names, ...bodies], driven = model.coordinates.filter(c => c.actuated).map(c => c.name), first = [...new Set([...driven, ...names])].slice(0, Math.max(mobility, 1));
    const range = name => {
      const c = model.coordinates.find(x => x.name === name);
      if (!c) return [-model.length, model.length];
      const at = q()[c.index], half = c.unit === "rad" ? 1.5 : 0.5 * c.reach;
      return [Math.max(c.low ?? -Infinity, at - half), Math.min(c.high ?? Infinity, at + half)];
    };
    this.axes = [0, 1].map(k => {
      const name = select(k ? ["(none)", ...all] : all, `Axis ${k + 1}`, first[k] ?? (k ? "(none)" : all[0]));
      const [low, high] = [0, 1].map(j => make("input", { type: "number", step: "any" }));
      low.setAttribute("aria-label", `Axis ${k + 1} from`);
      high.setAttribute("aria-label", `Axis ${k + 1} to`);
      const fill = () => { const [a, b] = range(name.value); low.value = a.toFixed(3); high.value = b.toFixed(3); };
      name.onchange = fill;
      fill();
      return { name, low, high };
    });
    this.count = make("input", { type: "number", min: 5, max: 81, value: 31 });
    this.count.setAttribute("aria-label", "Values along an axis");
    this.controls.replaceChildren(
      make("h2", { textContent: "Map of the workspace" }),
      make("div", { className: "grid2" }, ...this.axes.flatMap(a => [a.name, a.low, a.high])),
      make("div", { className: "row", style: "margin-bottom:8px" }, make("button", { className: "primary", textContent: "Map it", id: "map-it", onclick: () => this.ask() }), make("label", { className: "inline" }, "values ", this.count)),
    );
  }

  ask() {
    const axes = this.axes.filter((a, k) => a.name.value !== "(none)" && (!k || a.name.value !== this.axes[0].name.value)).map(a => ({ name: a.name.value, low: a.low.valueAsNumber, high: a.high.valueAsNumber, count: Math.round(this.count.valueAsNumber) }));
    this.send({ do: "map", axes });
  }

  show(header, arrays) {
    const [n, m] = arrays.margin.shape;
    this.map = { ...header, n, m, values: Float32Array.from(arrays.margin.data) };
    this.map.top = Math.max(...this.map.values, 1e-9);
    this.canvas.hidden = false;
    this.told.textContent = `${(100 * header.share).toFixed(1)} % reached. Dark: near a singular position; yellow: ${number(this.map.top, 3)} from it, the least singular value. Click a place to go there.`;
    this.draw();
  }

  box() { return { left: 40, top: 6, w: this.canvas.clientWidth - 48, h: this.canvas.clientHeight - 40 }; }

  draw() {
    if (!this.map || !this.canvas.clientWidth) return;
    const [g, , h] = drawing(this.canvas), { n, m, values, axes, top } = this.map, b = this.box();
    for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) {
      const v = values[i * m + j];
      if (v < 0) continue;
      g.fillStyle = `rgb(${shade(Math.sqrt(v / top))})`;
      g.fillRect(b.left + b.w * i / n, b.top + b.h * (m - 1 - j) / m, b.w / n + 0.6, b.h / m + 0.6);
    }
    g.strokeStyle = color("line");
    g.strokeRect(b.left, b.top, b.w, b.h);
    g.fillStyle = color("soft");
    g.textAlign = "left"; g.fillText(number(axes[0].low, 3), b.left, h - 20);
    g.textAlign = "right"; g.fillText(number(axes[0].high, 3), b.left + b.w, h - 20);
    g.textAlign = "center"; g.fillText(axes[0].name, b.left + b.w / 2, h - 6);
    if (axes[1]) {
      g.textAlign = "right"; g.fillText(number(axes[1].high, 3), b.left - 4, b.top + 8); g.fillText(number(axes[1].low, 3), b.left - 4, b.top + b.h);
      g.save(); g.translate(11, b.top + b.h / 2); g.rotate(-Math.PI / 2); g.textAlign = "center"; g.fillText(axes[1].name, 0, 0); g.restore();
    }
    if (this.at) { g.strokeStyle = color("text"); g.lineWidth = 2; g.strokeRect(b.left + b.w * this.at[0] / n, b.top + b.h * (m - 1 - this.at[1]) / m, b.w / n, b.h / m); }
  }

  place(e) {
    if (!this.map) return null;
    const box = this.canvas.getBoundingClientRect(), b = this.box(), { n, m } = this.map;
    const i = Math.floor(n * (e.clientX - box.left - b.left) / b.w), j = m - 1 - Math.floor(m * (e.clientY - box.top - b.top) / b.h);
    return i >= 0 && i < n && j >= 0 && j < m ? [i, j] : null;
  }

  label(place) {
    const [i, j] = place;
    const { n, m, axes, values } = this.map, at = (a, k, c) => a.low + (a.high - a.low) * k / Math.max(c - 1, 1), v = values[i * m + j];
    return `${axes[0].name} ${number(at(axes[0], i, n))}${axes[1] ? `, ${axes[1].name} ${number(at(axes[1], j, m))}` : ""}: ${v < 0 ? "not reached" : number(v, 3)}`;
  }

  clicked(e) {
    const p = this.place(e);
    if (!p) return;
    this.at = p;
    this.draw();
    this.send({ do: "go", place: this.map.axes.length === 2 ? p : [p[0]] });
  }
}
