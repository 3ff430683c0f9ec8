// A mechanism at work: its WebAssembly module, and what a page asks of it. No document is needed: Node runs this too.

import { cross } from "dalembert/live/crossing.js"
import { Bound, library, Record } from "dalembert/live/memory.js"

const CLOSED = 1e-12 // residual of loops that are closed
const REGULAR = 1e-2 // σ over the largest: all rows together are far from a singular position
const CARRYING = 1e-2 // margin of chosen rows that carry the others again
const USUAL = 0, CAREFUL = 1, EVERY_ROW = 2 // steps: places in map.steps
const TURN = 0.04 // rad, or lengths of the mechanism: longest step of a continuation

export class Machine {
  /** @type {any} */ placing;
  /** @type {any} */ rows;
  /** @type {any} */ nv;
  /** @type {any} */ rank;
  /** @type {any} */ nq;
  /** @type {any} */ powers;
  /** @type {any} */ works;

  /** code: bytes of the module, or a compiled module; map: of its memory. */
  static async create(code, map) {
    let machine = null
    const imports = { env: library(() => machine.memory) }
    const made = await WebAssembly.instantiate(code, imports)
    machine = new Machine(made.instance ?? made, map)
    return machine
  }

  constructor(instance, map) {
    this.map = map
    this.exports = instance.exports
    this.memory = instance.exports.memory
    this.table = instance.exports.table
    this.view = new DataView(this.memory.buffer)
    const [start, end] = map.image
    this.pristine = new Uint8Array(this.memory.buffer.slice(start, end))
    Object.assign(this, map.sizes)
    this.run = new Record(this, map.run.at, map.run.fields)
    this.wishes = map.fill.map((w) => ({
      wish: new Record(this, w.at, map.fill_fields),
      run: new Record(this, w.run, map.run.fields),
    }))
    this.bounds = {}
    for (const [name, b] of Object.entries(map.bounds)) {
      this.bounds[name] = new Bound(this, b.at, map.bound_fields, b.slices)
    }
    this.gauge = map.gauge ? new Bound(this, map.gauge, map.bound_fields) : null
    this.problem = new Record(this, map.problems.follow, map.problem_fields)
    this.spectrum = new Record(this, map.problems.sigma, map.problem_fields)
    this.code = {}
    for (const [name, [number]] of Object.entries(map.outcomes)) this.code[name] = number
    this.p = Float64Array.from(map.p ?? [])
    this.u = Float64Array.from(map.u ?? [])
    this.q = Float64Array.from(map.start.q)
    this.v = Float64Array.from(map.start.v)
    this.t = map.start.t
    this.loaded = false
  }

  // --- what the mechanism is like -----------------------------------------------------------------------------------

  /** Rotation, row by row, and place of each body: 12 numbers a body. A view, valid until the next call. */
  poses(q = this.q) { return this.bounds.poses.call({ q }) }

  /** [kinetic, potential], J. */
  energies(q = this.q, v = this.v) { return Array.from(this.bounds.energies.call({ q, v })) }

  /** Residuals of the position constraints: the largest, m or rad. */
  residual(q = this.q) {
    if (!this.placing) return 0
    const { phi } = this._equations(q, this.bounds.placing, this.placing)
    return phi.reduce((most, x) => Math.max(most, Math.abs(x)), 0)
  }

  /** The least singular value of the constraints in the mass metric, the largest, and the rank. */
  singular(q = this.q, t = this.t) {
    if (!this.rows) return { least: Infinity, largest: 0, rank: 0, full: 0 }
    const { M, A } = this._equations(q, this.bounds.equations, this.rows, t)
    const s = this.spectrum
    s.doubles("M", this.nv * this.nv).set(M)
    s.doubles("A", this.rows * this.nv).set(A)
    this.exports.factorize(0, 0, s.at)
    return { least: s.get("smallest"), largest: s.get("largest"), rank: s.get("rank"), full: this.rank }
  }

