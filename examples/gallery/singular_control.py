"""A slider-crank led through its singular positions by noisy measurements.

Motion and force control of Aghili's slider-crank: the crank turns evenly, the guide is pressed with 15 N. Where the
crank is upright the row A of the constraint vanishes; measured with noise it points anywhere, and the law takes the
noise for a constraint. With (68), singular values of A up to ε count as zero: the law leaves the constraint out while
|cos q₁| < ε/√5 l. ε should be well above the noise of A, which is √3 σ l there.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control, zoo

BEGIN, TURN, WANTED, NOISE, CHOSEN = 0.2, 2.5, -15.0, 1e-3, 0.1  # rad, rad/s, N, rad, m


def main(out, tried=(0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.15)) -> dict[str, object]:
    m = zoo.equal_slider_crank()
    for k in (1, 2):
        if f"tau{k}" not in m.inputs:
            m.add_motor(f"tau{k}", f"q{k}")
    system = m.compile()
    row, start = system.row_names[0], system.state(*zoo.equal_slider_crank_start(BEGIN, TURN))
    even = control.Trajectory(lambda t: [BEGIN + TURN * t], ["q1"])
    t, laws, runs = np.linspace(0, 2.6, 2601), {}, {}
    for e in sorted((0.0, CHOSEN, *tried)):
        law = control.hybrid_control(system, control.coordinates("q1"), even, {row: WANTED}, rate=6.0, epsilon=e)
        noisy = control.Noisy(law, system, position=NOISE, velocity=10 * NOISE, seed=1)
        laws[e], runs[e] = law, da.simulate(system, start, t[-1], u=noisy, period=0.001, t_eval=t)
    size = {e: np.sqrt(5) * np.abs(np.cos(r["q1"])) for e, r in runs.items()}  # of A, for links of 1 m
    off = {e: size[e] * np.abs(r.multiplier(row) - WANTED) for e, r in runs.items()}
    run = runs[CHOSEN]
    without = np.mean([laws[CHOSEN].explain(x, run.state(k)).mobility == 2 for k, x in enumerate(t)]) * t[-1]
    rows = {"singular positions crossed": int(np.ceil(run["q1"][-1] / np.pi - 0.5))}
    for e in (0.0, CHOSEN):
        rows |= {
            f"crank off its motion, ε = {e:g} m (rad)": float(np.abs(runs[e]["q1"] - BEGIN - TURN * t).max()),
            f"largest torque, ε = {e:g} m (N m)": float(np.abs(runs[e].u).max()),
            f"Aᵀλ of the guide off by, at most, ε = {e:g} m (N m)": float(off[e].max()),
        }
    near = np.array([np.pi / 2, -np.pi]) + NOISE * np.random.default_rng(1).normal(size=(4000, 2))
    measured = np.sum(system.kernel("constraints").batch(near)[1] ** 2, axis=(1, 2))
    rows["measured length of A where it is zero, rms; √3 σ l (m)"] = (
        f"{np.sqrt(measured.mean()):.5f}, {np.sqrt(3) * NOISE:.5f}"
    )
    rows["time without the constraint, found (s)"] = float(without)
    rows["  by (68) (s)"] = float(4 * np.arcsin(CHOSEN / np.sqrt(5)) / TURN)
    panels = [
        Panel("torque of joint 2 (N m)", {f"ε = {e:g} m": (t, runs[e].u[:, 1]) for e in (0.0, CHOSEN)}),
        Panel("Aᵀλ of the guide off by (N m)", {f"ε = {e:g} m": (t, off[e]) for e in (0.0, CHOSEN)}, log=True),
        Panel("the same, at most, by ε (N m)", {"": (list(runs), [f.max() for f in off.values()])}, True, "ε (m)"),
    ]
    picture = Picture(system, [run.state(k) for k in (400, 900, 0)])
    return publish(out, "singular_control", rows, [picture], panels, animated=run)
