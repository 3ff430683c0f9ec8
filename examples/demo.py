"""A four-bar linkage: described, checked, assembled, accelerated and run; and machines where they are singular."""

from pathlib import Path
from time import perf_counter
from timeit import repeat

import numpy as np

import dalembert as da
from dalembert import zoo
from pictures import pictures

FORMULATIONS = {
    "nullspace": "null-space basis, Spencer (3.5)",
    "admissible": "mass-metric projectors, Kövecses & Piedboeuf (31)",
    "projection": "square projectors, Aghili (22)-(24)",
    "partition": "independent coordinates, Spencer (2.46)",
    "lagrange": "multipliers eliminated, the classical way",
    "augmented": "one system in v̇ and λ",
}


def four_bar(name: str, crank: float, coupler: float, rocker: float, ground: float) -> da.Mechanism:
    """Four uniform bars of 3 kg/m in a plane, joined at A, B, C and D."""
    m = da.Mechanism(name, gravity=(0, -9.81, 0))
    bars = {}
    for bar, length in {"crank": crank, "coupler": coupler, "rocker": rocker}.items():
        mass = 3.0 * length
        bars[bar] = m.add_body(bar, mass=mass, com=(length / 2, 0, 0), inertia=da.rod(mass, length))
    m.add_joint("A", da.Revolute("z"), m.ground, bars["crank"])
    m.add_joint("B", da.Revolute("z"), bars["crank"].at(crank), bars["coupler"])
    m.add_joint("D", da.Revolute("z"), m.ground.at(ground), bars["rocker"])
    m.close_loop("C", da.Revolute("z"), bars["coupler"].at(coupler), bars["rocker"].at(rocker))
    return m


def title(text: str) -> None:
    print(f"\n{text}\n{'─' * len(text)}")


def show_branches(system: da.System) -> None:
    title("Both ways to close it with the crank at 0.6 rad")
    for x in system.assemble({"A": 0.6}, branches=2):
        how = f"residual {x.evidence.residual:.0e} m after {x.evidence.iterations} iterations"
        print(f"  B = {x['B']:+.4f} rad   D = {x['D']:+.4f} rad   {how}")


def show_forces(system: da.System, x: da.State) -> None:
    title("Forces in the joints, crank turning at 2 rad/s")
    r = system.constraint_forces(x)
    print("  moment (N m) and force (N) on the child, in its axes; — where rigid bodies do not decide it\n")
    print("          " + "".join(f"{c:>9s}" for c in ("mx", "my", "mz", "fx", "fy", "fz")))
    for name, wrench in {**r.joints, **r.loops}.items():
        cells = (f"{w + 0.0:9.3f}" if known else "        —" for w, known in zip(wrench.round(3), r.determinate[name]))
        print(f"  {name:8s}" + "".join(cells))


def show_times(system: da.System, x: da.State) -> None:
    title("Time of one acceleration with its multipliers")
    n, kernel = 4000, system.kernel("accelerate")
    q, v, tau = np.tile(x.q, (n, 1)), np.tile(x.v, (n, 1)), np.zeros(system.nv)
    batch = min(repeat(lambda: kernel.batch(q, v, tau), number=1, repeat=20)) / n
    call = min(repeat(lambda: kernel(x.q, x.v, tau), number=1000, repeat=5)) / 1000
    full = min(repeat(lambda: system.acceleration(x), number=100, repeat=5)) / 100
    print(f"  {batch * 1e9:6.0f} ns   machine code, in a batch of {n} states ({kernel.instructions} operations)")
    print(f"  {call * 1e9:6.0f} ns   the same, one state a call from Python")
    print(f"  {full * 1e6:6.0f} µs   system.acceleration(x), with checks, rank and residual")


def show_run(system: da.System, x: da.State) -> None:
    title("Ten seconds of motion: da.simulate(system, x, 10.0)")
    da.simulate(system, x, 0.1)  # compiles
    start = perf_counter()
    run = da.simulate(system, x, 10.0)
    seconds = perf_counter() - start
    print(f"  {run.steps} steps of order 8 in {seconds * 1e3:.1f} ms")
    print(f"  the loop stays closed to {run.residuals.max():.0e} m, energy to {np.ptp(run.energy):.0e} J")


def show_singular_run() -> None:
    title("A five-bar through its singular positions (paper 1, example 2)")
    system = zoo.five_bar().compile()
    run = da.simulate(system, system.state(*zoo.five_bar_start()), 5.0)
    for p in run.passages:
        print(f"  {p.start:.4f} to {p.end:.4f} s: rank {p.rank} of 2, {p.steps} careful steps")
    print(
        f"  energy {run.energy[0]:.4f} J, changed by {np.ptp(run.energy):.0e} J; the paper's first crossing: 0.6508 s"
    )
    figure, animation = pictures(run, Path("build/demo"))
    print(f"  figure: {figure}\n  animation, for any browser: {animation}")


def show_formulations(regular: da.System, x: da.State, singular: da.System, flat: da.State) -> None:
    title("One acceleration by every formulation: four-bar, then flat parallelogram")
    print("  The first run compiles each of them once: about a minute in all.\n")
    head = f"{'vdot A':>9s}{'rank':>5s}{'residual':>9s}"
    print(f"  {'':11s}{head}   │{head}")
    for name, text in FORMULATIONS.items():
        print(f"  {name:11s}", end="", flush=True)
        for k, (system, state) in enumerate([(regular, x), (singular, flat)]):
            a = system.acceleration(state, formulation=name)
            row = f"{a.vdot[0]:9.3f}{a.rank:5d}{a.residual:9.0e}" if a.success else f"{'refuses: dependent':>23s}"
            print(row + ("   │" if k == 0 else f"   {text}"), end="", flush=True)
        print()


def main() -> None:
    m = four_bar("four-bar", crank=0.20, coupler=0.60, rocker=0.40, ground=0.55)
    title("The mechanism")
    print(m)
    system = m.compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})

    title("What it is like there: print(system.report(x))")
    print(system.report(x))
    show_branches(system)
    show_forces(system, x)
    show_times(system, x)
    show_run(system, x)

    parallelogram = four_bar("parallelogram", crank=0.20, coupler=0.55, rocker=0.20, ground=0.55).compile()
    flat = parallelogram.state(v={"A": 2.0, "B": -2.0, "D": 2.0})
    title("A parallelogram, lying flat: it can go on in two ways")
    print(parallelogram.report(flat))
    show_formulations(system, x, parallelogram, flat)
    show_singular_run()


if __name__ == "__main__":
    main()
