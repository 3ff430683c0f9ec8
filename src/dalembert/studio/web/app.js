// The studio: everything on the page, wired to the session.
import { pointOf, smooth } from "dalembert/poses.js";
import { createStage } from "dalembert/stage.js";
import { $, download, make, rarely, recall, remember, tabs, toast } from "./dom.js";
import { Draw, Units } from "./draw.js";
import { wireFiles } from "./files.js";
import { wireKeys } from "./keys.js";
import { Link, Stream } from "./link.js";
import { Plots } from "./plots.js";
import { arrowsOf, Forces, Report } from "./report.js";
import { rangeOf, Sliders } from "./sliders.js";
import { showStart } from "./start.js";
import { Linear, Map2 } from "./studies.js";
import { posesAt, Timeline } from "./timeline.js";
import { Tour } from "./tour.js";

const GHOST = 0.38;
const state = { model: null, q: [], poses: null, runs: {}, mode: null, view: "bench", drag: null, traces: [], arrows: [], opening: [], live: false, show: { forces: false }, frames: 0 };
let stage = null;

// --- parts ------------------------------------------------------------------------------------------------------------

const highlight = names => stage?.highlight(names);
const report = new Report($("report"), highlight);
const forces = new Forces($("forces"), highlight, () => drawArrows());
const send = (command, data) => link.send(command, data);
const linear = new Linear($("linear"), command => { state.modeAsked = command.do === "mode"; send(command); });
const map = new Map2($("map"), send);
const coordinates = new Sliders($("coordinates")), parameters = new Sliders($("parameters")), inputs = new Sliders($("inputs"));
const units = new Units();
units.angle = recall("angle") ?? "deg";
units.metres = recall("metres") ?? "m";
const plots = new Plots(units, (t, settled) => { if (t != null) { timeline.pause(); timeline.set(Math.min(t, timeline.begin + timeline.duration), settled); } });
const timeline = new Timeline(moved);
tabs(document.querySelector("#right .tabs"), tab => {
  if (tab.id !== "tab-linear") endMode();
  if (tab.id === "tab-forces") forces.show(state.arrows, "");
  linear.draw();
  map.draw();
});

const link = new Link({
  start: offered => { showStart(offered, send, () => $("file").click(), () => { state.touring = true; send({ do: "zoo", name: "four_bar" }); }, state.model || draw.told ? () => { $("start").hidden = true; } : null); $("start").hidden = false; },
  sketch: told => { $("start").hidden = true; $("save-sketch").hidden = false; draw.tell(told); if (!told.dragged) drawTraces(); },
  empty: () => { draw.ready(false); timeline.pause(); },
  model: setModel,
  shapes: header => {
    const plane = state.model.scene.planar;
    state.model.scene = header.scene;
    if (stage && plane === header.scene.planar) stage.setScene(sceneNow());
    else build(true);
  },
  pose: posed,
  values: header => {
    for (const [name, x] of Object.entries(header.parameters)) parameters.set(name, x);
    for (const [name, x] of Object.entries(header.inputs)) {
      const slider = inputs.all.get(name);
      if (slider && Math.abs(x) > slider.high) slider.span(-1.5 * Math.abs(x), 1.5 * Math.abs(x));
      inputs.set(name, x);
    }
  },
  report: header => { state.opening = header.opening ?? []; report.show(header); drawArrows(); },
  forces: header => { state.arrows = header.arrows; forces.show(header.arrows, header.why); drawArrows(); },
  run: ranRun,
  more: moreOfRun,
  gone: header => { delete state.runs[header.slot]; $("keep").setAttribute("aria-pressed", false); plots.setRun(header.slot, null); compare(); },
  linear: header => linear.show(header),
  mode: showMode,
  bode: (header, arrays) => linear.showBode(header, arrays),
  map: (header, arrays) => map.show(header, arrays),
  live: header => { state.live = header.on; $("live").setAttribute("aria-pressed", header.on); if (header.on) { timeline.pause(); endMode(); state.view = "bench"; stage.camera.follow(state.model.loose); } },
  note: header => toast(header.text),
  error: header => { toast(header.text, "error"); slides.answered(); },
  status: header => status(header.lane, header.text),
  progress: header => { state.part = header.part; showStatus(); },
  file: (header, arrays, rest) => download(header.name, rest),
  script: header => { document.querySelector("#code pre").textContent = header.text; if (!$("code").open) $("code").showModal(); },
}, open => {
  $("lost").hidden = open;
  if (!open) { state.busy = {}; showStatus(); }
  slides.busy = seeks.busy = false;
});
const slides = new Stream(link), seeks = new Stream(link);
const draw = new Draw({ link, send, units, sheet: name => sheet(name, true) }, () => { timeline.pause(); stage?.resize(); });