  /** M, A and Φ: views of the outputs of the equations. */
  _equations(q, bound, rows, t = this.t) {
    const { nq, nv, powers } = this
    const out = bound.call({ q, v: new Float64Array(nv) }, t)
    let at = nq + powers
    const cut = (n) => out.subarray(at, (at += n))
    return { M: cut(nv * nv), f: cut(nv), A: cut(rows * nv), gamma: cut(rows), phi: cut(rows) }
  }

  // --- loops that stay closed ---------------------------------------------------------------------------------------

  /** Bring q onto the constraints by Newton steps of least length; whether it gets there. Changes q in place. */
  close(q, rounds = 12) {
    if (!this.bounds.position) {
      q.set(this.bounds.plus.call({ q, dq: new Float64Array(this.nv) }))
      return true
    }
    const f = this.bounds.position
    const rows = f.get("rows")
    let before = Infinity
    for (let k = 0; k < rounds; k++) {
      const out = f.call({ q }, this.t)
      const residual = largest(out.subarray(this.nq, this.nq + rows))
      if (!Number.isFinite(residual)) return false
      if (residual < 1e-15 || (residual < CLOSED && residual >= 0.5 * before)) return true
      q.set(out.subarray(0, this.nq))
      before = residual
    }
    return largest(f.call({ q }, this.t).subarray(this.nq, this.nq + rows)) < 1e-10
  }

  /** The admissible velocity nearest to v. Changes v in place. */
  admit(q, v) {
    if (this.bounds.velocity) v.set(this.bounds.velocity.call({ q, v }, this.t).subarray(0, this.nv))
  }

  /**
   * The small motion that best reaches goals, loops closed: least ‖J δ − e‖² + damping δᵀMδ with A δ = −Φ.
   * goals: [row of J (nv), e] pairs.
   */
  motion(q, goals, damping) {
    const { nv, placing: rows, problem } = this
    const { M, A, phi } = this._equations(q, this.bounds.placing, rows)
    const H = problem.doubles("M", nv * nv)
    const f = problem.doubles("f", nv)
    f.fill(0)
    let size = 0
    let mass = 0
    for (let i = 0; i < nv; i++) mass += M[i * nv + i] / nv
    for (const [J] of goals) for (let i = 0; i < nv; i++) size += J[i] * J[i]
    const scale = (damping * Math.max(size / Math.max(1, goals.length), 1e-12)) / mass
    for (let i = 0; i < nv * nv; i++) H[i] = scale * M[i]
    for (const [J, e] of goals) {
      for (let i = 0; i < nv; i++) {
        if (J[i] === 0) continue
        f[i] += J[i] * e
        for (let j = 0; j < nv; j++) H[i * nv + j] += J[i] * J[j]
      }
    }
    if (rows) {
      problem.doubles("A", rows * nv).set(A)
      problem.doubles("gamma", rows).set(phi)
    }
    this.exports.nullspace(0, 0, problem.at)
    return problem.get("status") === this.code.OK ? Float64Array.from(problem.doubles("vdot", nv)) : null
  }

  /** q ⊕ δ, loops closed; null where that does not succeed. */
  moved(q, delta) {
    const out = Float64Array.from(this.bounds.plus.call({ q, dq: delta }))
    return this.close(out) ? out : null
  }

