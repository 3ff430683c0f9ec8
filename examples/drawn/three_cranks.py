"""A bar on three parallel cranks, one more than it needs: errors of formulations against the pendulum that it is."""

import dalembert as da

PLACES = {"A": 0.0, "B": 0.9, "C": 2.0}


def machine(angle=0.15, crank=0.5):
    pins = {name: (x, 0.0) for name, x in PLACES.items()} | {f"{n}2": (n, crank, angle) for n in PLACES}
    bars = {f"crank {n}": f"{n} {n}2" for n in PLACES}
    m = da.Linkage("three cranks", pins, "A B C", bars, mass=1.0)
    m.add_bar("bar", "A2 C2 B2", mass=2.0)
    return m


def main():
    system = machine().compile()
    ends = {}
    for formulation in ("nullspace", "projection", "admissible", "augmented"):
        for tolerance in (1e-6, 1e-9):
            run = da.simulate(system, {}, 1.5, formulation=formulation, rtol=tolerance, atol=tolerance)
            ends[formulation, tolerance] = float(run["A"][-1])
    return {"report": system.report(system.state()), "ends": ends}


if __name__ == "__main__":
    print(main())