// --- panels of a narrow page ------------------------------------------------------------------------------------------

/** Show one panel below the mechanism where there is room for one; the same again takes it away, null leaves it. */
function sheet(name, always = false) {
  if (name === null) return;
  const on = always || document.body.dataset.sheet !== name ? name : "";
  document.body.dataset.sheet = on;
  for (const b of $("sheets").children) b.setAttribute("aria-pressed", b.dataset.sheet === on);
  plots.later();
}
$("sheets").addEventListener("click", e => { const b = e.target.closest("button"); if (b) sheet(b.dataset.sheet); });
sheet(matchMedia("(max-height: 460px)").matches ? "" : "left");
const tour = new Tour(name => { if (name !== null) sheet(name, true); });

// --- status -----------------------------------------------------------------------------------------------------------

state.busy = {};
function status(lane, text) {
  state.busy[lane] = text;
  if (!text) state.part = null;
  clearTimeout(state.statusTimer);
  if (Object.values(state.busy).some(Boolean)) state.statusTimer = setTimeout(showStatus, 120);
  else showStatus();
}

function showStatus() {
  const texts = Object.values(state.busy).filter(Boolean), part = state.part;
  $("status").classList.toggle("busy", texts.length > 0);
  $("stop").hidden = !texts.length;
  $("status").textContent = texts.length ? texts.join(", ") + (part > 0.005 && part < 1 ? ` ${Math.round(100 * part)} %` : "…") : "";
}

// --- the model --------------------------------------------------------------------------------------------------------

function setModel(model) {
  $("start").hidden = true;
  if (!model.sketched) { draw.close(); $("save-sketch").hidden = true; }
  draw.ready(true);
  $("hint").hidden = recall("dragged") === "yes";
  state.model = model;
  Object.assign(state, { runs: {}, mode: null, view: "bench", traces: [], arrows: [], opening: [], poses: null, ghost: null, fresh: true });
  document.title = `${model.name} – dalembert studio`;
  $("duration").value = model.time;
  $("title").textContent = model.name;
  report.model = model;
  plots.colors = colorsOf(model.scene);
  linear.clear();
  timeline.setRun(null);
  for (const slot of ["A", "B"]) plots.setRun(slot, null);
  $("keep").disabled = true;
  $("keep").setAttribute("aria-pressed", false);
  build(false);
}

/** {joint: colour of the body that it moves}: curves have the colours of bodies. */
function colorsOf(scene) {
  return Object.fromEntries(scene.joints.filter(j => j.b.body).map(j => [j.name, scene.bodies[j.b.body].color]));
}

/** The scene, with a pale second mechanism where two runs are compared. */
function sceneNow() {
  const scene = structuredClone(state.model.scene);
  state.ghosts = !!(state.runs.B || state.ghost);
  if (!state.ghosts) return scene;
  const of = state.runs.B?.name ?? "the other branch";
  const pale = scene.bodies.map((body, k) => ({ ...body, name: `${body.name} of ${of}`, shapes: k ? body.shapes.map(s => ({ ...s, color: "#8a94a0", opacity: GHOST })) : [] }));
  return { ...scene, bodies: [...scene.bodies, ...pale] };
}

function compare() {
  stage.setScene(sceneNow());
  if (state.poses) pose(state.poses);
  drawTraces();
}

function build(again) {
  const look = again && stage?.camera.moved ? stage.camera.get() : null, scene = sceneNow();
  if (stage) {
    stage.renderer.forceContextLoss();  // browsers keep a few only
    stage.dispose();
  }
  stage = createStage($("stage"), scene, { theme: document.documentElement.dataset.theme });
  setQuality(state.quality);
  Object.assign(window.studio, { stage });
  for (const [name, on] of Object.entries(state.show)) if (name !== "forces") stage.show({ [name]: on });
  stage.onDrag({ start: grabbed, move: dragged, end: released, hover: hovered });
  stage.on("frame", () => { state.frames++; });
  if (state.poses) pose(state.poses);
  if (look) stage.camera.set(look);
  else if (state.poses) stage.camera.fit();
  drawTraces();
  drawArrows();
}

