// The report beside the mechanism, and the forces in its joints.
import { $, make, number } from "./dom.js";

const card = (title, value, kind = "") => make("div", { className: `card ${kind}` }, make("b", { textContent: value }), make("span", { textContent: title }));

export class Report {
  /** highlight(names): bodies and joints to light up. */
  constructor(element, highlight) {
    this.element = element;
    this.highlight = highlight;
    this.bars = make("div", { className: "bars", role: "img" });
    this.least = make("div", { className: "hint" });
    this.closure = make("div", { className: "hint" });
    this.top = make("div", { className: "cards" });
    this.body = make("div");
    element.replaceChildren(
      this.top,
      make("div", { className: "block" }, make("h2", { textContent: "Singular values" }), this.bars, this.least),
      this.body, this.closure,
    );
  }

  set model(model) {
    this.rows = Object.fromEntries(model.rows.map(r => [r.name, r]));
    this.of = Object.fromEntries(model.rows.map(r => [r.of, r.bodies]));
  }

  bodies(row) {
    const known = this.rows[row];
    if (known) return [...known.bodies, known.of];
    const of = row.split(".")[0];
    return [...(this.of[of] ?? []), of];
  }

  hovered(element, names) {
    const on = () => { this.highlight(names()); element.classList.add("on"); };
    const off = () => { this.highlight([]); element.classList.remove("on"); };
    element.addEventListener("pointerenter", on);
    element.addEventListener("pointerleave", off);
    element.addEventListener("focus", on);
    element.addEventListener("blur", off);
    return element;
  }

  /** Singular values with every picture: rows in radians and lengths of the mechanism. */
  live(sigma, residual, near) {
    const top = Math.max(...sigma, 1e-300), least = sigma.length ? sigma[sigma.length - 1] : null;
    while (this.bars.children.length < sigma.length) this.bars.append(make("i"));
    while (this.bars.children.length > sigma.length) this.bars.lastChild.remove();
    sigma.forEach((s, k) => {
      const bar = this.bars.children[k];
      bar.style.height = `${100 * Math.max(0.012, s / top)}%`;
      bar.classList.toggle("weak", near && k === sigma.length - 1);
      bar.title = number(s);
    });
    this.bars.setAttribute("aria-label", `${sigma.length} singular values, the least ${number(least)}`);
    this.least.textContent = sigma.length ? `least ${number(least, 3)}${near ? ": near a singular position" : ""}` : "no constraints";
    this.bars.hidden = !sigma.length;
    this.closure.hidden = !sigma.length;
    this.closure.textContent = `loops closed to ${number(Math.max(residual, 1e-16), 2)}`;
    this.closure.style.color = residual > 1e-6 ? "var(--bad)" : "";
  }

  show(r) {
    if (r.failed) {
      this.top.replaceChildren();
      this.body.replaceChildren(make("p", { textContent: r.failed }));
      return;
    }
    const far = r.singular ? "here" : r.to_singularity ? number(r.to_singularity[0], 2) : "–";
    const of = r.to_singularity ? `to singularity (${r.to_singularity[1]})` : "to singularity";
    this.top.replaceChildren(
      card(r.singular ? `mobility, ${r.generic_mobility} nearby` : "mobility", r.mobility, r.singular ? "bad" : ""),
      card(`rank of ${r.rows} rows`, r.rank, r.singular ? "bad" : ""),
      card(of, r.to_singularity && r.to_singularity[0] > r.horizon ? `> ${number(r.horizon, 2)}` : far, r.singular || (r.to_singularity && r.to_singularity[0] < r.horizon / 15) ? "warn" : ""),
    );
    const blocks = [];
    if (r.redundant.length) {
      blocks.push(make("div", { className: "block" }, make("h2", { textContent: `Redundant rows (${r.redundant.length})` }), make("div", { className: "rows" }, ...r.redundant.map(x => {
        const made = Object.entries(x.made_of).slice(0, 4).map(([n, c]) => `${c < 0 ? "− " : "+ "}${number(Math.abs(c), 3)} ${n}`).join(" ").replace(/^\+ /, "");
        return this.hovered(make("button", { className: "item" }, make("b", { textContent: x.row }), make("small", { textContent: ` = ${made || "0"}${Object.keys(x.made_of).length > 4 ? " …" : ""}` })), () => [...new Set([x.row, ...Object.keys(x.made_of)].flatMap(n => this.bodies(n)))]);
      }))));
    }
    const names = Object.entries(r.determinate);
    if (names.length) {
      const free = names.filter(([, known]) => !known).length;
      blocks.push(make("div", { className: "block" }, make("h2", { textContent: free ? `Multipliers, ${free} not determinate` : "Multipliers, all determinate" }), make("div", { className: "chips" }, ...names.slice(0, 60).map(([name, known]) =>
        this.hovered(make("button", { textContent: known ? name : `${name} ?`, className: known ? "" : "free", title: known ? "determinate" : "depends on more than rigid bodies" }), () => this.bodies(name))))));
    }
    if (r.trivial.length) {
      blocks.push(make("div", { className: "block" }, make("h2", { textContent: `Hold by themselves (${r.trivial.length})` }), make("div", { className: "chips" }, ...r.trivial.slice(0, 40).map(name => this.hovered(make("button", { textContent: name }), () => this.bodies(name))))));
    }
    blocks.push(make("p", { className: "hint", textContent: `condition ${number(r.condition, 3)} · ${r.nv} velocities` }));
    this.body.replaceChildren(...blocks);
  }
}

