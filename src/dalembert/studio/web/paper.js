// A sketch as SVG: pins, members, dimensions, curves and dead points, on a paper that is shifted and zoomed.

const NS = "http://www.w3.org/2000/svg";

/** An SVG element; names of users go into text and data only. */
export function shape(tag, attributes = {}, text = null) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text != null) element.textContent = text;
  return element;
}

/** A length of 1, 2 or 5 times a power of ten, near to x from below. */
export function roundLength(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [5, 2, 1].find(k => k * power <= x * (1 + 1e-9));
}

/** Where metres are on the paper: x to the right, y up. */
export class Sight2 {
  /** @type {any} */ x;
  /** @type {any} */ y;
  /** @type {any} */ svg;

  constructor(svg) { Object.assign(this, { svg, x: 0, y: 0, scale: 400 }); }

  get size() { return [this.svg.clientWidth || 600, this.svg.clientHeight || 400]; }

  px([x, y]) {
    const [w, h] = this.size;
    return [w / 2 + (x - this.x) * this.scale, h / 2 - (y - this.y) * this.scale];
  }

  metres(px, py) {
    const [w, h] = this.size;
    return [this.x + (px - w / 2) / this.scale, this.y - (py - h / 2) / this.scale];
  }

  zoom(factor, px, py) {
    const before = this.metres(px, py);
    this.scale = Math.min(Math.max(this.scale * factor, 1e-2), 1e7);
    const after = this.metres(px, py);
    this.x += before[0] - after[0];
    this.y += before[1] - after[1];
  }

  fit(points) {
    if (!points.length) return Object.assign(this, { x: 0.3, y: 0.15, scale: Math.min(this.size[0] / 1.2, this.size[1] / 0.9) });
    const xs = points.map(p => p[0]), ys = points.map(p => p[1]), [w, h] = this.size;
    const a = Math.min(...xs), b = Math.max(...xs), c = Math.min(...ys), d = Math.max(...ys);
    const room = Math.max(b - a, d - c, 1e-5);
    return Object.assign(this, { x: (a + b) / 2, y: (c + d) / 2, scale: Math.min(0.7 * w / Math.max(b - a, 0.3 * room), 0.62 * h / Math.max(d - c, 0.3 * room)) });
  }

  get grid() { return roundLength(45 / this.scale); }
}