// --- quality: what the graphics can do in time ------------------------------------------------------------------------

const LEVELS = { high: [true, 1], middle: [false, 1], low: [false, 0.5] }, SLOW = 40;  // shadows, pixels; ms of a picture
const asked = new URLSearchParams(location.search).get("quality");
state.quality = asked in LEVELS ? asked : "high";

function setQuality(level) {
  const [shadows, pixels] = LEVELS[state.quality = level];
  if (level === "high" && !state.tuned) return;
  state.tuned = true;
  stage.show({ shadows });
  stage.renderer.setPixelRatio(pixels * Math.min(window.devicePixelRatio || 1, 2));
  stage.resize();
}

/** Without shadows, then with fewer pixels, where a picture takes too long. */
function tune() {
  if (!stage || asked in LEVELS || state.quality === "low") return;
  const g = stage.renderer.getContext(), pixel = new Uint8Array(4);
  const drawn = () => { const t = performance.now(); stage.render(); g.readPixels(0, 0, 1, 1, g.RGBA, g.UNSIGNED_BYTE, pixel); return performance.now() - t; };
  drawn();
  if (Math.min(drawn(), drawn()) > SLOW) { setQuality(state.quality === "high" ? "middle" : "low"); tune(); }
}

/** Put bodies where they are; with two runs the other one beside them. */
function pose(poses) {
  state.poses = poses;
  if (!stage) return;
  if (!state.ghosts) return stage.setPoses(poses);
  const both = new Float32Array(2 * poses.length);
  both.set(poses);
  const t = state.view === "run" ? timeline.t : timeline.begin;
  both.set(state.runs.B ? posesAt(state.runs.B, t) : state.ghost ?? poses, poses.length);
  stage.setPoses(both);
}

/** The branch that was left, pale, until something moves. */
function haunt(poses) {
  state.ghost = poses;
  if (stage && !state.runs.B) stage.setScene(sceneNow());
}

function posed(header, arrays) {
  const mine = timeline.playing || (state.view === "run" && header.source === "seek");
  state.q = header.q;
  state.last = header;
  if (header.source !== "seek" && header.source !== "live" && state.view === "run" && !timeline.playing) state.view = "bench";
  if (!["seek", "live"].includes(header.source)) { timeline.pause(); if (header.source !== "open") endMode(); state.view = "bench"; }
  if (header.source === "live") state.view = "bench";
  if (state.ghost || header.source === "branch") haunt(header.source === "branch" ? state.poses?.slice() ?? null : null);
  if (!mine && !state.mode) pose(arrays.poses.data);
  if (header.source === "branch" && stage && !stage.camera.moved) stage.camera.fit();
  if (state.fresh && state.touring) setTimeout(() => tour.begin(), 300);
  if (state.fresh) { state.fresh = state.touring = false; buildSliders(); stage.camera.fit(); setTimeout(tune, 400); }
  panels(header);
  note(header.note || [
    header.limits.length ? `at the limit of ${header.limits.join(", ")}` : "",
    header.touching.length ? `touches ${header.touching.join(", ")}` : "",
    header.through.length ? `goes through ${header.through.join(", ")}` : "",
  ].filter(Boolean).join(" · "));
  if (header.source === "live") $("clock").textContent = `${header.t.toFixed(2)} s · ${header.speed.toFixed(2)}×`;
  const again = header.more && (state.drag ?? state.sliding);
  if (header.source === "drag" || header.source === "slide") {
    if (again && !slides.waiting) slides.waiting = again;
    slides.answered();
  }
  if (header.source === "seek") seeks.answered();
  if (state.drag) drawTraces();
}

/** Sliders and bars beside the picture: a browser paints them slower than the picture. */
const panels = rarely(header => {
  for (const c of state.model.coordinates) coordinates.set(c.name, header.q[c.index]);
  coordinates.stopped(header.limits);
  report.live(header.sigma, header.residual, header.near);
}, 50);