const CERTAIN = "#d62728", UNSURE = "#e69f00", MOMENT = "#8e44ad", SMALL = 0.02;  // of the largest: smaller ones have no number

/** Arrows for the stage. */
export function arrowsOf(list, moments) {
  const out = [];
  const most = kind => Math.max(...list.map(a => Math.hypot(...a[kind])), 0), longest = { force: most("force"), moment: most("moment") };
  const said = (a, kind, unit) => {
    const size = Math.hypot(...a[kind]);
    return size > SMALL * longest[kind] ? `${number(size, 3)} ${unit}${a.determinate ? "" : " ?"}` : a.determinate ? "" : "?";
  };
  for (const a of list) {
    out.push({ from: a.at, vector: a.force, kind: "force", color: a.determinate ? CERTAIN : UNSURE, label: said(a, "force", "N") });
    if (moments) out.push({ from: a.at, vector: a.moment, kind: "moment", color: a.determinate ? MOMENT : UNSURE, label: said(a, "moment", "N m") });
  }
  return out;
}

export class Forces {
  /** @type {any} */ highlight;

  constructor(element, highlight, changed) {
    Object.assign(this, { element, highlight, list: [] });
    this.moments = make("input", { type: "checkbox", onchange: changed });
    this.table = make("div");
    this.why = make("p", { className: "hint" });
    element.replaceChildren(
      make("h2", { textContent: "Forces in joints" }),
      make("label", { className: "check" }, this.moments, "Moments as arrows too"),
      this.table, this.why,
    );
  }

  show(list, why) {
    this.list = list;
    this.why.textContent = why || (list.some(a => a.free.length) ? "Amber: not determinate; they depend on more than rigid bodies. Components after a question mark are free." : list.length ? "All are determinate." : "");
    if ($("forces").hidden) return;
    const most = Math.max(...list.flatMap(a => [...a.force, ...a.moment].map(Math.abs)), 0);
    const size = v => { const x = Math.hypot(...v); return x < 1e-12 * most ? 0 : x; };  // rounding of forces that balance
    this.table.replaceChildren(make("table", {}, make("tr", {}, ...["joint", "force, N", "moment, N m"].map(t => make("th", { textContent: t }))), ...list.map(a => {
      const row = make("tr", { className: "pick" }, make("td", { textContent: a.name + (a.loop ? " (loop)" : "") }, a.free.length ? make("small", { textContent: ` ? ${a.free.join(" ")}`, title: "not determinate" }) : null), ...[a.force, a.moment].map(v => make("td", { textContent: number(size(v)) + (a.determinate ? "" : " ?"), className: a.determinate ? "" : "unsure" })));
      row.addEventListener("pointerenter", () => this.highlight([a.name, a.body]));
      row.addEventListener("pointerleave", () => this.highlight([]));
      return row;
    })));
  }
}