const line = (a, b, kind) => shape("line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: kind });
const path = (points, kind, closed = false) => shape("path", { d: `M${points.map(p => p.map(c => c.toFixed(1)).join(" ")).join("L")}${closed ? "Z" : ""}`, class: kind });

function gridLines(sight) {
  const [w, h] = sight.size, [x0, y1] = sight.metres(0, 0), [x1, y0] = sight.metres(w, h), step = sight.grid, out = [];
  for (let k = Math.ceil(x0 / step); k * step <= x1; k++) { const x = sight.px([k * step, 0])[0]; out.push(line([x, 0], [x, h], k % 5 ? "grid" : "grid strong")); }
  for (let k = Math.ceil(y0 / step); k * step <= y1; k++) { const y = sight.px([0, k * step])[1]; out.push(line([0, y], [w, y], k % 5 ? "grid" : "grid strong")); }
  return out;
}

/** The places at shares (along, across in pixels) of the way from a to b. */
function along(a, b, list) {
  const d = [b[0] - a[0], b[1] - a[1]], L = Math.hypot(...d) || 1;
  return list.map(([s, t]) => [a[0] + s * d[0] - t * d[1] / L, a[1] + s * d[1] + t * d[0] / L]);
}

function memberShapes(m, at) {
  const p = m.pins.map(at);
  switch (m.kind) {
    case "bar": return p.length > 2 ? [path(p, "plate", true)] : [line(p[0], p[1], "bar")];
    case "spring": return [path(along(p[0], p[1], [[0, 0], [0.2, 0], ...Array.from({ length: 8 }, (_, k) => [0.24 + 0.0743 * k, k % 2 ? -8 : 8]), [0.8, 0], [1, 0]]), "spring")];
    case "damper": return [path(along(p[0], p[1], [[0, 0], [0.5, 0]]), "spring"), path(along(p[0], p[1], [[0.5, -6], [0.5, 6]]), "spring"), path(along(p[0], p[1], [[0.62, -9], [0.4, -9], [0.4, 9], [0.62, 9]]), "spring"), path(along(p[0], p[1], [[0.62, 0], [1, 0]]), "spring")];
    case "cylinder": return [path(along(p[0], p[1], [[0, 0], [0.55, 0]]), "tube"), path(along(p[0], p[1], [[0.5, 0], [1, 0]]), "rod")];
    case "motor": { const [x, y] = p[0]; return [shape("path", { d: `M${x + 17} ${y}A17 17 0 1 0 ${x} ${y + 17}`, class: "motor" }), shape("path", { d: `M${x - 6} ${y + 17}l8 -5v10z`, class: "motor head" })]; }
    case "slider": {
      const turn = p.length > 1 ? Math.atan2(p[2][1] - p[1][1], p[2][0] - p[1][0]) : -m.values.angle, [x, y] = p[0];
      const rail = [-1, 1].map(s => [x + 60 * s * Math.cos(turn), y + 60 * s * Math.sin(turn)]);
      const block = shape("rect", { x: x - 16, y: y - 10, width: 32, height: 20, rx: 3, class: "block", transform: `rotate(${turn * 180 / Math.PI} ${x} ${y})` });
      return [...(p.length > 1 ? [] : [line(...rail, "rail")]), block];
    }
    default: return [];
  }
}

function groundSign([x, y]) {
  const out = shape("g", { class: "ground" });
  out.append(shape("path", { d: `M${x} ${y}l-12 19h24z` }), shape("path", { d: `M${x - 17} ${y + 19}h34M${x - 14} ${y + 26}l6 -7m3 7l6 -7m3 7l6 -7m3 7l6 -7`, class: "hatch" }));
  return out;
}

/** Everything of a sketch on the paper; chosen: names that are selected; units: {length(m) → text}. */
export function paint(sight, told, chosen, pending, units) {
  const { sketch } = told, at = n => sight.px(sketch.pins[n]), out = [...gridLines(sight)];
  for (const places of told.dead) {
    const there = n => sight.px(places[n] ?? sketch.pins[n]);
    for (const m of Object.values(sketch.members)) if (m.kind === "bar") out.push(path(m.pins.map(there), "dead", m.pins.length > 2));
  }
  if (told.wanted?.length > 1) out.push(path(told.wanted.map(p => sight.px(p)), "wanted"));
  for (const c of told.curves) out.push(path(c.places.map(p => sight.px(p)), "curve"));
  for (const n of sketch.ground) out.push(groundSign(at(n)));
  const order = { slider: 1, motor: 3 };
  for (const [name, m] of Object.entries(sketch.members).sort((a, b) => (order[a[1].kind] ?? 2) - (order[b[1].kind] ?? 2))) {
    const group = shape("g", { class: `member ${chosen.has(name) ? "on" : ""}` });
    group.dataset.name = name;
    group.append(...memberShapes(m, at));
    out.push(group);
  }
  for (const [a, b] of told.edges) {
    const [p, q] = [at(a), at(b)], L = Math.hypot(p[0] - q[0], p[1] - q[1]);
    if (L < 44) continue;
    const beside = 13 + 16 * Math.abs(p[1] - q[1]) / L, [place] = along(p, q, [[0.5, p[0] <= q[0] ? -beside : beside]]);
    const text = shape("text", { x: place[0], y: place[1], class: "dimension" }, units.length(Math.hypot(sketch.pins[a][0] - sketch.pins[b][0], sketch.pins[a][1] - sketch.pins[b][1])));
    text.dataset.edge = `${a} ${b}`;
    out.push(text);
  }
  for (const name of Object.keys(sketch.pins)) {
    const [x, y] = at(name), group = shape("g", { class: `pin ${chosen.has(name) ? "on" : ""} ${sketch.traced.includes(name) ? "traced" : ""}` });
    group.dataset.name = name;
    group.append(shape("circle", { cx: x, cy: y, r: 7 }), shape("text", { x: x + 10, y: y - 9 }, name));
    out.push(group);
  }
  if (pending.length) out.push(path(pending.map(p => sight.px(p)), "pending"), ...(pending.length > 20 ? [] : pending).map(p => { const [cx, cy] = sight.px(p); return shape("circle", { cx, cy, r: 4, class: "pending" }); }));
  sight.svg.replaceChildren(...out);
}

/** A small picture of a sketch. */
export function thumbnail(sketch) {
  const svg = shape("svg", { viewBox: "0 0 320 220", class: "paper thumbnail", "aria-hidden": "true" });
  const sight = new Sight2({ clientWidth: 320, clientHeight: 220, replaceChildren: (...all) => svg.replaceChildren(...all) });
  paint(sight.fit(Object.values(sketch.pins)), { sketch, edges: [], curves: [], dead: [] }, new Set(), [], null);
  return svg;
}
