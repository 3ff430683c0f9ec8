"""Of what: quantities of a state by name, or as functions of it, with all their slopes.

A quantity is y = g(q, v, v̇, λ, u, p, t), a short formula that CasADi differentiates; v̇ and λ follow from the equations,
and so y has slopes with respect to q (as δ), v, t and θ alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.charts.leaders import name_and_function
from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.constraints import LoopJoint
from dalembert.mechanism.traced import on_expressions
from dalembert.mechanism.values import described
from dalembert.protocols import Parameters
from dalembert.recursions.momentum import kinetic_energy
from dalembert.sensitivity.equations import SensitivityEquations, tangent_jacobian
from dalembert.symbols import array, to_sx
from dalembert.system.functions import FUNCTIONS as SYSTEM_FUNCTIONS
from dalembert.system.functions import LOOP_FUNCTIONS, potential
from dalembert.system.kernels import frame_key
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.system.trace import Trace

KINDS = ("rate", "acceleration", "position", "velocity", "multiplier", "reaction")
ENERGIES = ("energy", "kinetic_energy", "potential_energy")
WRENCH = ("mx", "my", "mz", "fx", "fy", "fz")
SLOPES = ("value", "q", "v", "a", "lam", "theta", "t")


@dataclass(frozen=True)
class Integral:
    """∫ what dt over a run, as a quantity of `sensitivities`.

    what: a quantity by name, or a function of the state as in `linearize`.

    >>> import dalembert as da
    >>> m = da.Mechanism("cart")
    >>> mass = m.add_parameter("mass", 2.0)
    >>> m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=mass))
    >>> push = m.add_motor("push", "x")
    >>> run = da.simulate(m.compile(), {}, 1.0, u={"push": 4.0})                   # x = F t²/(2 m)
    >>> s = da.sensitivities(run, of={"way": da.Integral("x")}, wrt=["mass"])      # F t³/(6 m)
    >>> round(s["way"], 9), round(s.d("way", "mass"), 9)
    (0.333333333, -0.166666667)
    """

    what: Any

    def __post_init__(self) -> None:
        if not (isinstance(self.what, str) or callable(self.what)):
            raise ArgumentError(f"what is {checks.shown(self.what)}; needed: a name, or a function of the state.")


@dataclass(frozen=True)
class Quantity:
    """One number of a state."""

    name: str
    kind: str
    what: Any
    integral: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for quantities that are traced alike."""
        if self.kind in ("position", "velocity"):
            return self.kind, frame_key(self.what[0]), self.what[1]
        return self.kind, self.what

    @property
    def dynamic(self) -> bool:
        """Whether it depends on accelerations or forces."""
        return self.kind in ("acceleration", "multiplier", "reaction")


def quantities(system: System, of: Any) -> list[Quantity]:
    """The numbers that were asked for: a name, a list of names and (name, function), or {name: what}."""
    given = [of] if isinstance(of, str) else of
    if isinstance(given, Mapping):
        pairs = [(checks.name(name, "a name in of"), what) for name, what in given.items()]
    elif isinstance(given, (list, tuple)):
        pairs = [(item, item) if isinstance(item, str) else name_and_function(item, "of") for item in given]
    else:
        raise ArgumentError(f"of is {checks.shown(of)}; needed: names, (name, function) pairs, or {{name: what}}.")
    out: list[Quantity] = []
    for name, what in pairs:
        inner = what.what if isinstance(what, Integral) else what
        found = _read(system, name, inner)
        out += [Quantity(*x, isinstance(what, Integral)) for x in found]
    if not out:
        raise ArgumentError("of names no quantity; needed: at least one.")
    names = [x.name for x in out]
    if len(set(names)) < len(names):
        raise ArgumentError(f"of has a name twice: {', '.join(names)}.")
    return out


def _read(system: System, name: str, what: Any) -> list[tuple[str, str, Any]]:
    if not isinstance(what, str):
        return [(name, "function", checks.function(what, f"'{name}' in of"))]
    if what in ENERGIES or what == "time":
        return [(name, what, None)]
    if what in system.v_names:
        return [(name, "coordinate", system.v_names.index(what))]
    kind, _, rest = what.partition(":")
    if kind not in KINDS:
        raise unknown("quantity", what, [*system.v_names, *ENERGIES, "time", *(f"{k}:…" for k in KINDS)], "of")
    if kind in ("rate", "acceleration"):
        return [(name, kind, system.arguments.velocity_index(rest))]
    if kind == "multiplier":
        if rest not in system.row_names:
            raise unknown("row", rest, system.row_names, "of")
        return [(name, kind, rest)]
    where, _, part = rest.partition("@")
    parts = WRENCH if kind == "reaction" else ("x", "y", "z")
    chosen = parts if not part else (part,)
    if chosen[0] not in parts:
        raise ArgumentError(f"'{what}' asks for component '{part}'; needed: {', '.join(parts)}.")
    target: Any = where if kind == "reaction" else system.layout.frame(where)
    if kind == "reaction":
        loops = [c.name for c in system.description.constraints if isinstance(c, LoopJoint)]
        if where not in (*system.description.whole.joints, *loops):
            raise unknown("joint", where, [*system.description.whole.joints, *loops], "of")
    label = name if name != what else f"{kind}:{where}"
    return [(label if part and name != what else f"{label}@{x}", kind, (target, parts.index(x))) for x in chosen]


