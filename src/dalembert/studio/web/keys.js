// Keys and gamepads: shortcuts of the page, and inputs of a live simulation.

const STEER = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, 1], ArrowDown: [1, -1], d: [2, 1], a: [2, -1], w: [3, 1], s: [3, -1] };

/** studio: { state, send, timeline, inputs, stage }; act: what buttons do, by their ids. */
export function wireKeys(studio, act) {
  const { state, send, timeline, inputs } = studio;
  const KEYS = { " ": () => timeline.toggle(), s: act.simulate, l: act.live, r: act.reset, b: act.branch, e: act.rest, k: act.keep, p: act.python, t: act.theme, f: () => studio.stage.camera.fit(), "?": act.help, ArrowLeft: () => timeline.step(-1), ArrowRight: () => timeline.step(1), Escape: act.stop };
  const pressed = new Map();

  addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
    const field = e.target.closest?.("input, select, textarea");
    const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    if (field && key !== "Escape" && !(field.type === "range" && [" ", "s", "l"].includes(key)) && field.type !== "checkbox") return;
    if (state.live && key in STEER && STEER[key][0] < state.model.inputs.length) {
      e.preventDefault();
      if (!e.repeat) { pressed.set(key, true); steer(); }
      return;
    }
    if (!(key in KEYS) || (key === " " && e.target.closest?.("button"))) return;
    if (key === "ArrowLeft" || key === "ArrowRight") { if (e.target.closest?.('[role="tablist"]')) return; }
    e.preventDefault();
    KEYS[key]();
  });
  addEventListener("keyup", e => {
    const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    if (pressed.delete(key)) steer();
  });
  addEventListener("blur", () => { if (pressed.size) { pressed.clear(); steer(); } });

  /** Inputs by keys: full to one side, to the other, or none. */
  function steer(axes = null) {
    const values = {};
    state.model.inputs.slice(0, 4).forEach((name, k) => {
      const slider = inputs.all.get(name);
      let level = 0;
      for (const key of pressed.keys()) if (STEER[key][0] === k) level += STEER[key][1];
      if (axes && Math.abs(axes[k] ?? 0) > 0.12) level = axes[k];
      values[name] = level * Math.max(Math.abs(slider.low), Math.abs(slider.high));
    });
    send({ do: "inputs", values });
  }

  let resting = true;
  setInterval(() => {
    if (!state.live || !navigator.getGamepads) return;
    const pad = [...navigator.getGamepads()].find(Boolean);
    if (!pad) return;
    const axes = [pad.axes[0] ?? 0, -(pad.axes[1] ?? 0), pad.axes[2] ?? 0, -(pad.axes[3] ?? 0)], still = axes.every(x => Math.abs(x) < 0.12);
    if (!still || !resting) steer(axes);
    resting = still;
  }, 33);
}
