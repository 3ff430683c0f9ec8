"""Constrained acceleration beside Pinocchio and MuJoCo: v̇ with M v̇ + h = Aᵀλ and A v̇ + γ = 0.

Natively, in a compiled loop that calls kernels by their address:

    elimination   the kernel "accelerate": v̇, λ and the margin of the elimination, where the rows are independent
    nullspace     the kernel "constrained" and the formulation "nullspace" in the mass metric: whatever the rank
    lagrange      the same with the formulation "lagrange"

The output of "constrained" is the memory of the formulation's M, f, A and γ, so nothing is copied. From Python:
`system.acceleration(state)`, which checks, chooses and reports, and the kernel "accelerate" called with arrays.

Peers: Pinocchio's `constraintDynamics` with μ = 1e-8 and two proximal iterations, the fastest setting that reaches
rounding error on all of these; its loop-constrained articulated-body algorithm `lcaba` with μ = 1e-6 and two
iterations; MuJoCo's `mj_forward` with its stiffest constraints, which stay soft. Pinocchio's time without Python is
its time less that of a call with a model and a constraint list that are empty; the part `peer` measures the C++ alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import pinocchio as pin

from benchmarks import models
from benchmarks.description import Model
from benchmarks.timing import Table, address_loop, interleaved, native, python_loop, room, versus
from dalembert.formulations import make_problem
from dalembert.linalg import allocate, cholesky, rank_factor, whiten_rows
from dalembert.native.calls import jump
from dalembert.native.library import address as address_of
from dalembert.native.struct import address
from dalembert.system.acceleration import limits

TOLERANCE = 1e-10
DENSE = ("nullspace", "lagrange")
TARGETS = {"P1 five-bar": 5.0, "P2 four-bar": 5.0, "P3 two arms": 3.0}


def problems() -> list[Model]:
    """P1, P2 (also where its plane is not that of two axes), P3, P5."""
    ladders = [models.ladder(n) for n in (1, 10, 40)]
    return [models.five_bar(), models.four_bar(), models.tilted_four_bar(), models.two_arms(), *ladders]


@native
def _solved(count, kernel, x, y, w, solve, problem):
    for _ in range(count):
        jump(kernel, x, y, w)
        jump(solve, 0, 0, problem)


@native
def _only_cholesky(count, M, upper):
    for _ in range(count):
        cholesky(M, upper)


@native
def _only_whiten(count, A, upper, white):
    for _ in range(count):
        whiten_rows(A, upper, white)


@native
def _only_factor(count, factor, white, tolerance, safety):
    for _ in range(count):
        rank_factor(factor, white, tolerance, safety, False)


class Ours:
    """A problem in dalembert, in a state on the constraints: its kernels, and a workspace that is their output."""

    def __init__(self, model: Model):
        self.system = model.mechanism().compile()
        self.q, self.v = models.consistent_state(model, self.system)
        self.state = self.system.state(self.q, self.v)
        n, m = self.n, self.m = self.system.nv, len(self.system.row_names)
        self.tau = np.zeros(n)
        self.kernel, self.direct = self.system.kernel("constrained"), self.system.kernel("accelerate")
        self.x = np.concatenate([self.q, self.v, self.tau])  # "constrained" has no τ and reads the beginning
        self.y, self.w = _rooms(self.kernel)
        M, f, A, gamma = np.split(self.y, np.cumsum([n * n, n, m * n]))
        views = {"M": M.reshape(n, n), "f": f, "A": A.reshape(m, n), "gamma": gamma}
        least = limits(self.system)
        self.work = make_problem(n, m, **views, floor=least.floor)
        vdot, _, (angle, _) = self.direct(self.q, self.v, self.tau)
        self.eliminable = bool(angle > least.angle and np.isfinite(vdot).all())

    def native(self, name: str):
        """A whole evaluation as a compiled loop, and its v̇."""
        if name == "elimination":
            loop, y = _kernel_loop(self.direct, self.x)
            loop(1)
            return loop, y[: self.n].copy()
        places = (self.kernel.address, address(self.x), address(self.y), address(self.w))
        solve = address_of(name)
        loop = lambda count: _solved(count, *places, solve, self.work.pointer)  # noqa: E731
        loop(1)
        return loop, self.work.vdot.copy() if self.work.status == 0 else None

    def lanes(self, lanes: int):
        """Elimination for several states at once."""
        return _kernel_loop(self.system.kernel("accelerate", lanes=lanes), np.repeat(self.x, lanes))[0]

    def parts(self) -> dict:
        """Pieces of the dense routes as compiled loops."""
        k, work = self.kernel, self.work
        factor = allocate(self.m, self.n)
        return {
            "kernel": address_loop(k.address, address(self.x), address(self.y), address(self.w)),
            **{name: address_loop(address_of(name), 0, 0, work.pointer) for name in DENSE},
            "Cholesky": lambda count: _only_cholesky(count, work.M, work.upper),
            "whiten": lambda count: _only_whiten(count, work.A, work.upper, work.white),
            "factor": lambda count: _only_factor(count, factor, work.white, work.tolerance, work.safety),
        }

    def exact(self) -> np.ndarray:
        """v̇ by NumPy: the null space of the SVD."""
        M, f, A, gamma = (x.copy() for x in (self.work.M, self.work.f, self.work.A, self.work.gamma))
        c = -np.linalg.pinv(A, rcond=1e-10) @ gamma
        _, s, V = np.linalg.svd(A)
        K = V[np.sum(s > 1e-10 * s[0]) :].T
        return c + K @ np.linalg.solve(K.T @ M @ K, K.T @ (f - M @ c))

    def residual(self, vdot: np.ndarray) -> float:
        """‖A v̇ + γ‖∞."""
        return float(np.abs(self.work.A @ vdot + self.work.gamma).max())


def _rooms(kernel) -> tuple[np.ndarray, np.ndarray]:
    return room(kernel.y_size), room(kernel.work_size)


def _kernel_loop(kernel, x):
    y, w = _rooms(kernel)
    loop = address_loop(kernel.address, address(x), address(y), address(w))
    return (lambda count, keep=(x, y, w): loop(count)), y


class Peer:
    """The same in Pinocchio."""

    def __init__(self, model: Model, q: np.ndarray, v: np.ndarray):
        self.model = model.pinocchio()
        self.constraints = model.pinocchio_closures(self.model)
        self.q, self.v, self.tau = q, v, np.zeros(self.model.nv)

    def route(self, name: str, mu: float, iterations: int):
        """A loop of Python and its answer."""
        data, details = self.model.createData(), pin.StdVec_RigidConstraintData()
        for c in self.constraints:
            details.append(c.createData())
        if name == "lcaba":
            pin.computeJointMinimalOrdering(self.model, data, self.constraints)
        else:
            pin.initConstraintDynamics(self.model, data, self.constraints, details)
        f, settings = getattr(pin, name), pin.ProximalSettings(1e-14, mu, iterations)
        given = (self.model, data, self.q, self.v, self.tau, self.constraints, details, settings)
        names = dict(zip(("m", "d", "q", "v", "tau", "c", "cd", "p"), given))
        return python_loop("f(m, d, q, v, tau, c, cd, p)", f=f, **names), np.array(f(*given))


class Nothing(Peer):
    """No joints, no constraints: what is left is the call."""

    def __init__(self):
        self.model, self.constraints = pin.Model(), pin.StdVec_RigidConstraintModel()
        self.q = self.v = self.tau = np.zeros(0)


def mujoco_route(model: Model, q: np.ndarray, v: np.ndarray):
    """mj_forward from Python and its answer."""
    m = mujoco.MjModel.from_xml_string(model.mujoco_xml())
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = q, v
    mujoco.mj_forward(m, d)
    return python_loop("f(m, d)", f=mujoco.mj_forward, m=m, d=d), d.qacc.copy()


@dataclass(frozen=True)
class Figures:
    """What was measured on a problem, by route."""

    ours: Ours
    seconds: dict[str, float]
    residual: dict[str, float]
    difference: dict[str, float]  # of v̇, relative to NumPy's

    def micro(self, *names: str) -> list[float | None]:
        """Microseconds; None where a route does not apply."""
        return [1e6 * self.seconds[name] if name in self.seconds else None for name in names]

    def ratio(self, peer: float, name: str) -> float | None:
        """How much faster than the peer."""
        return peer / self.seconds[name] if name in self.seconds else None


def measure(model: Model, rounds: int) -> Figures:
    """Every route on one problem."""
    ours = Ours(model)
    routes, answers = {}, {}
    for name in (*DENSE, "elimination") if ours.eliminable else DENSE:
        loop, answer = ours.native(name)
        if answer is not None:
            routes[name], answers[name] = loop, answer
    if ours.eliminable:
        routes["8 lanes"] = ours.lanes(8)
        given = {"q": ours.q, "v": ours.v, "tau": ours.tau}
        routes["Python, kernel"] = python_loop("f(q, v, tau)", f=ours.direct, **given)
    routes["Python"] = python_loop("f(x)", f=ours.system.acceleration, x=ours.state)
    answers["Python"] = ours.system.acceleration(ours.state).vdot
    peer = Peer(model, ours.q, ours.v)
    routes["Pinocchio"], answers["Pinocchio"] = peer.route("constraintDynamics", 1e-8, 2)
    routes["lcaba"], answers["lcaba"] = peer.route("lcaba", 1e-6, 2)
    routes["overhead"], _ = Nothing().route("constraintDynamics", 1e-8, 2)
    routes["MuJoCo"], answers["MuJoCo"] = mujoco_route(model, ours.q, ours.v)
    routes |= {f"part: {name}": loop for name, loop in ours.parts().items()}
    time = interleaved(routes, rounds)
    if "8 lanes" in time:
        time["8 lanes"] /= 8
    exact = ours.exact()
    difference = {name: float(np.abs(a - exact).max() / np.abs(exact).max()) for name, a in answers.items()}
    for name in difference.keys() - {"lcaba", "MuJoCo"}:
        assert difference[name] < TOLERANCE, (model.name, name, difference[name])
    return Figures(ours, time, {name: ours.residual(a) for name, a in answers.items()}, difference)


def verdicts(model: Model, f: Figures) -> list[str]:
    """The figures against what is asked of them."""
    t, lines = f.seconds, []
    net = t["Pinocchio"] - t["overhead"]
    if model.name in TARGETS:
        lines += [
            f"- {model.name}, {name} against Pinocchio less its overhead: {versus(net / t[name], TARGETS[model.name])}"
            for name in ("elimination", *DENSE)
        ]
        for name in ("Python, kernel", "Python"):
            lines.append(f"- {model.name}, from {name} against Pinocchio: {versus(t['Pinocchio'] / t[name], 1.0)}")
    if model.name.endswith(" 40"):
        best = min(t["Pinocchio"], t["lcaba"], t["MuJoCo"])
        lines += [
            f"- {model.name}, {name} against the fastest peer: {versus(best / t[name], 1.0)}"
            for name in ("elimination", *DENSE)
        ]
    return lines


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    routes = ("elimination", "8 lanes", *DENSE, "Python, kernel", "Python", "Pinocchio", "overhead", "lcaba", "MuJoCo")
    times = Table("Constrained acceleration: µs per evaluation", ["problem", "n", "m", *routes])
    ratios = Table(
        "The same: times faster than Pinocchio's constraintDynamics",
        ["problem", *(f"{name} (net)" for name in ("elimination", *DENSE)), "Python, kernel", "Python"],
    )
    answers = ("elimination", *DENSE, "Pinocchio", "lcaba", "MuJoCo")
    residuals = Table("Residual ‖A v̇ + γ‖∞", ["problem", *answers])
    differences = Table("Relative difference of v̇ from NumPy's SVD null space", ["problem", *answers])
    pieces = ("kernel", "nullspace", "Cholesky", "whiten", "factor")
    split = Table("Where the dense routes' native time goes: ns", ["problem", *pieces, "the rest", "lagrange"])
    for model in problems():
        f = measure(model, 20 if quick else 100)
        t = f.seconds
        net = t["Pinocchio"] - t["overhead"]
        times.add(model.name, f.ours.n, f.ours.m, *f.micro(*routes))
        native_ratios = [f.ratio(net, name) for name in ("elimination", *DENSE)]
        python_ratios = [f.ratio(t["Pinocchio"], name) for name in ("Python, kernel", "Python")]
        ratios.add(model.name, *native_ratios, *python_ratios)
        residuals.add(model.name, *(f.residual.get(name) for name in answers))
        differences.add(model.name, *(f.difference.get(name) for name in answers))
        part = {name: 1e9 * t[f"part: {name}"] for name in (*pieces, "lagrange")}
        rest = part["nullspace"] - part["Cholesky"] - part["whiten"] - part["factor"]
        split.add(model.name, *(part[name] for name in pieces), rest, part["lagrange"])
        ratios.notes += verdicts(model, f)
    return [times, ratios, residuals, differences, split]