  /**
   * Bring some coordinates to values, by small steps on the branch: {place of a velocity: [place in q, value]}.
   * unit(v): the size of a velocity that counts as 1. Returns { q, reached }: where a coordinate stops before its value, as in a dead point, reached is false.
   */
  bring(q, wanted, unit = (v) => 1) {
    const { nv } = this
    let here = Float64Array.from(q)
    const leaders = Object.entries(wanted).map(([v, [k, value]]) => ({ v: Number(v), k, value, unit: unit(Number(v)) }))
    const gap = (x) => Math.max(0, ...leaders.map((c) => Math.abs(c.value - x[c.k]) / c.unit))
    let left = gap(here)
    for (let round = 0; round < 400 && left > 1e-12; round++) {
      const part = Math.min(1, TURN / left)
      let next = null
      for (let cut = part; cut > 1e-3 * part && !next; cut /= 2) {
        const goals = leaders.map((c) => {
          const J = new Float64Array(nv)
          J[c.v] = 1 / c.unit
          return [J, (cut * (c.value - here[c.k])) / c.unit]
        })
        const delta = this.motion(here, goals, 1e-12)
        if (!delta) continue
        const far = largest(delta)
        if (!(far < 10 * TURN * Math.max(1, ...leaders.map((c) => c.unit)))) continue
        next = this.moved(here, delta)
        if (next && !(gap(next) < (1 - 0.25 * cut) * left)) next = null
      }
      if (!next) return { q: here, reached: left < 1e-9 }
      here = next
      left = gap(here)
    }
    return { q: here, reached: left < 1e-9 }
  }

  /** Pull a point of a body (in its frame) towards a target (ground axes); returns the q that is nearest so far. */
  pull(q, body, point, target, rounds = 6) {
    let here = Float64Array.from(q)
    for (let round = 0; round < rounds; round++) {
      const { place, rows } = this._point(here, body, point)
      const e = [0, 1, 2].map((i) => target[i] - place[i])
      const far = Math.hypot(...e)
      if (far < 1e-9 * this.map.length) break
      let next = null
      for (let part = Math.min(1, (0.1 * this.map.length) / far); part > 1e-3 && !next; part /= 3) {
        const delta = this.motion(here, rows.map((J, i) => [J, part * e[i]]), 1e-4)
        if (!delta || !(largest(delta) < 0.5 * Math.max(1, this.map.length))) continue
        next = this.moved(here, delta)
        if (next && !(distance(this._place(next, body, point), target) < far)) next = null
      }
      if (!next) break
      here = next
    }
    return here
  }

  _place(q, body, point) {
    const T = this.poses(q).subarray(12 * body, 12 * body + 12)
    return [0, 1, 2].map((i) => T[9 + i] + T[3 * i] * point[0] + T[3 * i + 1] * point[1] + T[3 * i + 2] * point[2])
  }

  /** Place of a point of a body, and the rows of its Jacobian. */
  _point(q, body, point) {
    const { nv } = this
    const T = Array.from(this.poses(q).subarray(12 * body, 12 * body + 12))
    const r = [0, 1, 2].map((i) => T[3 * i] * point[0] + T[3 * i + 1] * point[1] + T[3 * i + 2] * point[2])
    const rows = [0, 1, 2].map(() => new Float64Array(nv))
    const unit = new Float64Array(nv)
    for (let j = 0; j < nv; j++) {
      unit.fill(0)
      unit[j] = 1
      const V = this.bounds.twists.call({ q, v: unit }).subarray(6 * body, 6 * body + 6)
      rows[0][j] = V[3] + V[1] * r[2] - V[2] * r[1]
      rows[1][j] = V[4] + V[2] * r[0] - V[0] * r[2]
      rows[2][j] = V[5] + V[0] * r[1] - V[1] * r[0]
    }
    return { place: [0, 1, 2].map((i) => T[9 + i] + r[i]), rows }
  }

  // --- parameters and inputs ----------------------------------------------------------------------------------------

  setParameters(p) {
    this.p = Float64Array.from(p)
    this._give()
  }

  setInputs(u) {
    this.u = Float64Array.from(u)
    this._give()
  }

  _give() {
    for (const at of this.map.parameters) new Float64Array(this.memory.buffer, at, this.p.length).set(this.p)
    for (const at of this.map.inputs) new Float64Array(this.memory.buffer, at, this.u.length).set(this.u)
    this.run.set("step.fresh", 0)
  }

  // --- motion -------------------------------------------------------------------------------------------------------

