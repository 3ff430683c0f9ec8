// The page: a machine, a stage that draws it, and the panel between them.
import { createStage } from "dalembert/stage.js"
import { Machine } from "dalembert/live/machine.js"
import { Shapes } from "dalembert/live/shapes.js"
import { choice, degrees, find, metres, number, say, slider, text, themes } from "dalembert/live/controls.js"

const BUSY = 14 // ms of computing in a frame, at most
const ROOM = 1.3 // of a planar machine's box that is in the picture at first
const PATH = 4000 // points of a traced path
const AMPLITUDE = 0.25 // rad, or lengths of the machine: of the coordinate that moves most in a mode

export async function main(data) {
  const code = Uint8Array.from(atob(data.code), (c) => c.charCodeAt(0))
  const machine = await Machine.create(code, data.map)
  const page = new Page(machine, data)
  window.live = page // for those who look inside
  page.begin()
  return page
}

class Page {
  /** @type {any} */ data;
  /** @type {any} */ machine;

  constructor(machine, data) {
    Object.assign(this, { machine, data, playing: false, mode: -1, speed: 1, amplitude: AMPLITUDE, dragging: null })
    this.stage = createStage(find("stage"), data.scene, { theme: "light" })
    this.poses = new Float64Array(7 * data.scene.bodies.length)
    this.leaders = data.coordinates.filter((c) => c.leads)
    this.paths = data.scene.traces.map(() => [])
    this.drawn = 0 // changes since the start, for tests
    this.traces = data.scene.traces
    if (data.anchors.length) this.shapes = new Shapes(data.scene, data.anchors, Float64Array.from(this.anchors()), Float64Array.from(machine.poses()))
    this.makePanel()
    this.makeDrag()
    this.makeKeys()
    themes((shade) => this.stage.setTheme(shade))
  }

  begin() {
    this.start()
    this.show()
    this.fit()
    const tick = (now) => {
      this.frame(now)
      requestAnimationFrame(tick)
    }
    requestAnimationFrame(tick)
  }

  /** The mechanism in the picture, with room to move. */
  fit() {
    if (!this.data.scene.planar) return this.stage.camera.fit()
    const { low, high } = this.stage.bounds()
    const points = []
    for (let k = 0; k < 8; k++) {
      for (let i = 0; i < 3; i++) {
        const [middle, half] = [(low[i] + high[i]) / 2, (high[i] - low[i]) / 2]
        points.push(middle + ROOM * half * ((k >> i) & 1 ? 1 : -1))
      }
    }
    this.stage.camera.fit(points)
  }

  // --- panel ----------------------------------------------------------------------------------------------------------

  makePanel() {
    const { data } = this
    this.sliders = this.leaders.map((c) =>
      slider("coordinates", {
        name: c.name, low: c.low, high: c.high, value: data.map.start.q[c.q],
        show: (x) => (c.angular ? degrees(x) : metres(x)),
        change: (x) => this.lead(c, x),
      }),
    )
    if (!this.leaders.length) find("coordinates").append(hint("Nothing slides here by one number: drag a body."))
    this.inputs = data.inputs.map((u, k) =>
      slider("inputs", { ...u, show: (x) => number(x), change: (x) => this.give("u", k, x) }))
    this.parameters = data.parameters.map((p, k) =>
      slider("parameters", { ...p, show: (x) => number(x), change: (x) => this.give("p", k, x) }))
    for (const name of ["inputs", "parameters"]) if (!data[name].length) find(name).remove()
    this.makeModes()
    for (const c of data.coordinates) {
      const [name, value] = [document.createElement("dt"), document.createElement("dd")]
      name.textContent = c.name
      c.shown = value
      find("all").append(name, value)
    }
    find("drop").addEventListener("click", () => this.drop())
    find("play").addEventListener("click", () => this.play(!this.playing))
    find("reset").addEventListener("click", () => this.reset())
    find("python").addEventListener("toggle", () => text("code", this.script()))
    find("copy").addEventListener("click", () => this.copy())
    find("speed").addEventListener("change", (e) => (this.speed = Number(e.target.value)))
  }

