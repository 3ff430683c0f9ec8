"""The straight-line functions of an exported mechanism: traced as everywhere, and written as C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.charts.leaders import Coordinate
from dalembert.compiler.c_source import CText, Dialect, c_function
from dalembert.compiler.program import program_from_casadi
from dalembert.linearization.outputs import output_value
from dalembert.linearization.traced import NAMES, linear
from dalembert.mechanism.body import Frame
from dalembert.recursions.momentum import kinetic_energy
from dalembert.symbols import array
from dalembert.system.functions import FRAME_FUNCTIONS, potential, trace
from dalembert.system.rows import RowChoice
from dalembert.system.system import System
from dalembert.system.trace import Trace

MOTION = ("q", "v", "u", "p", "t")


@dataclass(frozen=True, eq=False)
class CKernel:
    """A function of C `kernel_<name>(inputs, outputs, w)`: every output is an array of its own."""

    name: str
    function: ca.Function
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]  # the function's outputs in order, as arguments of C

    def written(self, dialect: Dialect, members: Sequence[str]) -> CText:
        """Its text; members: the names of parameters in their struct."""
        f = self.function
        reads, writes = list[tuple[str, str]](), list[tuple[str, int]]()
        for i, name in enumerate(f.name_in()):
            for k in range(f.numel_in(i)):
                reads.append((name, f"p->{members[k]}" if name == "p" else "t" if name == "t" else f"{name}[{k}]"))
        for i, name in enumerate(self.outputs[: f.n_out()]):
            writes += [(name, k) for k in range(f.numel_out(i))]
        declared = {name: _declared(name) for name in self.inputs}
        declared |= {name: f"real *restrict {name}" for name in self.outputs}
        return c_function(program_from_casadi(f), f"kernel_{self.name}", declared, reads, writes, dialect)


def _declared(name: str) -> str:
    if name == "p":
        return "const mechanism_parameters *p"
    return "real t" if name == "t" else f"const real *restrict {name}"


def running(system: System, rows: RowChoice) -> list[CKernel]:
    """What steps need: the right-hand side and the projections on chosen rows, and the equations of all rows."""
    out = [_some(system.function("ode", rows=rows), "ode", MOTION, ("rates", "vdot", "powers", "margin"))]
    if system.rows.of or system.nq != system.nv:
        f = system.function("correct", rows=rows)
        out.append(CKernel("correct", f, ("q", "p", "t"), ("corrected", "phi", "margin")))
    if system.rows.of and system.rows.holonomic.any():
        out.append(CKernel("plus", system.function("plus"), ("q", "dq"), ("moved",)))
    if system.rows.of:
        f = system.function("filter", rows=rows)
        out.append(CKernel("filter", f, ("q", "v", "p", "t"), ("filtered", "speed", "margin")))
        out.append(CKernel("residuals", system.function("residuals"), ("q", "v", "p", "t"), ("phi", "speed")))
    energies = trace(
        system.description, "energies", ("q", "v", "p"), lambda s: array([kinetic_energy(s.at), potential(s)])
    )[0]
    return [*out, CKernel("energies", energies, ("q", "v", "p"), ("energies",))]


def equations(system: System) -> CKernel:
    """M, f, A, γ, Φ and A v + b of all rows."""
    f = system.function("equations")
    given = f.sx_in()
    found = f.call(given)
    *_, phi, speed, _ = found
    wanted = ("M", "f", "A", "gamma", "phi", "speed")
    g = ca.Function("equations", given, [*found[2:6], phi, speed], f.name_in(), list(wanted))
    return CKernel("equations", g, MOTION, wanted)


def input_matrix(system: System) -> CKernel:
    """B."""
    return CKernel("input_matrix", system.function("input_matrix"), ("q", "v", "p", "t"), ("B",))


def constraints(system: System) -> CKernel:
    """Φ, A and b."""
    return CKernel("constraints", system.function("constraints"), ("q", "p", "t"), ("phi", "A", "b"))


def minus(system: System) -> CKernel:
    """δ with q ⊕ δ = q1."""
    return CKernel("minus", system.function("minus"), ("q1", "q"), ("delta",))


def linear_model(
    system: System, positions: Sequence[Coordinate], velocities: Sequence[Coordinate], rows: RowChoice
) -> CKernel:
    """A, B, the rates of the states, and the margins of rows and of the choice of coordinates."""

    def value(s: Trace) -> tuple[Any, ...]:
        found = dict(zip(NAMES, linear(s, list(positions), list(velocities))))
        return found["A"], found["B"], found["rate"], found["margin"]

    f, _ = trace(system.description, "linear", MOTION, value, rows, ("A", "B", "rate", "margin"))
    return CKernel("linear", f, MOTION, ("A", "B", "rates", "margin"))


def poses(system: System, frames: Mapping[str, Frame]) -> CKernel:
    """Of each frame its rotation, row by row, and its place."""

    def value(s: Trace) -> np.ndarray:
        placed = [s.state.pose(frame) for frame in frames.values()]
        return np.concatenate([x for T in placed for x in (array(T.R).reshape(-1), array(T.p))])

    return CKernel("poses", trace(system.description, "poses", ("q", "p"), value)[0], ("q", "p"), ("poses",))


def twists(system: System, frames: Mapping[str, Frame]) -> CKernel:
    """Of each frame its twist in the axes of the ground: (ω; velocity of its origin)."""
    twist = FRAME_FUNCTIONS["twist"][1]

    def value(s: Trace) -> np.ndarray:
        return np.concatenate([array(twist(s, frame, "world")) for frame in frames.values()])

    f = trace(system.description, "twists", ("q", "v", "p"), value)[0]
    return CKernel("twists", f, ("q", "v", "p"), ("twists",))


def outputs(system: System, scalars: Sequence[tuple[str, Any]]) -> CKernel:
    """Outputs that are functions of the state, as `linearization.outputs` reads them."""

    def value(s: Trace) -> np.ndarray:
        return np.array([array(output_value(s, kind, what))[0] for kind, what in scalars], dtype=object)

    return CKernel("outputs", trace(system.description, "outputs", MOTION, value)[0], MOTION, ("y",))


def directional(system: System, rows: RowChoice, scalars: Sequence[tuple[str, Any]]) -> CKernel:
    """Derivatives of v̇ and of the outputs along changes of q, v, u and p: one sweep of forward differentiation."""
    given, values = _differentiated(system, rows, scalars)
    names = MOTION
    seeds = {name: ca.SX.sym(f"d{name}", given[name].numel()) for name in names[:4] if name in given}
    at = ca.vertcat(*(given[name] for name in seeds))
    along = [ca.densify(ca.jtimes(x, at, ca.vertcat(*seeds.values()))) for x in values]
    inputs = {**{n: given[n] for n in names if n in given}, **{f"d{n}": x for n, x in seeds.items()}}
    made = ca.Function("directional", list(inputs.values()), along, list(inputs), ["dvdot", "dy"][: len(along)])
    return CKernel("directional", made, (*MOTION, "dq", "dv", "du", "dp"), ("dvdot", "dy"))


def adjoint(system: System, rows: RowChoice, scalars: Sequence[tuple[str, Any]]) -> CKernel:
    """Gradients of v̇·wvdot + y·wy by q, v, u and p, one after the other: one sweep of reverse differentiation."""
    given, values = _differentiated(system, rows, scalars)
    weights = {n: ca.SX.sym(n, x.numel()) for n, x in zip(("wvdot", "wy"), values)}
    total = sum((ca.dot(w, x) for w, x in zip(weights.values(), values)), ca.SX(0))
    places = {"q": system.nq, "v": system.nv, "u": len(system.u_names), "p": len(system.p_names)}
    parts = [ca.gradient(total, given[n]) if n in given else ca.SX(size, 1) for n, size in places.items()]
    inputs = {n: given[n] for n in MOTION if n in given} | weights
    f = ca.Function("adjoint", list(inputs.values()), [ca.densify(ca.vertcat(*parts))], list(inputs), ["gradient"])
    return CKernel("adjoint", f, (*MOTION, "wvdot", "wy"), ("gradient",))


def in_chart(system: System) -> list[CKernel]:
    """q ⊕ δ, δ with q ⊕ δ = q1, and the rate of that δ where q1 moves with v."""
    plus, difference = system.function("plus"), system.function("minus")
    v, q1, q = (ca.SX.sym(n, k) for n, k in (("v", system.nv), ("q1", system.nq), ("q", system.nq)))
    step = ca.SX.sym("h")
    moved = plus(**dict(zip(plus.name_in(), (q1, step * v))))[plus.name_out()[0]]
    qdot = ca.substitute(ca.jacobian(moved, step), step, ca.SX(0))
    delta = difference(**{"q1": q1, "q": q})[difference.name_out()[0]]
    rate = ca.densify(ca.jtimes(delta, q1, qdot))
    carried = ca.Function("carried", [q1, q, v], [rate], ["q1", "q", "v"], ["rate"])
    return [
        CKernel("plus", plus, ("q", "dq"), ("moved",)),
        minus(system),
        CKernel("carried", carried, ("q1", "q", "v"), ("rate",)),
    ]


def _differentiated(system: System, rows: RowChoice, scalars: Sequence[tuple[str, Any]]) -> tuple[Any, list[Any]]:
    """Arguments by name, and v̇ and the outputs of them."""
    f = system.function("ode", rows=rows)
    given = dict(zip(f.name_in(), f.sx_in()))
    values = [dict(zip(f.name_out(), f.call(f.sx_in())))["vdot"]]
    if scalars:
        g = outputs(system, scalars).function
        for name, x in zip(g.name_in(), g.sx_in()):
            given.setdefault(name, x)
        values.append(ca.vertcat(*g.call([given[name] for name in g.name_in()])))
    return given, values


def _some(f: ca.Function, name: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> CKernel:
    """A kernel of a function that has more outputs, all of them empty."""
    given = f.sx_in()
    kept = [(n, x) for n, x in zip(f.name_out(), f.call(given)) if n in outputs]
    g = ca.Function(name, given, [x for _, x in kept], f.name_in(), [n for n, _ in kept])
    return CKernel(name, g, inputs, outputs)