function note(text) {
  const near = state.view === "run" ? timeline.near(timeline.t).map(m => m.text) : [], more = near.length - 3;
  const all = [text, ...near.slice(0, 3), more > 0 ? `and ${more} more` : ""].filter(Boolean);
  $("note").hidden = !all.length;
  if (all.length) $("note").textContent = all.join(" · ");
}

function buildSliders() {
  const { model, q } = state;
  coordinates.build(model.coordinates.map(c => ({ name: c.name, unit: c.unit, units, value: q[c.index], drive: c.actuated, ...rangeOf(c, q[c.index]) })), (name, to) => {
    state.sliding = { do: "slide", name, to };
    slides.send(state.sliding);
  });
  if (!model.coordinates.length) $("coordinates").append(make("p", { className: "hint", textContent: "No coordinate here moves by itself: drag a body." }));
  $("parameters-section").hidden = !model.parameters.length;
  parameters.build(model.parameters.map(p => {
    const size = Math.abs(p.value) || 1;
    return { name: p.name, value: p.value, low: p.value < 0 ? -3 * size : p.value ? 0.2 * size : -size, high: p.value < 0 ? -0.2 * size : p.value ? 3 * size : size };
  }), (name, value) => { clearTimeout(state.parameterTimer); state.parameterTimer = setTimeout(() => send({ do: "parameters", values: { [name]: value } }), 15); });
  $("inputs-section").hidden = !model.inputs.length;
  inputs.build(model.inputs.map(name => ({ name, value: 0, low: -10, high: 10, zero: true })), (name, value) => send({ do: "inputs", values: { [name]: value } }));
  $("keys").textContent = model.inputs.length ? `Live: ${model.inputs.slice(0, 4).map((n, k) => `${["← →", "↓ ↑", "A D", "S W"][k]} ${n}`).join(", ")}; or a gamepad.` : "";
  map.setModel(model, () => state.q, model.nv - state.last.rank);
}

// --- dragging ---------------------------------------------------------------------------------------------------------

function grabbed(hit) {
  if (!state.model.bodies.slice(1).includes(hit.body)) return false;
  $("hint").hidden = true;
  remember("dragged", "yes");
  timeline.pause();
  endMode();
  state.view = "bench";
  state.drag = null;
  state.grab = { body: hit.body, point: hit.pointInBody };
  stage.camera.follow(null);
  send({ do: "grab", body: hit.body });
  $("hit").style.display = "none";
  return true;
}

function dragged({ body, pointInBody, target }) {
  state.drag = { do: "drag", body, point: Array.from(pointInBody), to: Array.from(target) };
  slides.send(state.drag);
}

function released() {
  state.drag = state.grab = null;
  state.sliding = null;
  send({ do: "release" });
  highlight([]);
  drawTraces();
}

function hovered(hit, event) {
  const box = $("hit"), name = hit && (hit.joint || hit.body);
  box.style.display = name && hit.body !== "ground" ? "block" : "none";
  if (!hit) return;
  const corner = $("centre").getBoundingClientRect();
  box.textContent = hit.joint ? `${hit.body} · joint ${hit.joint}` : hit.body;
  box.style.left = `${event.clientX - corner.left + 14}px`;
  box.style.top = `${event.clientY - corner.top + 10}px`;
}

function drawTraces() {
  if (!stage || !state.model) return;
  const out = [];
  for (const trace of state.traces) {
    for (const [slot, hue] of [["B", "#8a94a0"], ["A", trace.color]]) {
      const run = state.runs[slot];
      if (!run) continue;
      const points = [];
      for (let k = 0; k < run.times.length; k++) points.push(...pointOf(run.poses, trace.index, trace.point, k * run.size));
      out.push({ points: smooth(points), color: hue, name: trace.name });
    }
  }
  if (state.model.sketched && draw.told) for (const c of draw.told.curves) out.push({ points: c.places.flatMap(([x, y]) => [x, y, 0]), color: "#9a5fc0", name: c.pin });
  if (state.drag && state.poses) {
    const from = pointOf(state.poses, state.model.bodies.indexOf(state.drag.body), state.drag.point), to = state.drag.to;
    out.push({ points: [...from, ...to], color: "#e08700", name: "pull" });
  }
  if (out.length || state.traced) stage.setTraces(out);
  state.traced = out.length > 0;
}