  /** Python that goes on from here: the mechanism, its parameters, the position that is shown. */
  script() {
    const { machine, data } = this
    const changed = data.parameters.filter((p, k) => machine.p[k] !== p.value)
    const values = data.parameters.map((p, k) => `${JSON.stringify(p.name)}: ${machine.p[k]}`)
    const q = Array.from(machine.q, (x) => String(x))
    return [
      "import dalembert as da", "", data.python,
      ...(changed.length ? [`system = system.with_parameters({${values.join(", ")}})`] : []),
      `x = system.project(system.state([${q.join(", ")}]))`,
      "print(system.report(x))",
      "run = da.simulate(system, x, 5.0)",
    ].join("\n")
  }

  async copy() {
    text("code", this.script())
    try {
      await navigator.clipboard.writeText(this.script())
      say("Copied.")
    } catch { // a page from disk may not write there
      getSelection().selectAllChildren(find("code"))
      say("Press Ctrl C to copy what is marked.")
    }
  }

  makeModes() {
    const { list, where } = this.data.modes
    if (!list.length) {
      find("modes").remove()
      return
    }
    find("modes").append(hint(`Of the linear model ${where}.`))
    const label = (m) => {
      const swings = Math.abs(m.imag) > 1e-9 * Math.abs(m.real)
      const fate = Math.abs(m.real) < 1e-9 * Math.abs(m.imag) ? "undamped" : m.real < 0 ? "decays" : "grows"
      return swings ? `${number(m.frequency, "Hz", 3)} · ${fate} · ${m.shape}` : `${number(m.real, "1/s", 3)} · ${fate} · ${m.shape}`
    }
    this.press = choice("modes", list.map(label), (k) => this.swing(k))
    this.amplitudes = slider("modes", {
      name: "amplitude", low: 0, high: 4 * AMPLITUDE, value: AMPLITUDE,
      show: (x) => number(x, "", 3), change: (x) => { this.amplitude = x; this.amplitudes.set(x) },
    })
  }

  makeKeys() {
    const acts = { " ": () => this.play(!this.playing), d: () => this.drop(), r: () => this.reset() }
    window.addEventListener("keydown", (e) => {
      const tag = e.target.tagName
      if (e.ctrlKey || e.metaKey || e.altKey || tag === "SELECT" || tag === "SUMMARY" || (tag === "BUTTON" && e.key === " ")) return
      const act = acts[e.key.toLowerCase()]
      if (!act) return
      e.preventDefault()
      act()
    })
  }

  // --- moving by hand -------------------------------------------------------------------------------------------------

  /** A slider is moved: this coordinate to a value, the other leading ones stay. */
  lead(c, value) {
    this.stop()
    const { machine } = this
    const wanted = {}
    for (const other of this.leaders) wanted[other.v] = [other.q, other === c ? value : machine.q[other.q]]
    const units = Object.fromEntries(this.leaders.map((x) => [x.v, x.unit]))
    const found = machine.bring(machine.q, wanted, (v) => units[v])
    this.put(found.q)
    this.sliders[this.leaders.indexOf(c)].stopped(!found.reached)
    if (found.reached) say("")
    else say(`${c.name} goes no farther on this branch: a dead point, or a singular position.`, true)
    this.show()
  }

  makeDrag() {
    const places = new Map(this.data.scene.bodies.map((b, k) => [b.name, k]))
    this.stage.onDrag({
      start: (hit) => {
        const body = places.get(hit.body)
        if (!body || !this.machine.nv) return false
        this.dragging = { body, again: this.playing }
        this.stop()
        return true
      },
      move: ({ pointInBody, target }) => {
        this.put(this.machine.pull(this.machine.q, this.dragging.body, pointInBody, target))
        this.show()
      },
      end: () => {
        const again = this.dragging?.again
        this.dragging = null
        if (again) this.drop()
      },
    })
  }

  /** The mechanism at rest in a position. */
  put(q) {
    const { machine } = this
    machine.q.set(q)
    machine.v.fill(0)
    machine.loaded = false
    this.follow()
  }

  // --- motion ---------------------------------------------------------------------------------------------------------

  /** The exported state; with other parameters, the nearest one. */
  start() {
    const { machine, data } = this
    const { t } = data.map.start
    const [q, v] = [Float64Array.from(data.map.start.q), Float64Array.from(data.map.start.v)]
    machine.t = t
    if (machine.p.some((x, k) => x !== data.map.p[k])) {
      machine.close(q)
      machine.admit(q, v)
    }
    machine.begin(q, v, t)
  }