  /** Begin a simulation from a state: memory as it was exported, and this state. */
  begin(q = this.q, v = this.v, t = this.t) {
    const { run, nq } = this
    new Uint8Array(this.memory.buffer, this.map.image[0], this.pristine.length).set(this.pristine)
    this._give()
    const n = run.get("n")
    const x = run.doubles("x", n)
    x.fill(0)
    x.set(q, 0)
    x.set(v, nq)
    this.t = t
    for (const name of ["clock.t", "clock.hold_start", "clock.sampled_until"]) run.set(name, t)
    run.set("clock.end", Infinity)
    run.set("counts.records", 0)
    run.set("room", 1)
    this.exports.begin(0, 0, run.at)
    this.width = n + run.get("nu") + 1
    this.last = this.previous = this._record()
    this.row = this.last.row
    this.passages = []
    this.ended = null
    this.steps = USUAL
    this.q = Float64Array.from(q)
    this.v = Float64Array.from(v)
    this.energy = this.energies().reduce((a, b) => a + b)
    this.loaded = true
  }

  _record() {
    const { run } = this
    const out = { t: run.doubles("times", 1)[0], row: Float64Array.from(run.doubles("states", this.width)) }
    run.set("counts.records", 0)
    return out
  }

  /** One accepted step of the loop; returns whether the run can go on. */
  step(end = Infinity) {
    const { run, code } = this
    if (this.ended) return false
    run.set("clock.end", end)
    run.set("room", 1)
    this.exports.advance(0, 0, run.at)
    const outcome = run.get("attempt.outcome")
    if (run.get("counts.records")) {
      this.previous = this.last
      this.last = this._record()
    }
    this._notePassages()
    if (outcome === code.SINGULAR) return this._singular()
    if (outcome === code.OK) {
      if (run.get("regime.until") > 0 && run.get("clock.t") < end) this._enter(USUAL)
    } else if (outcome !== code.PAUSED && outcome !== code.PASSED) return this._end(this._sentence(outcome))
    if (this.steps === EVERY_ROW) {
      if (this.margin() > CARRYING) this._enter(USUAL)
      else if (!this._regular()) this._enter(CAREFUL)
    }
    return true
  }

  /** Passages by singular positions that the loop has noted: each t, σ, five numbers more, and the state. */
  _notePassages() {
    const { run } = this
    const count = run.get("regime.noted")
    const width = this.map.passage + this.nq + this.nv
    const found = run.doubles("passages", count * width)
    for (let k = 0; k < count; k++) this.passages.push({ t: found[k * width], sigma: found[k * width + 1] })
    run.set("regime.noted", 0)
  }

  _sentence(outcome) {
    const found = Object.values(this.map.outcomes).find(([number]) => number === outcome)
    return found ? found[1] : `outcome ${outcome}`
  }

  _end(why) {
    this.ended = why
    return false
  }

  /**
   * With all rows where only the chosen ones become dependent, for which the library chooses others; careful steps next
   * to a singular position; where these end too, across it.
   */
  _singular() {
    const { run } = this
    if (run.get("regime.careful")) return this._cross()
    if (!this.map.steps.length) return this._end(this._sentence(this.code.SINGULAR))
    const chosen = this.steps === USUAL && this.map.steps.length > EVERY_ROW && this._regular()
    this._enter(chosen ? EVERY_ROW : CAREFUL)
    if (chosen) return true
    return this.margin() <= (4 * run.get("ruler.hit")) ** 2 ? this._cross() : true
  }

  _cross() {
    const why = cross(this)
    if (why) return this._end(why)
    const { run } = this
    const row = new Float64Array(this.width)
    row.set(run.doubles("x", run.get("n")))
    row.set(this._inputs(), run.get("n"))
    this.previous = this.last
    this.last = { t: run.get("clock.t"), row, across: true }
    return true
  }

  bound(at) { return new Bound(this, at, this.map.bound_fields) }

