// Across a singular position: what simulation/singular/crossing.py does for a motion that comes near one, without the analysis
// of branches. The motion is carried over by v Δt + ½ v̇ Δt², brought back to the manifold behind the position, and once
// more with the acceleration found there. Machine.step calls this where careful steps end.

const FAR = 1e-5 // σ behind the position where the motion is taken up again, at least

/** From the record of a run next to a singular position to one behind it; null, or a sentence where none is found. */
export function cross(machine) {
  const { run, nq, nv } = machine
  const hit = run.get("ruler.hit")
  const n = run.get("n")
  const state = Float64Array.from(run.doubles("x", n))
  const [q, v, t] = [state.slice(0, nq), state.slice(nq, nq + nv), run.get("clock.t")]
  const now = machine.sigma(q, t)
  const slope = Float64Array.from(machine.slope(q, v, t))
  const vdot = slope.slice(nq, nq + nv)
  const opening = rate(machine, q, v, t, now, hit)
  if (!(opening > 0)) return "the mechanism rests in a singular position; no motion is selected there"
  const target = Math.max(FAR, 30 * hit, now)
  const energy = sum(machine.energies(q, v))
  let time = (target + now) / opening
  for (let k = 0; k < 12; k++, time *= 1.3) {
    let there = land(machine, moved(machine, q, v, vdot, vdot, time), t + time, 0.25 * target)
    if (!there) continue
    const last = Float64Array.from(machine.slope(there.q, there.v, t + time)).slice(nq, nq + nv)
    there = land(machine, moved(machine, q, v, vdot, last, time), t + time, 0.25 * target) ?? there
    const behind = Float64Array.from(machine.slope(there.q, there.v, t + time))
    restore(machine, there, energy, time, slope, behind)
    const x = run.doubles("x", n)
    x.set(there.q, 0)
    x.set(there.v, nq)
    for (let i = nq + nv; i < n; i++) x[i] += 0.5 * time * (slope[i] + behind[i])
    run.doubles("low_before", nq).set(run.doubles("low", nq))
    const values = {
      "step.h": 0.5 * time, "clock.t": t + time, "step.fresh": 0, "manifold.project_first": 0, "singularity.risen": 0,
    }
    for (const name in values) run.set(name, values[name])
    for (const name of ["counts.steps", "counts.careful_steps"]) run.set(name, run.get(name) + 1)
    machine.passages.push({ t: t + now / opening, sigma: 0 })
    return null
  }
  return "no motion leads through this singular position with the velocity at hand"
}

/** How fast σ opens, 1/s: by its change over a short way back along the motion. */
function rate(machine, q, v, t, now, hit) {
  const speed = v.reduce((most, x) => Math.max(most, Math.abs(x)), 0)
  if (!(speed > 0)) return 0
  const way = Math.max(1e3 * Math.max(now, hit), 1e-6)
  const dt = -Math.min(1e-3, way) / speed
  const before = Float64Array.from(machine.bounds.plus.call({ q, dq: v.map((x) => x * dt) }))
  if (!machine.close(before)) return 0
  return Math.abs(machine.sigma(before, t) - now) / -dt
}

/** The state a time later, with an acceleration that goes from `first` to `last`. */
function moved(machine, q, v, first, last, time) {
  const dq = v.map((x, i) => time * x + time ** 2 * (first[i] / 3 + last[i] / 6))
  return {
    q: Float64Array.from(machine.bounds.plus.call({ q, dq })),
    v: v.map((x, i) => x + 0.5 * time * (first[i] + last[i])),
  }
}

/** The nearest state on the manifold; null where σ is less than `least` on the way. */
function land(machine, { q, v }, t, least) {
  const { run, nq, nv } = machine
  run.doubles("low", nq).fill(0)
  const f = machine.bound(run.get("correct"))
  const g = machine.bound(run.get("filter"))
  for (let k = 0; k < 4; k++) {
    f.x.set(q)
    const out = f.call({}, t)
    if (!(out[nq + f.get("rows")] >= least ** 2)) return null
    q = Float64Array.from(out.subarray(0, nq))
  }
  g.x.set(q)
  g.x.set(v, nq)
  const out = g.call({}, t)
  return out[nv + g.get("rows")] >= least ** 2 ? { q, v: Float64Array.from(out.subarray(0, nv)) } : null
}

/** As fast as the energy allows, as in the library; not with drivers, whose velocities cannot be scaled. */
function restore(machine, there, energy, time, slope, behind) {
  const { nq, nv, works } = machine
  if (machine.map.driven) return
  let work = 0
  for (let k = nq + nv; k < nq + nv + works; k++) work += 0.5 * time * (slope[k] + behind[k])
  const [kinetic, potential] = machine.energies(there.q, there.v)
  const missing = energy + work - kinetic - potential
  if (!(kinetic > 0) || !(Math.abs(missing) < 0.1 * kinetic)) return
  const factor = Math.sqrt(1 + missing / kinetic)
  there.v = there.v.map((x) => x * factor)
}

const sum = (list) => list.reduce((a, b) => a + b, 0)