  stop() {
    this.playing = false
    if (this.mode >= 0) {
      this.mode = -1
      this.press(-1)
    }
    for (const s of this.sliders) s.stopped(false)
    text("play", "Play")
  }

  drop() {
    this.stop()
    const { machine } = this
    machine.v.fill(0)
    machine.admit(machine.q, machine.v)
    machine.begin(machine.q, machine.v, 0)
    this.play(true)
  }

  play(on) {
    const { machine } = this
    if (this.mode >= 0) this.stop()
    if (on && machine.ended) return this.told()
    if (on && !machine.loaded) {
      machine.admit(machine.q, machine.v)
      machine.begin(machine.q, machine.v, 0)
    }
    this.playing = on
    this.clock = null
    text("play", on ? "Pause" : "Play")
    if (on) say("")
  }

  reset() {
    this.stop()
    for (const path of this.paths) path.length = 0
    this.start()
    say("")
    this.show()
    this.drawPaths()
  }

  give(kind, k, value) {
    const { machine } = this
    const list = Float64Array.from(machine[kind])
    list[k] = value
    if (kind === "p") {
      machine.setParameters(list)
      const q = Float64Array.from(machine.q)
      if (!machine.close(q)) {
        list[k] = this.data.map.p[k]
        say(`The loops cannot be closed with ${this.data.parameters[k].name} = ${number(value)}.`, true)
        machine.setParameters(list)
        return this.show()
      }
      machine.q.set(q)
      machine.admit(machine.q, machine.v)
    } else machine.setInputs(list)
    if (machine.loaded) machine.begin(machine.q, machine.v, machine.t)
    if (kind === "p") this.reshape()
    say("")
    this.show()
  }

  /** Where parts are joined, in the ground: 3 numbers an anchor. */
  anchors() { return this.machine.bounds.anchors.call({ q: this.machine.q }) }

  /** Bodies as long as their parameters say. */
  reshape() {
    if (!this.shapes) return
    const places = Float64Array.from(this.anchors())
    const scene = this.shapes.at(places, Float64Array.from(this.machine.poses()))
    this.traces = scene.traces
    this.stage.setScene(scene)
    if (!this.stage.camera.moved) this.fit()
  }

  /** Why a simulation ended. */
  told() {
    const { machine } = this
    say(`The simulation ended at t = ${number(machine.t, "s")}: ${machine.ended}.`, true)
  }

  swing(k) {
    this.stop()
    if (k < 0) return this.reset()
    this.mode = k
    this.press(k)
    this.phase = 0
    this.clock = null
    this.machine.loaded = false
    this.machine.v.fill(0)
    say("")
  }

  frame(now) {
    if (!this.playing && this.mode < 0) return
    const seconds = Math.min(0.05, (now - (this.clock ?? now)) / 1000) * this.speed
    this.clock = now
    if (this.mode >= 0) this.swung(seconds)
    else this.advanced(seconds)
    this.follow()
    this.show()
    this.drawPaths()
  }

  advanced(seconds) {
    const { machine } = this
    const until = performance.now() + BUSY
    let target = machine.t + seconds
    while (machine.last.t < target && performance.now() < until) if (!machine.step()) break
    target = Math.min(target, machine.last.t)
    machine.to(target)
    if (machine.ended && machine.t >= machine.last.t) {
      this.playing = false
      text("play", "Play")
      this.told()
    }
  }

  /** The mode's shape around its equilibrium, loops closed. */
  swung(seconds) {
    const { machine, data } = this
    const m = data.modes.list[this.mode]
    const rate = Math.abs(m.imag) > 1e-9 * Math.abs(m.real) ? Math.abs(m.imag) : 2 * Math.PI * 0.5
    this.phase += rate * seconds
    const [c, s] = [Math.cos(this.phase), Math.sin(this.phase)]
    const delta = Float64Array.from(m.re, (re, i) => this.amplitude * (re * c - m.im[i] * s))
    const q = machine.moved(Float64Array.from(data.modes.q), delta)
    if (q) machine.q.set(q)
  }

  // --- showing --------------------------------------------------------------------------------------------------------

