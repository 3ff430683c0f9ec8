// The page of an animation: a stage with a time bar. Keys: space, ← →, Home, End, F fit, D dark, A C N M G what is shown.
import { between, pointOf, smooth } from "dalembert/poses.js";
import { createStage } from "dalembert/stage.js";

/** Rows × columns as one array: a column is its first value, first step and further changes of the step; or constant. */
export function decode(columns, rows, steps) {
  const out = new Float64Array(rows * columns.length);
  columns.forEach((column, c) => {
    let x = column[0], d = 0;
    for (let k = 0; k < rows; k++) {
      if (k && column.length > 1) x += d += column[k];
      out[k * columns.length + c] = x * steps[c];
    }
  });
  return out;
}

/** Poses at time t between the nearest pictures. */
export function posesAt(run, data, t) {
  const span = run.end - run.start, width = run.motion.columns.length, out = new Float64Array(width + 7);
  const at = span > 0 ? Math.min(Math.max((t - run.start) / span, 0), 1) * (run.count - 1) : 0, k = Math.floor(at);
  out[3] = 1;  // the ground, which the file leaves out
  return between(data, k * width, Math.min(k + 1, run.count - 1) * width, at - k, out, 7);
}

/** The passage a time falls into, if any; short ones count as a hundredth of the run. */
export function passageAt(run, t) {
  const least = (run.end - run.start) / 100;
  return run.passages.find(([a, b]) => t >= a - Math.max(0, least - (b - a)) / 2 && t <= b + Math.max(0, least - (b - a)) / 2);
}

