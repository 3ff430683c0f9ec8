"""Forces and constraints as data; functions of the state and of time are recorded and written as expressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError, DescriptionError
from dalembert.formats.model.tracing import SymbolicState
from dalembert.formats.model.writing import Data, Writing, axis, each_or_one, is_zero, vector
from dalembert.mechanism.constraints import (
    Constraint,
    Expressions,
    LoopJoint,
    PointOn,
    Rod,
    coordinate_driver,
    coupling,
    point_driver,
    pulley_rope,
    rolling_disc_on_disc,
    rolling_on_plane,
    skate,
)
from dalembert.mechanism.constraints.driver import components
from dalembert.mechanism.contacts.friction import is_exact_one
from dalembert.mechanism.curves import Curve
from dalembert.mechanism.forces import (
    Actuator,
    Along,
    Bushing,
    Cable,
    CutJointSpring,
    DCMotor,
    ElasticCoupling,
    Force,
    JointForce,
    KinematicInput,
    Muscle,
    Potential,
    Servo,
    SlippingCoupling,
    Spring,
    StickingCoupling,
    Tyre,
    Wrench,
)
from dalembert.mechanism.forces.force import evaluate
from dalembert.mechanism.motions import Table
from dalembert.mechanism.traced import on_expressions
from dalembert.mechanism.values import described
from dalembert.symbols import Scalar, array


def force_data(w: Writing, force: Force) -> Data:
    """A force as the format writes it."""
    what = f"{force.kind} '{force.name}'"
    s = w.recorder()
    with _opaque(what):
        if type(force) is JointForce and force.kind == "motor":
            return {"type": "motor", "joint": force.joint.name}
        if type(force) is JointForce:
            value = vector(_evaluated(force.value, s, (force.joint.joint.nv,), what))
            data = {"type": "joint force", "joint": force.joint.name, "value": value[0] if len(value) == 1 else value}
        elif type(force) is Wrench:
            data = {"type": "wrench", "frame": w.place(force.frame)}
            for key, given in (("force", force.force), ("moment", force.moment)):
                x = _evaluated(given, s, (3,), what)
                if not is_zero(x):
                    data[key] = vector(x)
            if force.axes != "world":
                data["axes"] = force.axes
        elif type(force) is Cable:
            tension = _evaluated(force.tension, s, (), what)
            data = {"type": "cable", "through": [w.place(p) for p in force.points], "tension": tension}
        elif type(force) is Spring:
            points = [w.place(p) for p in force.points]
            data = {"type": force.kind, "through" if force.slack else "between": points}
            if force.kind != "damper":
                data["stiffness"] = _law(force.stiffness)
            data |= _present(damping=force.damping, rest_length=force.rest_length)
        elif type(force) is ElasticCoupling:
            data = _elastic_coupling(force) | _pictured(w, force.wheels, force.path)
        elif type(force) is DCMotor:
            data = _dc_motor(force)
        elif type(force) is Muscle:
            data = {"type": "muscle", "through": [w.place(p) for p in force.points], "strength": force.strength}
            data |= {"optimal_length": force.optimal_length, **_present(tendon=force.tendon)}
            data |= {} if force.speed_limit == 10.0 else {"speed": force.speed_limit}
        elif type(force) is Tyre:
            data = _tyre(w, force)
        elif type(force) is SlippingCoupling:
            capacity = _evaluated(force.capacity, s, (), what)
            data = {"type": "slipping coupling", "coefficients": _terms(force), "capacity": capacity}
            data |= {"creep": force.creep, **_pictured(w, force.wheels, force.path)}
        elif type(force) is StickingCoupling:
            plain = is_exact_one(force.capacity)
            capacity = force.law.coulomb if plain else force.capacity
            data = {"type": "slipping coupling", "coefficients": _terms(force), "capacity": capacity}
            data |= {"static": force.law.static} if plain and force.law.static is not None else {}
            data |= _pictured(w, force.wheels, force.path)
        elif type(force) is Bushing:
            data = {"type": "bushing", "between": [w.place(force.a), w.place(force.b)]}
            for key, x, curves in zip(("stiffness", "damping"), (force.stiffness, force.damping), force.curves):
                if key == "stiffness" or curves or not is_zero(x):
                    own = is_zero(x[~np.eye(6, dtype=bool)])
                    six: list[Any] = vector(np.diag(x)) if own else [vector(row) for row in x]
                    for k, curve in curves:
                        six[k] = _law(curve)
                    data[key] = six
        elif type(force) is Actuator:
            data = {"type": "actuator", "between": [w.place(p) for p in force.points]}
            data |= _limits(force.limits)
        elif type(force) is Servo:
            data = {"type": "servo", "coordinate": force.joint.coordinates[force.index], "stiffness": force.stiffness}
            if not is_zero(force.damping):
                data["damping"] = force.damping
            data |= {"rate": True} if array(force.value).size > 1 else {}
            data |= _limits(force.limits)
        elif type(force) is KinematicInput:
            data = {"type": "kinematic input", "coordinate": force.joint.coordinates[force.index]}
        elif type(force) is Potential:
            data = {"type": "potential", "energy": _evaluated(force.value, s, (), what)}
        elif type(force) is CutJointSpring:
            data = {"type": "cut joint spring", "loop": force.loop.name}
            for key, x in (("stiffness", force.stiffness), ("rest", force.rest), ("damping", force.damping)):
                if not is_zero(x):
                    data[key] = each_or_one(x)
        else:
            raise _unknown(what, force)
    return w.finished(data, what, s)


def constraint_data(w: Writing, c: Constraint) -> Data:
    """A constraint as the format writes it."""
    what = f"{c.kind} '{c.name}'"
    s = w.recorder()
    with _opaque(what):
        if type(c) is LoopJoint:
            kind, own = w.joint(c.joint, what)
            data = {"type": "loop", "joint": kind, **own, "between": [w.place(c.a), w.place(c.b)]}
        elif type(c) is Rod:
            data = {"type": "rod", "between": [w.place(c.a), w.place(c.b)], "length": c.length}
        elif type(c) is PointOn:
            other, along = ("line", "axis") if c.kind == "point on line" else ("plane", "normal")
            data = {"type": c.kind, "point": w.place(c.b), other: w.place(c.a), along: axis(c.axis)}
        elif type(c) is Expressions and c.recipe is not None and c.recipe[0] in _RECIPES:
            data = _RECIPES[c.recipe[0]](w, s, *c.recipe[1])
        elif type(c) is Expressions and c.recipe is None and c.forces is None and c.positive is None and not c.angular:
            data = {"type": "expression"}
            for key, rows in (("holonomic", c.holonomic), ("pfaffian", c.pfaffian)):
                if rows:
                    data[key] = {row: written_row(f, s, f"row '{row}' of {what}") for row, f in rows}
        else:
            raise _unknown(what, c)
    return w.finished(data, what, s)


def _limits(limits: np.ndarray) -> Data:
    return {"limits": [float(x) if np.isfinite(x) else None for x in limits]} if np.isfinite(limits).any() else {}


def _law(law: Any) -> Any:
    """A number, an expression, or a curve."""
    if not isinstance(law, Curve):
        return law
    data: Data = {"x": law.x.tolist(), "y": law.y.tolist()}
    data |= {"smooth": True} if law.smooth else {}
    return data if law.beyond == "linear" else {**data, "beyond": law.beyond}


def _present(**laws: Any) -> Data:
    """Those that are not the number 0."""
    return {key: _law(x) for key, x in laws.items() if isinstance(x, Curve) or not is_zero(array(x))}


def _terms(force: Along) -> Data:
    return {joint.coordinates[k]: c for joint, k, c in force.terms}


def _elastic_coupling(force: ElasticCoupling) -> Data:
    coefficients, lossless = _terms(force), not isinstance(force.efficiency, Scalar) and force.efficiency == 1.0
    data: Data = {"stiffness": _law(force.stiffness), **_present(damping=force.damping)}
    if list(coefficients.values()) == [1.0] and lossless:
        return {"type": "torsion spring", "coordinate": next(iter(coefficients)), **data, **_present(rest=force.rest)}
    data = {"type": "elastic coupling", "coefficients": coefficients, **data, **_present(offset=force.rest)}
    return data if lossless else {**data, "efficiency": force.efficiency, "creep": force.creep}


def _dc_motor(force: DCMotor) -> Data:
    kt, ke, R = force.constants
    data: Data = {"type": "dc motor", "coordinate": force.joint.coordinates[force.index], "torque_constant": kt}
    data |= {"resistance": R, **({} if ke is kt else {"back_emf": ke})}
    for key, x in (("ratio", force.ratio), ("efficiency", force.efficiency)):
        data |= {} if isinstance(x, float) and x == 1.0 else {key: x}
    return data | _limits(force.limits)


def _tyre(w: Writing, force: Tyre) -> Data:
    data: Data = {"type": "tyre", "wheel": w.place(force.wheel), "radius": force.radius, "stiffness": force.stiffness}
    data |= _present(damping=force.damping)
    for key, law in (("longitudinal", force.longitudinal), ("lateral", force.lateral)):
        data |= {key: law[0] if len(law) == 1 else list(law)} if law else {}
    data |= {} if (on := w.place(force.on)) == "ground" else {"on": on}
    data |= {} if force.axis == 1 else {"axis": "xyz"[force.axis]}
    data |= {} if force.road is None else {"road": _law(force.road)}
    return data if isinstance(force.slow, float) and force.slow == 0.1 else {**data, "slow": force.slow}


def _pulley_rope(w: Writing, s: SymbolicState, name: str, stations: Any) -> Data:
    path: list[Any] = []
    for frame, radius, about, turn in stations:
        at = w.place(frame)
        path.append({"pulley": at, "radius": radius, "axis": "xyz"[about], "turn": turn} if turn else at)
    return {"type": "pulley rope", "path": path}


def _coupling(
    w: Writing,
    s: SymbolicState,
    name: str,
    coefficients: Any,
    offset: Any,
    angular: bool,
    wheels: Any = (),
    path: Any = (),
) -> Data:
    data: Data = {"type": "coupling", "coefficients": dict(coefficients)}
    return (data if is_zero(array(offset)) else {**data, "offset": offset}) | _pictured(w, wheels, path)


def _pictured(w: Writing, wheels: Any, path: Any) -> Data:
    """The wheels of a coupling, and what a belt runs around, for pictures."""
    turned = [{"wheel": w.place(f), "radius": r, "axis": "xyz"[axis]} for f, r, axis in wheels]
    round_ = [{"pulley": w.place(f), "radius": r, "axis": "xyz"[axis], "turn": turn} for f, r, axis, turn in path]
    return {**({"wheels": turned} if turned else {}), **({"path": round_} if round_ else {})}


def _driver(w: Writing, s: SymbolicState, name: str, coordinate: str, motion: Any, angular: bool) -> Data:
    written = _table(motion) if isinstance(motion, Table) else _one(components(motion, s.t, 1, name))
    return {"type": "driver", "coordinate": coordinate, "motion": written}


def _point_driver(w: Writing, s: SymbolicState, name: str, frame: Any, motion: Any) -> Data:
    written = _table(motion) if isinstance(motion, Table) else vector(array(components(motion, s.t, 3, name)))
    return {"type": "point driver", "frame": w.place(frame), "motion": written}


def _table(table: Table) -> Data:
    data: Data = {"times": table.times.tolist(), "values": table.values.tolist()}
    return data if table.ends == "natural" else {**data, "ends": table.ends}


def _rolling(w: Writing, s: SymbolicState, name: str, wheel: Any, radius: Any, plane: Any, about: int | None) -> Data:
    data: Data = {"type": "rolling", "wheel": w.place(wheel), "radius": radius}
    if (on := w.place(plane)) != "ground":
        data["plane"] = on
    return data if about is None else {**data, "axis": "xyz"[about]}


def _rolling_discs(
    w: Writing, s: SymbolicState, name: str, a: Any, ra: Any, b: Any, rb: Any, about: int, inside: bool
) -> Data:
    data = {"type": "rolling discs", "a": w.place(a), "radius_a": ra, "b": w.place(b), "radius_b": rb}
    return {**data, "axis": "xyz"[about], **({"inside": True} if inside else {})}


def _skate(w: Writing, s: SymbolicState, name: str, frame: Any, sideways: int) -> Data:
    return {"type": "skate", "frame": w.place(frame), "sideways": "xyz"[sideways]}


_RECIPES: dict[Any, Any] = {
    coupling: _coupling,
    coordinate_driver: _driver,
    point_driver: _point_driver,
    rolling_on_plane: _rolling,
    rolling_disc_on_disc: _rolling_discs,
    skate: _skate,
    pulley_rope: _pulley_rope,
}


def _evaluated(value: Any, s: SymbolicState, shape: tuple[int, ...], what: str) -> Any:
    return evaluate(value, s, shape, what)  # type: ignore[arg-type]


def written_row(f: Any, s: SymbolicState, what: str) -> Any:
    """The one value of a user's function, recorded."""
    return _one(described(on_expressions(f, s, what), what))  # type: ignore[arg-type]


def _one(x: Any) -> Any:
    (value,) = np.ravel(array(x))
    return value


def _unknown(what: str, element: Any) -> DescriptionError:
    return DescriptionError(
        f"{what} is a {type(element).__name__} that no method of Mechanism made; a model file cannot say it."
    )


class _opaque:
    """Errors of functions that cannot be recorded, with the element's name."""

    def __init__(self, what: str):
        self.what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None and isinstance(error, Exception) and not isinstance(error, DalembertError):
            raise DescriptionError(
                f"{self.what} cannot be written to a model file: its function cannot be traced "
                f"({type(error).__name__}: {str(error)[:200]})."
            ) from error