$("coordinates").addEventListener("change", () => setTimeout(() => send({ do: "release" }), 300));  // after the last slide
$("stage").addEventListener("pointerleave", () => { $("hit").style.display = "none"; });
$("stage").addEventListener("dblclick", e => {
  const hit = stage.pick(e.clientX, e.clientY);
  if (!hit || !state.model.bodies.slice(1).includes(hit.body)) return;
  const same = state.traces.findIndex(t => t.name === hit.body);
  if (same >= 0) state.traces.splice(same, 1);
  else state.traces.push({ name: hit.body, index: state.model.bodies.indexOf(hit.body), point: hit.pointInBody, color: ["#7a3e9d", "#1b7837", "#b2182b", "#2166ac"][state.traces.length % 4] });
  if (!state.runs.A) toast("The path of this point is drawn when there is a run.");
  drawTraces();
});

function drawArrows() {
  if (!stage) return;
  const on = state.show.forces && state.view !== "mode";
  const opening = state.view === "mode" ? [] : state.opening.map(a => ({ from: a.at, vector: a.vector, kind: "velocity" }));
  if (!on && !opening.length && !stage.arrows.children.length) return;
  stage.setArrows([...(on ? arrowsOf(state.arrows, forces.moments.checked) : []), ...opening]);
  stage.arrows.traverse(x => { if (x.material) { x.material.depthTest = false; x.renderOrder = 6; } });  // seen through bodies
}

// --- runs -------------------------------------------------------------------------------------------------------------

function seriesOf(header, arrays) {
  const t = arrays.t.data, [, count] = arrays.values.shape;
  return header.channels.map(([group, name, unit], k) => ({ group, name, unit, t, y: arrays.values.data.subarray(k * count, (k + 1) * count) }));
}

function ranRun(header, arrays) {
  const { slot } = header, size = 7 * arrays.poses.shape[1];
  const run = state.runs[slot] = { ...header, times: arrays.times.data, poses: arrays.poses.data, size, series: seriesOf(header, arrays), marks: [] };
  plots.setRun(slot, run);
  if (slot === "B") {
    $("keep").setAttribute("aria-pressed", true);
    compare();
    return;
  }
  $("keep").disabled = false;
  const shown = state.last?.source === "seek";  // the bench shows a time of this run: the page was loaded again
  const again = timeline.playing || state.view === "run" || shown;
  if (shown && !timeline.playing) timeline.t = state.last.t;
  else if (!again) timeline.t = run.begin;
  const playing = timeline.playing;
  timeline.setRun(run);
  if (!header.success) toast(`The run: ${header.message}`, "error");
  if (again) moved(timeline.t, false);
  else fitRun(run);
  if (playing || (state.asked && !matchMedia("(prefers-reduced-motion: reduce)").matches)) timeline.play();
  state.asked = false;
  drawTraces();
}

/** Bring the whole motion into view, or follow what goes far; a view that the user chose stays. */
function fitRun(run) {
  stage.camera.follow(run.follow);
  if (stage.camera.moved) return;
  const some = Math.min(run.times.length, 24), poses = Array.from({ length: some }, (_, k) => posesAt(run, run.begin + run.duration * k / Math.max(some - 1, 1)));
  stage.camera.fit(stage.extent(poses));
}

function moreOfRun(header, arrays) {
  const run = state.runs[header.slot];
  if (!run || run.number !== header.number) return;
  Object.assign(run, { marks: header.marks, warnings: header.warnings, more: true });
  run.series = [...run.series.filter(s => !["multipliers", "evidence"].includes(s.group)), ...seriesOf(header, arrays)];
  plots.setRun(header.slot, run);
  if (header.slot === "A") { timeline.marks(); warn(header.warnings); }
}

function warn(texts) {
  if (texts.length) toast(texts.length > 1 ? `${texts[0]} (and ${texts.length - 1} more warnings)` : texts[0]);
}

function moved(t, settled) {
  const run = state.runs.A;
  if (!run) return;
  if (state.mode) endMode();
  state.view = "run";
  state.buffer = posesAt(run, t, state.buffer?.length === run.size ? state.buffer : undefined);
  pose(state.buffer);
  plots.t = t;
  plots.later();
  const now = performance.now();
  if (settled || now - (state.sought ?? 0) > 200) { state.sought = now; seeks.send({ do: "seek", slot: "A", t }); }
}