export function main(run) {
  const $ = /** @type {(id: string) => any} */ (id => document.getElementById(id)), span = run.end - run.start || 1, scene = run.scene;
  const dark = matchMedia?.("(prefers-color-scheme: dark)").matches;
  const wantTheme = /[#&](light|dark)\b/.exec(location.hash)?.[1] ?? (dark ? "dark" : "light");
  const data = decode(run.motion.columns, run.count, run.motion.steps);
  const forces = run.forces ? decode(run.forces.columns, run.count, run.forces.steps) : null;
  const shown = { axes: true, mass: false, names: false, frames: false, forces: !!forces, grid: true };
  const stage = createStage($("view"), scene, { theme: wantTheme });
  const player = { t: run.start, speed: run.speed, playing: run.count > 1, stage, run };
  window.player = player;

  document.querySelector("h1").textContent = scene.name;
  scene.bodies.slice(1).forEach((body, i) => {
    if (scene.bodies.length > 17) return;
    const item = document.createElement("span"), swatch = document.createElement("i");
    swatch.style.background = body.color;
    item.append(swatch, body.name);
    item.onpointerenter = () => stage.highlight([body.name]);
    item.onpointerleave = () => stage.highlight([]);
    $("legend").append(item);
  });
  const mark = (kind, title, a, b) => {
    const node = document.createElement("div");
    [node.className, node.title] = [kind, title];
    node.style.left = `${100 * (a - run.start) / span}%`;
    if (b > a) node.style.width = `${100 * (b - a) / span}%`;
    $("bar").append(node);
  };
  for (const [a, b, rank] of run.passages) mark("passage", `singular: rank ${rank}, ${a.toPrecision(5)} to ${b.toPrecision(5)} s`, a, b);
  for (const [name, t] of run.events ?? []) mark("event", `${name}, ${t.toPrecision(5)} s`, t);
  for (const factor of [0.1, 0.2, 0.5, 1, 2, 5, 10]) {
    const value = factor * run.speed;
    $("speed").add(new Option(`${Number(value.toPrecision(2))}×`, String(value), factor === 1, factor === 1));
  }
  const toggles = { names: "Names", mass: "Mass", ...(scene.frames.length && { frames: "Frames" }), ...(forces && { forces: "Forces" }), grid: "Grid" };
  for (const [name, text] of Object.entries(toggles)) {
    const button = Object.assign(document.createElement("button"), { textContent: text, id: `show-${name}` });
    button.setAttribute("aria-pressed", shown[name]);
    button.onclick = () => {
      shown[name] = !shown[name];
      button.setAttribute("aria-pressed", shown[name]);
      if (name === "forces") draw(); else stage.show({ [name]: shown[name] });
    };
    $("show").append(button);
  }
  const sides = scene.planar ? ["plane", "corner", "top", "right"] : ["corner", "front", "right", "back", "left", "top"];
  for (const side of sides) $("side").add(new Option(side, side));
  $("side").onchange = e => {
    const plane = e.target.value === "plane";
    stage.camera.mode(scene.planar && plane ? "planar" : "orbit");
    stage.camera.view(plane ? "front" : e.target.value);
    fit();
  };
  $("follow").add(new Option("nothing", ""));
  for (const body of scene.bodies.slice(1)) $("follow").add(new Option(body.name, body.name, false, body.name === run.follow));
  $("follow").onchange = e => { stage.camera.follow(e.target.value || null); draw(); fit(); };
  if (!run.follow && run.count < 2) $("followed").hidden = true;

  // paths, and what the whole motion takes up
  const sample = k => posesAt(run, data, run.start + span * k / Math.max(run.count - 1, 1));
  const traces = scene.traces.map(trace => ({ ...trace, points: [] }));
  for (let k = 0; k < run.count && traces.length; k++) {
    const poses = sample(k);
    for (const trace of traces) trace.points.push(...pointOf(poses, trace.body, trace.position));
  }
  for (const trace of traces) trace.points = smooth(trace.points);
  stage.setTraces(traces);
  const fit = () => {
    const some = Math.min(run.count, 30);
    const points = stage.extent(Array.from({ length: some }, (_, i) => sample(Math.round(i * (run.count - 1) / Math.max(some - 1, 1)))));
    if (!$("follow").value) {
      for (const trace of traces) points.push(...trace.points);
      for (let i = 0; i < some && shown.forces; i++) {  // tips of arrows
        const t = run.start + span * i / Math.max(some - 1, 1);
        for (const { from, vector, scale } of arrowsAt(posesAt(run, data, t), t)) points.push(...from.map((x, j) => x + scale * vector[j]));
      }
    }
    stage.camera.fit(points);
    draw();
    $("scale").textContent = `grid ${Number(stage.gridStep.toPrecision(3))} m`;
  };

  const draw = () => {
    const poses = posesAt(run, data, player.t);
    stage.setPoses(poses);
    stage.setDone(1 + Math.round(smooth.fine * (player.t - run.start) / span * (run.count - 1)));
    if (forces) stage.setArrows(shown.forces ? arrowsAt(poses, player.t) : []);
    const part = `${100 * (player.t - run.start) / span}%`, passage = passageAt(run, player.t);
    [$("done").style.width, $("knob").style.left] = [part, part];
    $("bar").setAttribute("aria-valuenow", ((player.t - run.start) / span).toFixed(3));
    $("bar").setAttribute("aria-valuetext", `${player.t.toPrecision(4)} s`);
    $("time").textContent = `t = ${player.t.toFixed(span < 1 ? 4 : 2)} s of ${Number(run.end.toPrecision(4))} s`;
    $("note").textContent = passage ? `singular position: rank ${passage[2]}` : "";
  };
  const arrowsAt = (poses, t) => {
    const k = Math.round((t - run.start) / span * (run.count - 1)), width = run.forces.columns.length;
    return run.forces.arrows.map(({ name, kind, body, position, scale }, i) => ({
      kind, from: pointOf(poses, body, position), scale, vector: [0, 1, 2].map(j => forces[k * width + 3 * i + j]),
    }));
  };
  const go = t => { player.t = Math.min(Math.max(t, run.start), run.end); draw(); };
  const play = on => { player.playing = on; $("play").textContent = on ? "Pause" : "Play"; };
  Object.assign(player, { go, play });
  let before = null;
  const tick = now => {
    if (player.playing && before !== null) {
      player.t += Math.min(now - before, 100) / 1000 * player.speed;
      if (player.t > run.end) player.t = run.start;
      draw();
    }
    before = now;
    requestAnimationFrame(tick);
  };
  const theme = name => {
    document.documentElement.dataset.theme = name;
    stage.setTheme(name);
    $("theme").textContent = name === "dark" ? "Light" : "Dark";
  };

  $("play").onclick = () => play(!player.playing);
  $("speed").onchange = e => { player.speed = Number(e.target.value); };
  $("reset").onclick = fit;
  $("theme").onclick = () => theme(stage.themeName === "dark" ? "light" : "dark");
  $("picture").onclick = async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await stage.screenshot());
    link.download = `${scene.name}.png`;
    link.click();
  };
  const seek = e => { const box = $("bar").getBoundingClientRect(); go(run.start + (e.clientX - box.left) / box.width * span); };
  $("bar").onpointerdown = e => { $("bar").setPointerCapture(e.pointerId); play(false); seek(e); };
  $("bar").onpointermove = e => { if (e.buttons) seek(e); };
  document.onkeydown = e => {
    if (e.target.tagName === "SELECT" || e.ctrlKey || e.metaKey || e.altKey) return;
    const step = (e.shiftKey ? 10 : 1) * span / Math.max(run.count - 1, 1);
    const keys = {
      " ": () => e.target.tagName !== "BUTTON" && play(!player.playing), ArrowRight: () => { play(false); go(player.t + step); }, ArrowLeft: () => { play(false); go(player.t - step); },
      Home: () => go(run.start), End: () => { play(false); go(run.end); }, f: fit, d: () => $("theme").click(),
      n: () => $("show-names").click(), m: () => $("show-mass").click(), g: () => $("show-grid").click(), c: () => $("show-frames")?.click(), a: () => $("show-forces")?.click(),
    };
    if (!keys[e.key]) return;
    if (e.target.tagName !== "BUTTON" || e.key !== " ") e.preventDefault();
    keys[e.key]();
  };
  theme(wantTheme);
  if (run.follow) stage.camera.follow(run.follow);
  draw();
  fit();
  $("scale").textContent = `grid ${Number(stage.gridStep.toPrecision(3))} m`;
  const asked = /[#&]t=([\d.]+)/.exec(location.hash);  // file.html#t=1.5 opens there, at rest
  if (asked) { go(Number(asked[1])); play(false); } else play(player.playing);
  requestAnimationFrame(tick);
}
