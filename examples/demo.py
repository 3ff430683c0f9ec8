"""A five-bar falls through its singular position: described, checked, run by several formulations, drawn, animated."""

from pathlib import Path
from time import perf_counter

import numpy as np

import dalembert as da
from pictures import pictures

CROSSINGS = (0.6508151444, 1.8537909737, 3.909780497)  # s: by a model in one coordinate, integrated to 1e-11

#: what is compared: how it is called, and the options of da.simulate
WAYS = {
    "da.simulate(system, x, 5.0)": {},
    "... tighter, energy restored": {"rtol": 1e-11, "atol": 1e-12, "stabilization": "energy"},
    "... in two independent coordinates": {"rtol": 1e-11, "atol": 1e-12, "coordinates": "tangent"},
    "null space, RK4 (paper 1)": {"formulation": "nullspace", "method": "rk4", "step": 1e-3},
    "multipliers, RK4": {"formulation": "lagrange", "method": "rk4", "step": 1e-3},
    "multipliers, Baumgarte, RK4 (paper 1)": {
        "formulation": "lagrange", "stabilization": da.Baumgarte(10.0, 10.0), "method": "rk4", "step": 1e-3,
    },
}  # fmt: skip


def five_bar() -> da.Mechanism:
    """Links of 1, 1.5, 1.5 and 1 m between supports one metre apart (paper 1, table 3.1)."""
    m = da.Mechanism("five-bar", gravity=(0, -9.81, 0))
    sizes = {
        "left": (1.0, 2.0, 1.0),
        "upper left": (1.5, 3.0, 2.0),
        "upper right": (1.5, 3.0, 2.0),
        "right": (1.0, 2.0, 1.0),
    }
    links = {
        name: m.add_body(name, mass=mass, com=(length / 2, 0, 0), inertia=(0, moment, moment))
        for name, (length, mass, moment) in sizes.items()
    }
    m.add_joint("A", da.Revolute("z"), m.ground, links["left"])
    m.add_joint("B", da.Revolute("z"), links["left"].at(1.0), links["upper left"])
    m.add_joint("C", da.Revolute("z"), links["upper left"].at(1.5), links["upper right"])
    m.add_joint("D", da.Revolute("z"), links["upper right"].at(1.5), links["right"])
    m.close_loop("E", da.Revolute("z"), links["right"].at(1.0), m.ground.at(1.0))
    return m


def title(text: str) -> None:
    print(f"\n{text}\n{'─' * len(text)}")


def compare(system: da.System, x: da.State) -> da.Run:
    """The table; returns the second run, which is drawn."""
    title("Five seconds, dropped from above: it passes its singular position at 0.651, 1.854 and 3.910 s")
    print("  The first run of each kind generates machine code: two seconds in all, once on a computer.\n")
    print(f"  {'':38s}{'ms':>7s}{'steps':>7s}{'loop open':>12s}{'energy error':>14s}   passed at")
    runs = []
    for name, options in WAYS.items():
        print(f"  {name:38s}", end="", flush=True)
        da.simulate(system, x, 0.7, **options)
        start = perf_counter()
        run = da.simulate(system, x, 5.0, **options)
        seconds = perf_counter() - start
        error = np.abs(run.energy_error).max()
        where = ", ".join(f"{p.nearest:.3f}" for p in run.passages)
        print(f"{1e3 * seconds:7.1f}{run.steps:7d}{run.residuals.max():10.0e} m{error:12.0e} J   {where}")
        runs.append(run)
    print(
        "\n  Baumgarte's feedback makes up energy in the third passage (Fig. 3.10 of the paper), by any formulation;"
        "\n  multipliers do not. See examples/gallery/five_bar_study.py."
    )
    return runs[1]


def main() -> None:
    system = five_bar().compile()
    folded = {"A": np.pi, "B": np.pi, "C": 0.0, "D": np.pi}
    title("In its singular position: print(system.report(x))")
    print(system.report(system.state(folded)))
    elbow = np.arccos(2 / 3)
    x = system.assemble(
        guess={"A": 2 * np.pi / 3, "B": elbow - 2 * np.pi / 3, "C": -2 * elbow, "D": elbow - 2 * np.pi / 3}
    )
    run = compare(system, x)
    figure, animation = pictures(run, Path("build/demo"))
    print(f"\n  figure:    {figure}\n  animation: {animation} (opens in any browser, offline)")


if __name__ == "__main__":
    main()