  /** σ: the least singular value of the rows of the run in the mass metric, over their usual lengths. */
  sigma(q, t) {
    this.gauge.y[0] = 1e-12 // of itself that σ may still change by
    this.gauge.y[1] = -1 // nothing is known of it
    this.gauge.x.set(q)
    return Math.sqrt(Math.max(0, this.gauge.call({}, t)[1]))
  }

  /** ẋ of the run at a state. A view. */
  slope(q, v, t) {
    const ode = this.bound(this.run.get("ode"))
    ode.x.set(q)
    ode.x.set(v, this.nq)
    return ode.call({}, t)
  }

  /** Whether the run is far from singular positions, by all rows. */
  _regular() {
    const { run } = this
    const { least, largest, rank, full } = this.singular(run.doubles("x", this.nq), run.get("clock.t"))
    return rank === full && least > REGULAR * largest
  }

  /** What Stepper.enter does: other fields of the record, the same inputs; the next step begins on the manifold. */
  _enter(which) {
    const { run } = this
    const held = Float64Array.from(this._inputs())
    for (const [name, value] of Object.entries(this.map.steps[which])) run.set(name, value)
    this._inputs().set(held)
    run.set("manifold.project_first", 1)
    if (which !== USUAL) for (const name of ["low", "low_before"]) run.doubles(name, this.nq).fill(0)
    this.steps = which
  }

  _inputs() {
    const { run } = this
    const ode = this.bound(run.get("ode"))
    return new Float64Array(this.memory.buffer, ode.get("x") + 8 * run.get("u_index"), run.get("nu"))
  }

  margin() {
    if (!this.gauge) return 1
    this.gauge.y[1] = -2 // without σ
    this.gauge.x.set(this.run.doubles("x", this.nq))
    return this.gauge.call({}, this.run.get("clock.t"))[0]
  }

  /** The state at time t, by steps as far as needed; between records one step of the method, as the library does it. */
  to(t) {
    while (this.last.t < t) if (!this.step()) break
    const { nq, nv } = this
    const row = (this.row = t >= this.last.t ? this.last.row : this._between(t))
    this.q.set(row.subarray(0, nq))
    this.v.set(row.subarray(nq, nq + nv))
    this.t = Math.min(t, this.last.t)
    return !this.ended
  }

  _between(t) {
    if (this.last.across) return this._mixed(t)
    for (const { wish, run } of [this.wishes[Math.min(this.steps, CAREFUL)], ...this.wishes.slice(1)]) {
      wish.doubles("times", 2).set([this.previous.t, this.last.t])
      const states = wish.doubles("states", 2 * this.width)
      states.set(this.previous.row, 0)
      states.set(this.last.row, this.width)
      wish.doubles("wanted", 1)[0] = t
      for (const name of ["scales.rate", "step.usual_h", "scales.inertia"]) run.set(name, this.run.get(name))
      this.exports.fill(0, 0, wish.at)
      const out = Float64Array.from(wish.doubles("out", this.width))
      if (Number.isFinite(out.reduce((a, b) => a + b, 0))) return out
    }
    return this._mixed(t)
  }

  /** Between the records around a step that no method made. */
  _mixed(t) {
    const part = (t - this.previous.t) / (this.last.t - this.previous.t)
    const row = this.previous.row.map((x, i) => x + part * (this.last.row[i] - x))
    const q = row.slice(0, this.nq)
    if (this.close(q)) row.set(q)
    return row
  }

  /** Energy since the start that is not accounted for by work, J. */
  energyError() {
    const [T, V] = this.energies()
    let work = 0
    const n = this.nq + this.nv
    for (let k = 0; k < this.works; k++) work += this.row[n + k]
    return T + V - this.energy - work
  }
}

export function largest(x) {
  let most = 0
  for (const value of x) {
    const size = Math.abs(value)
    if (!(size <= most)) most = size
  }
  return most
}

function distance(a, b) {
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])
}
