"""Equalities: connect, weld, joint and tendon as constraints that hold exactly."""

from __future__ import annotations

from typing import Any

from dalembert.formats.mjcf.laws import Polynomial
from dalembert.formats.mjcf.paths import JointPath
from dalembert.formats.mjcf.reading import Reading, rotation
from dalembert.formats.mjcf.tendons import Tendons
from dalembert.mechanism.body import Frame
from dalembert.mechanism.joints import Fixed, Spherical

OPEN, NO_CONTACT = 1e-6, 1 << 4
KINDS = {0: "connect", 1: "weld", 2: "joint", 3: "tendon"}


def read_equalities(r: Reading, tendons: Tendons) -> None:
    """Add the constraints of the equalities that are active at the start."""
    model = r.model
    off = bool(model.opt.disableflags & 3)  # constraints, equalities
    for k in range(model.neq):
        kind = KINDS.get(int(model.eq_type[k]))
        taken = (r.m.constraints, r.m.joints)
        if off or not model.eq_active0[k]:
            r.note("equality", k, "is switched off at the start and left out")
        elif kind is None:
            r.note("equality", k, "constraints of deformable bodies are not modelled")
        else:
            name = r.label("equality", k, *taken, default=f"{kind}{k}", dots=False)
            if kind in ("connect", "weld"):
                _loop(r, k, name, kind)
            elif kind == "joint":
                _joints(r, k, name)
            else:
                _tendons(r, k, name, tendons)
        soft = [a for a in ("solref", "solimp") if a in r.element("equality", k).attrib]
        if soft and not off:
            r.note("equality", k, f"it holds exactly here; {' and '.join(soft)} have no meaning")


def note_gaps(r: Reading) -> None:
    """Note the equalities that are open in MuJoCo's reference position."""
    mujoco, model = r.of.mujoco, r.model
    if not model.neq:
        return
    model.opt.disableflags |= NO_CONTACT
    data = mujoco.MjData(model)
    mujoco.mj_fwdPosition(model, data)
    gaps: dict[int, float] = {}
    for k, kind, gap in zip(data.efc_id, data.efc_type, data.efc_pos):
        if kind == mujoco.mjtConstraint.mjCNSTR_EQUALITY:
            gaps[int(k)] = max(gaps.get(int(k), 0.0), abs(float(gap)))
    for k, gap in gaps.items():
        if gap > OPEN:
            r.note("equality", k, f"is open by {gap:.2g} (m, rad) in MuJoCo's reference position; assemble() closes it")


def _loop(r: Reading, k: int, name: str, kind: str) -> None:
    model, data = r.model, r.model.eq_data[k]
    one, two = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    a: Frame
    b: Frame
    if model.eq_objtype[k] == r.of.mujoco.mjtObj.mjOBJ_SITE:
        a, b = r.m.frames[r.sites[one]], r.m.frames[r.sites[two]]
        joint: Any = Spherical() if kind == "connect" or data[10] == 0.0 else Fixed()
    elif kind == "connect":
        a, b, joint = r.places[one].at(data[:3].tolist()), r.places[two].at(data[3:6].tolist()), Spherical()
    else:
        a = r.places[one].at(data[3:6].tolist(), rotation=rotation(data[6:10]))
        b = r.places[two].at(data[:3].tolist())
        joint = Spherical() if data[10] == 0.0 else Fixed()
    if a.body is b.body:
        r.note("equality", k, "joins two parts of one rigid body and says nothing about motion")
        return
    r.m.close_loop(name, joint, a, b)


def _joints(r: Reading, k: int, name: str) -> None:
    """q₁ − q₁⁰ = Σ aₖ (q₂ − q₂⁰)ᵏ, with both at `ref` in q⁰."""
    model = r.model
    a = tuple(float(x) for x in model.eq_data[k, :5])
    j1, j2 = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    y, y0 = r.joints[j1], float(model.qpos0[model.jnt_qposadr[j1]])
    x, x0 = (r.joints[j2], float(model.qpos0[model.jnt_qposadr[j2]])) if j2 >= 0 else (None, 0.0)
    if x is None or not any(a[1:]):
        r.m.add_coupling(name, {y: 1.0}, offset=y0 + a[0])
    elif not any(a[2:]):
        r.m.add_coupling(name, {y: 1.0, x: -a[1]}, offset=y0 + a[0] - a[1] * x0)
    else:
        law = Polynomial(JointPath(((y, 1.0),)), JointPath(((x, 1.0),)), y0, x0, a)
        r.m.add_constraint(name, holonomic=law)


def _tendons(r: Reading, k: int, name: str, tendons: Tendons) -> None:
    """l₁ − l₁⁰ = Σ aₖ (l₂ − l₂⁰)ᵏ for the lengths of two tendons, or of one."""
    model = r.model
    a = tuple(float(x) for x in model.eq_data[k, :5])
    t1, t2 = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    y, y0 = tendons.paths[t1], float(model.tendon_length0[t1])
    x, x0 = (tendons.paths[t2], float(model.tendon_length0[t2])) if t2 >= 0 else (None, 0.0)
    if y is None or (t2 >= 0 and x is None):
        r.note("equality", k, "ties a tendon that is not modelled and is left out")
        return
    if isinstance(y, JointPath) and (x is None or isinstance(x, JointPath)) and not any(a[2:]):
        coefficients = dict.fromkeys([j for j, _ in y.terms], 0.0)
        for joint, c in y.terms:
            coefficients[joint] += c
        for joint, c in x.terms if x is not None else ():
            coefficients[joint] = coefficients.get(joint, 0.0) - a[1] * c
        r.m.add_coupling(name, coefficients, offset=y0 + a[0] - a[1] * x0 * (x is not None))
        return
    r.m.add_constraint(name, holonomic=Polynomial(y, x, y0, x0, a))