// --- modes ------------------------------------------------------------------------------------------------------------

function showMode(header, arrays) {
  if (!state.modeAsked) return;
  timeline.pause();
  const [count, bodies] = arrays.poses.shape;
  state.mode = { poses: arrays.poses.data, count, size: 7 * bodies, rate: header.real ? 0.5 : Math.min(Math.max(header.frequency, 0.3), 1.5) };
  state.view = "mode";
  drawArrows();
  const began = performance.now(), mode = state.mode;
  const run = { times: Float32Array.from({ length: count + 1 }, (_, k) => k / count), size: mode.size, poses: new Float32Array((count + 1) * mode.size) };
  run.poses.set(mode.poses);
  run.poses.set(mode.poses.subarray(0, mode.size), count * mode.size);
  const tick = now => {
    if (state.mode !== mode) return;
    pose(posesAt(run, ((now - began) / 1000 * mode.rate) % 1));
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

function endMode() {
  if (!state.mode) return;
  state.mode = null;
  state.modeAsked = false;
  linear.chosen = -1;
  state.view = "bench";
  send({ do: "look" });
}

// --- buttons ----------------------------------------------------------------------------------------------------------

const act = {
  simulate: () => { endMode(); state.asked = true; state.view = state.view === "mode" ? "bench" : state.view; send({ do: "simulate", time: $("duration").valueAsNumber || 5 }); },
  live: () => send({ do: state.live ? "pause" : "live" }),
  reset: () => send({ do: "reset" }),
  branch: () => send({ do: "branch" }),
  rest: () => send({ do: "equilibrium" }),
  hold: () => send({ do: "hold" }),
  zero: () => send({ do: "inputs", values: Object.fromEntries((state.model?.inputs ?? []).map(n => [n, 0])) }),
  keep: () => send({ do: state.runs.B ? "forget" : "keep" }),
  python: () => send({ do: "script" }),
  help: () => $("keyboard").showModal(),
  tour: () => { $("keyboard").close(); if (state.model) tour.begin(); },
  theme: () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
  open: () => $("file").click(),
  home: () => send({ do: "start" }),
  degrees: () => setUnits("angle", units.angle === "deg" ? "rad" : "deg"),
  millimetres: () => setUnits("metres", units.metres === "mm" ? "m" : "mm"),
  "draw-again": () => draw.show(true),
  "move-it": () => { draw.show(false); stage?.camera.fit(); },
  stop: () => { state.recorder?.cancel(); send({ do: "stop" }); },
};
for (const [id, f] of Object.entries(act)) $(id).onclick = f;
$("limits").onchange = () => send({ do: "limits", on: $("limits").checked });
$("code-close").onclick = () => $("code").close();
$("keyboard-close").onclick = () => $("keyboard").close();
$("copy").onclick = async () => { await navigator.clipboard.writeText(document.querySelector("#code pre").textContent); toast("Copied."); };
$("tools").addEventListener("click", e => {
  const button = e.target.closest("button");
  if (!stage) return;
  if (button?.dataset.view) { if (button.dataset.view !== "fit") stage.camera.view(button.dataset.view); stage.camera.fit(); }
  const name = button?.dataset.show;
  if (!name) return;
  state.show[name] = !state.show[name];
  button.setAttribute("aria-pressed", state.show[name]);
  if (name === "forces") drawArrows();
  else stage.show({ [name]: state.show[name] });
});

/** Degrees or radians, millimetres or metres, on this page and the next ones. */
function setUnits(what, name) {
  units[what] = name;
  remember(what, name);
  showUnits();
  plots.later();
  if (state.model && state.q.length) buildSliders();
  if (draw.told) draw.tell(draw.told);
}

function showUnits() {
  $("degrees").setAttribute("aria-pressed", units.angle === "deg");
  $("millimetres").setAttribute("aria-pressed", units.metres === "mm");
}
showUnits();

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  remember("theme", name);
  stage?.setTheme(name);
  plots.legend();
  plots.later();
  linear.draw();
  map.draw();
  timeline.marks();
}
setTheme(recall("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));

const studio = { state, send, status, timeline, inputs, get stage() { return stage; } };
window.studio = Object.assign(window.studio ?? {}, { state, link, timeline, plots, slides, draw, send });
wireFiles(studio);
wireKeys(studio, act);