  /** Note where traced points are. */
  follow() {
    const T = this.traces.length ? this.machine.poses() : null
    this.traces.forEach((trace, k) => {
      const at = 12 * trace.body
      const x = trace.position
      const path = this.paths[k]
      for (let i = 0; i < 3; i++) {
        path.push(T[at + 9 + i] + T[at + 3 * i] * x[0] + T[at + 3 * i + 1] * x[1] + T[at + 3 * i + 2] * x[2])
      }
      if (path.length > 3 * PATH) path.splice(0, 3)
    })
  }

  drawPaths() {
    if (!this.paths.length) return
    this.stage.setTraces(this.paths.map((points, k) => {
      const { color, name } = this.data.scene.traces[k]
      return { points: points.slice(), color, name, done: points.length / 3 }
    }))
  }

  show() {
    const { machine, data } = this
    quaternions(machine.poses(), this.poses)
    this.stage.setPoses(this.poses)
    this.leaders.forEach((c, k) => this.sliders[k].set(machine.q[c.q]))
    this.inputs.forEach((s, k) => s.set(machine.u[k]))
    this.parameters.forEach((s, k) => s.set(machine.p[k]))
    for (const c of data.coordinates) {
      const said = c.angular ? degrees(machine.q[c.q]) : metres(machine.q[c.q])
      if (c.shown.textContent !== said) c.shown.textContent = said
    }
    this.numbers()
    this.drawn += 1
  }

  numbers() {
    const { machine } = this
    const [T, V] = machine.energies()
    text("time", number(machine.loaded ? machine.t : 0, "s"))
    text("kinetic", number(T, "J"))
    text("potential", number(V, "J"))
    text("energy", number(T + V, "J"))
    text("error", machine.loaded ? number(machine.energyError(), "J", 3) : "–")
    text("gap", machine.placing ? number(machine.residual(), "", 3) : "no loops")
    text("steps", machine.loaded ? String(machine.run.get("counts.steps")) : "0")
    text("freedoms", String(machine.nv))
    text("redundant", "0")
    if (!machine.rows) {
      text("sigma", "no constraints")
      text("distance", "–")
      text("rank", "0")
      return
    }
    const s = machine.singular()
    const full = s.rank >= s.full
    text("sigma", full ? number(s.least) : "0")
    text("distance", full ? number(s.least / s.largest) : "0: singular here")
    text("freedoms", String(machine.nv - s.rank))
    text("redundant", String(machine.rows - s.rank))
    text("rank", `${s.rank} of ${machine.rows} rows${full ? "" : `, ${s.full} nearby`}`)
    const part = full ? Math.max(0, 1 + Math.log10(Math.max(s.least / s.largest, 1e-4)) / 4) : 0
    find("bar").style.width = `${100 * part}%`
    find("near").classList.toggle("near", !full || s.least / s.largest < 0.05)
  }
}

function hint(message) {
  const line = document.createElement("p")
  line.className = "hint"
  line.textContent = message
  return line
}

/** Poses of the stage (x y z w qx qy qz) from rotations and places, 12 numbers a body. */
export function quaternions(T, out) {
  for (let k = 0; 12 * k < T.length; k++) {
    const [a, b, c, d, e, f, g, h, i, x, y, z] = T.subarray(12 * k, 12 * k + 12)
    const trace = a + e + i
    let w, qx, qy, qz
    if (trace > 0) {
      const s = 2 * Math.sqrt(1 + trace)
      ;[w, qx, qy, qz] = [s / 4, (h - f) / s, (c - g) / s, (d - b) / s]
    } else if (a > e && a > i) {
      const s = 2 * Math.sqrt(1 + a - e - i)
      ;[w, qx, qy, qz] = [(h - f) / s, s / 4, (b + d) / s, (c + g) / s]
    } else if (e > i) {
      const s = 2 * Math.sqrt(1 + e - a - i)
      ;[w, qx, qy, qz] = [(c - g) / s, (b + d) / s, s / 4, (f + h) / s]
    } else {
      const s = 2 * Math.sqrt(1 + i - a - e)
      ;[w, qx, qy, qz] = [(d - b) / s, (c + g) / s, (f + h) / s, s / 4]
    }
    out.set([x, y, z, w, qx, qy, qz], 7 * k)
  }
}
