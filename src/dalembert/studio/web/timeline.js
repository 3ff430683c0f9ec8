// Playing a run: the clock, the bar, the pictures between.
import { between } from "dalembert/poses.js";
import { $, color, drawing } from "./dom.js";

/** Poses of a run at a time. */
export function posesAt(run, t, out = new Float32Array(run.size)) {
  const { times, size } = run, n = times.length, step = (times[n - 1] - times[0]) / (n - 1) || 1;
  const place = Math.min(Math.max((t - times[0]) / step, 0), n - 1), k = Math.floor(place);
  return between(run.poses, k * size, Math.min(k + 1, n - 1) * size, place - k, out);
}

export class Timeline {
  /** @type {any} */ changed;

  /** changed(t, settled): the clock was moved, by playing or by hand. */
  constructor(changed) {
    Object.assign(this, { changed, run: null, t: 0, playing: false });
    this.bar = $("scrub");
    this.bar.addEventListener("input", () => { this.pause(); this.set(this.begin + this.duration * this.bar.value / 1000, false); });
    this.bar.addEventListener("change", () => this.set(this.t, true));
    $("play").onclick = () => this.toggle();
    new ResizeObserver(() => this.marks()).observe($("marks"));
  }

  get begin() { return this.run?.begin ?? 0; }
  get duration() { return this.run?.duration ?? 0; }

  setRun(run) {
    this.run = run;
    $("play").disabled = this.bar.disabled = !run;
    this.pause();
    if (run) this.set(Math.min(Math.max(this.t, this.begin), this.begin + this.duration), false, true);
    else $("clock").textContent = "–";
    this.marks();
  }

  set(t, settled, quiet = false) {
    this.t = t;
    this.bar.value = Math.round(1000 * (t - this.begin) / (this.duration || 1));
    $("clock").textContent = `${t.toFixed(2)} / ${(this.begin + this.duration).toFixed(2)} s`;
    this.bar.setAttribute("aria-valuetext", `${t.toFixed(2)} s`);
    if (!quiet) this.changed(t, settled);
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  play() {
    if (!this.run) return;
    if (this.t >= this.begin + this.duration - 1e-9) this.t = this.begin;
    this.playing = true;
    this.button();
    let last = performance.now();
    const tick = now => {
      if (!this.playing) return;
      const t = this.t + (now - last) / 1000 * Number($("speed").value);
      last = now;
      if (t >= this.begin + this.duration) { this.pause(); this.set(this.begin + this.duration, true); return; }
      this.set(t, false);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    const was = this.playing;
    this.playing = false;
    this.button();
    if (was) this.changed(this.t, true);
  }

  step(way) {
    if (!this.run) return;
    this.pause();
    const n = this.run.times.length - 1;
    const t = this.t + way * this.duration / n;
    this.set(Math.min(Math.max(t, this.begin), this.begin + this.duration), true);
  }

  button() {
    $("play").textContent = this.playing ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  marks() {
    const [g, w, h] = drawing($("marks"));
    for (const m of this.run?.marks ?? []) {
      g.fillStyle = m.kind === "passage" ? color("bad") : color("accent");
      const x = 8 + (w - 16) * (m.t - this.begin) / (this.duration || 1);
      g.beginPath(); g.moveTo(x - 4, h); g.lineTo(x + 4, h); g.lineTo(x, 0); g.fill();
    }
    $("marks").title = (this.run?.marks ?? []).map(m => m.text).join("\n");
  }

  /** What is near the clock: passages and events. */
  near(t) {
    return (this.run?.marks ?? []).filter(m => t >= m.t - 0.02 * this.duration && t <= m.end + 0.02 * this.duration);
  }
}
