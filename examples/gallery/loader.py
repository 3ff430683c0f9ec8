"""The loader linkage of Spencer's section 4.5, linearized in two choices of coordinates.

Eight bodies, three loops, two degrees of freedom, at rest in the drawn position, no force in the cylinders: no
equilibrium, so the eigenvalues depend on the coordinates, as the paper shows. It prints no dimensions of the John
Deere 744; this linkage has those of another Z-bar loader, so its numbers are others. The eigenvalues of the printed
matrices are recomputed (one sign of the second set is misprinted there). The exact matrices of this linkage are
compared with central differences.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control, zoo

CHOICES = {"angles of boom and bucket": ("B", "G"), "cylinders": ("lift", "tilt")}
PRINTED = {
    "angles of boom and bucket": ([[-2.3763, -0.38157], [7.853, -1.9778]], "±0.54643 ± 1.5734i", "±0.5475 ± 1.5729i"),
    "cylinders": ([[-1.9649, 2.5565], [-0.58728, -2.6457]], "±0.37624 ± 1.5642i", "±0.37688 ± 1.563i"),
}


def differences(system, names, x, h=1e-5):
    """∂v̇/∂y of the named coordinates by central differences of assembled states, (2, 2)."""

    def vdot(dy):
        y = system.assemble({n: x[n] + d for n, d in zip(names, dy)}, guess=x)
        return system.acceleration(y).vdot[[system.v_names.index(n) for n in names]]

    return np.column_stack([(vdot(h * e) - vdot(-h * e)) / (2 * h) for e in np.eye(2)])


def pairs(A) -> str:
    """Eigenvalues of [[0, 1], [A, 0]]: ± the square roots of those of A."""
    return ", ".join(f"±({root:.5g})" for root in np.sqrt(np.linalg.eigvals(np.asarray(A)).astype(complex)))


def main(out) -> dict[str, object]:
    system = zoo.loader().compile()
    x = system.state(*zoo.loader_start())
    rows = {}
    for choice, names in CHOICES.items():
        A = da.linearize(system, x, independent=list(names)).A[2:, :2]
        matrix, rcf, sim = PRINTED[choice]
        rows |= {
            f"{choice}: printed by RCF, by SimMechanics": f"{rcf}, {sim}",
            f"{choice}: eigenvalues of the printed matrix": pairs(matrix),
            f"{choice}: eigenvalues of this linkage": pairs(A),
            f"{choice}: A of this linkage": A.round(4).tolist(),
            f"{choice}: A against differences": float(np.abs(A - differences(system, names, x)).max()),
        }
    path = control.waypoints([0, 2, 4, 6], [[0, 0], [0.2, 0.04], [0.4, 0.14], [0.1, 0.0]])
    run = da.simulate(system, x, 6.0, u=control.computed_torque(system, path, rate=6.0), period=0.01)
    panels = [
        Panel("a working cycle: cylinders (m)", {c: run[c] for c in ("lift", "tilt")}),
        Panel("forces (kN)", {c: run.u[:, k] / 1e3 for k, c in enumerate(("lift", "tilt"))}),
    ]
    picture = Picture(system, [run.state(len(run.t) // 2), x], [run.position("lip")])
    return publish(out, "loader", rows, [picture], panels, run=run, animated=run, traces=["lip"])