def check_determinate(system: System, x: State, u: Any, p: Parameters, asked: list[Quantity]) -> None:
    """Refuse forces that redundant constraints share in a way rigid bodies do not determine."""
    if not any(y.kind in ("multiplier", "reaction") for y in asked):
        return
    found = system.constraint_forces(x, u=u, p=p)
    for y in asked:
        known = True
        if y.kind == "multiplier":
            known = bool(found.determinate_rows[y.what])
        elif y.kind == "reaction":
            known = bool(found.determinate[y.what[0]][y.what[1]])
        if not known:
            raise ArgumentError(f"'{y.name}' is not determinate: redundant constraints share its load.")


@dataclass(frozen=True, eq=False)
class Values:
    """Quantities at N states: values and slopes with respect to the state, the time and θ."""

    value: np.ndarray  # (N, k)
    q: np.ndarray  # (N, k, nv) with respect to δ
    v: np.ndarray  # (N, k, nv)
    t: np.ndarray  # (N, k)
    theta: np.ndarray  # (N, k, m)

    @property
    def x(self) -> np.ndarray:
        """(N, k, 2 nv) with respect to (δ, v)."""
        return np.concatenate([self.q, self.v], axis=2)


def values(eq: SensitivityEquations, asked: list[Quantity], known: Mapping[str, Any]) -> Values:
    """The quantities at the states `known`, v̇ and λ eliminated."""
    n, k, nv, theta = len(known["q"]), len(asked), eq.system.nv, len(eq.targets.traced)
    kernel = eq.system.kernels.custom(
        ("quantities", eq.targets.key, *(y.key for y in asked)), ("q", "v", "a", "lam", "u", "p", "t"),
        lambda s: _traced(s, eq, asked), eq.rows, [f"by_{x}" for x in SLOPES], eq.lanes,
    )  # fmt: skip
    dynamic = any(y.dynamic for y in asked)
    left_out = len(eq.used.left_out)
    a, lam = np.zeros((n, nv)), np.zeros((n, eq.m + left_out))
    if dynamic:
        d, by = eq.slopes(known), eq.by_targets(known)
        a, lam[:, : eq.m] = d["vdot"], d["multipliers"].reshape(n, eq.m)
    out = dict(zip(SLOPES, eq.at(kernel, {**known, "a": a, "lam": lam})))
    out["theta"] = out["theta"].reshape(n, k, theta)
    out["t"] = out["t"].reshape(n, k, 1)
    if dynamic:
        out["lam"] = out["lam"].reshape(n, k, eq.m + left_out)[:, :, : eq.m]
        inner = {x: (d[f"vdot_{x}"], d[f"multipliers_{x}"]) for x in "qvt"}
        for x, (by_a, by_lam) in {**inner, "theta": (by["vdot"], by["multipliers"])}.items():
            out[x] = out[x] + out["a"] @ by_a + out["lam"] @ by_lam
    return Values(out["value"], out["q"], out["v"], out["t"][:, :, 0], eq.targets.spread(out["theta"]))


def _traced(s: Trace, eq: SensitivityEquations, asked: list[Quantity]) -> tuple[Any, ...]:
    _ = s.lam  # makes its symbols
    f = ca.vertcat(*(_value(s, y) for y in asked))
    theta = eq.targets.symbols(s)
    k, nv = len(asked), s.tree.nv
    by_q = _matrix(tangent_jacobian(s, f), k, nv)
    for i, y in enumerate(asked):
        if y.kind == "coordinate":  # a tangent coordinate, which need not be an entry of q
            by_q[i] = np.eye(nv)[y.what]
    rest = [_matrix(ca.jacobian(f, x), k, x.numel()) for x in (s.sx["v"], s.sx["a"], s.sx["lam"], theta, s.sx["t"])]
    return array(f).reshape(-1), by_q, *rest


def _value(s: Trace, y: Quantity) -> ca.SX:
    kind, what = y.kind, y.what
    if kind == "coordinate":
        name, names = s.d.layout.v_names[what], s.d.layout.q_names
        return to_sx([s.q[names.index(name)]]) if name in names else ca.SX(0)
    if kind == "rate":
        return to_sx([s.v[what]])
    if kind == "acceleration":
        return to_sx([s.a[what]])
    if kind == "time":
        return to_sx([s.t[0]])
    if kind in ("position", "velocity"):
        return to_sx([getattr(s.state, kind)(what[0])[what[1]]])
    if kind == "multiplier":
        return to_sx([s.lam[s.rows.names.index(what)]])
    if kind == "reaction":
        joint, part = what
        tree = list(s.d.whole.joints)
        if joint in tree:
            return to_sx([SYSTEM_FUNCTIONS["reactions"][1](s)[tree.index(joint)][part]])
        loop = next(c for c in s.d.constraints if isinstance(c, LoopJoint) and c.name == joint)
        return to_sx([LOOP_FUNCTIONS["loop_wrench"][1](s, loop)[part]])
    if kind == "function":
        x = described(on_expressions(what, s.state, f"'{y.name}' in of"), f"'{y.name}' in of")
        if x.size != 1:
            raise ArgumentError(f"'{y.name}' in of has {x.size} values; needed: one expression.")
        return to_sx(x.reshape(1))
    total: Any = 0.0 if kind == "potential_energy" else kinetic_energy(s.at)
    return to_sx([total if kind == "kinetic_energy" else total + potential(s)])


def _matrix(x: ca.SX, rows: int, columns: int) -> np.ndarray:
    return array(ca.densify(x)).reshape(rows, columns)
