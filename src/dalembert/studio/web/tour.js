// A tour of one minute: what a newcomer can do, one thing after another, beside the part it is about.
import { $, make } from "./dom.js";

const STEPS = [
  ["#stage", "Drag a body. The loops stay closed, and the rest of the mechanism follows."],
  ["#left", "Each slider is a coordinate, a parameter or an input. The number says what was reached."],
  ["#report", "How many freedoms there are, which constraints are redundant, how far the next singular position is."],
  ["#simulate", "Simulate from the position that is shown. Play it, move the bar, press on the plots."],
  ["#plots", "Curves over time. Turn the wheel to look closer, double-click to see all of it."],
  ["[data-show=forces]", "Forces in the joints as arrows, with their sizes."],
  ["#python", "All that was clicked, as a Python script to go on with."],
  ["#home", "Back to the start: draw a linkage of your own, or open a file."],
];

export class Tour {
  /** sheet(name): show a panel, where there is room for one only. */
  constructor(sheet) {
    this.sheet = sheet;
    this.box = make("div", { className: "tour", role: "dialog", hidden: true, tabIndex: -1 });
    this.box.setAttribute("aria-label", "Tour");
    this.text = make("p");
    this.count = make("small");
    this.next = make("button", { className: "primary", textContent: "Next", onclick: () => this.show(this.at + 1) });
    this.box.append(this.text, make("div", { className: "row" }, this.count, make("span", { className: "space" }), make("button", { textContent: "End", onclick: () => this.end() }), this.next));
    document.body.append(this.box);
    this.box.addEventListener("keydown", e => {
      if (e.key === "Escape") this.end();
      else if (e.key !== "Enter" && e.key !== " " && e.key !== "Tab") return;
      e.stopPropagation();
    });
    addEventListener("resize", () => { if (!this.box.hidden) this.place(); });
  }

  begin() { this.before = document.activeElement; this.show(0); }

  show(k) {
    this.light?.classList.remove("lit");
    if (k >= STEPS.length) return this.end();
    this.at = k;
    const [where, text] = STEPS[k];
    this.sheet({ "#left": "left", "#report": "right", "#plots": "plots" }[where] ?? null);
    this.light = document.querySelector(where);
    this.light.classList.add("lit");
    this.text.textContent = text;
    this.count.textContent = `${k + 1} of ${STEPS.length}`;
    this.next.textContent = k + 1 < STEPS.length ? "Next" : "Done";
    this.box.hidden = false;
    this.place();
    this.next.focus({ preventScroll: true });
  }

  /** Beside what it is about: below, above or upon it, always within the page. */
  place() {
    const r = this.light.getBoundingClientRect(), { offsetWidth: w, offsetHeight: h } = this.box;
    const room = (x, most) => Math.max(8, Math.min(x, most - 8));
    const top = r.bottom + h + 12 < innerHeight ? r.bottom + 8 : r.top - h - 8 > 0 ? r.top - h - 8 : r.top + 40;
    this.box.style.left = `${room(r.left + r.width / 2 - w / 2, innerWidth - w)}px`;
    this.box.style.top = `${room(top, innerHeight - h)}px`;
  }

  end() {
    this.light?.classList.remove("lit");
    this.box.hidden = true;
    (this.before?.isConnected ? this.before : $("home")).focus();
  }
}
