"""Keyframes as named states."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, unknown
from dalembert.formats.mjcf.bodies import BALL, FREE
from dalembert.formats.mjcf.reading import Reading, control, output, rotation, unused

START = "start"
MAX_NUMBERS = 100_000  # of all keyframes


def read_states(r: Reading, keyframe: Any) -> None:
    """Add each keyframe, and the state "start": MuJoCo's reference position, or the keyframe that was asked for."""
    model = r.model
    names: list[str] = []
    if model.nkey * (model.nq + model.nv) > MAX_NUMBERS:
        each = model.nq + model.nv
        raise r.of.root.error(
            f"has {model.nkey} keyframes of {each} numbers each; needed: at most {MAX_NUMBERS} numbers in all."
        )
    for k in range(model.nkey):
        q, v = positions(r, model.key_qpos[k]), velocities(r, model.key_qpos[k], model.key_qvel[k])
        names.append(r.label("key", k, r.m.states, names))
        r.m.add_state(names[-1], q=q, v=v, u=_inputs(r, k), t=float(model.key_time[k]))
    if keyframe is None:
        if START not in r.m.states:
            r.m.add_state(START, q=positions(r, model.qpos0))
        return
    if isinstance(keyframe, str) and keyframe not in names:
        raise unknown("keyframe", keyframe, names, "read_mjcf")
    if not isinstance(keyframe, str) and not (isinstance(keyframe, int) and 0 <= keyframe < len(names)):
        raise ArgumentError(f"keyframe is {keyframe!r}; needed: a name, or a number below {len(names)}.")
    chosen = r.m.states[keyframe if isinstance(keyframe, str) else names[keyframe]]
    if chosen.name != START:
        old = r.m.states.pop(START, None)
        r.m.add_state(START, q=chosen.q, v=chosen.v, u=chosen.u, t=chosen.t)
        if old is not None:
            r.m.add_state(unused(START, r.m.states), q=old.q, v=old.v, u=old.u, t=old.t)


def positions(r: Reading, qpos: np.ndarray) -> dict[str, Any]:
    """MuJoCo's positions by joint; a free joint's quaternion comes first here."""
    out: dict[str, Any] = {}
    for k, name in enumerate(r.joints):
        a, kind = int(r.model.jnt_qposadr[k]), int(r.model.jnt_type[k])
        if kind == FREE:
            out[name] = [*_unit(qpos[a + 3 : a + 7]), *qpos[a : a + 3]]
        else:
            out[name] = _unit(qpos[a : a + 4]) if kind == BALL else float(qpos[a])
    return out


def velocities(r: Reading, qpos: np.ndarray, qvel: np.ndarray) -> dict[str, Any]:
    """MuJoCo's velocities by joint; a free body's velocity is in its own axes here, in the ground's there."""
    out: dict[str, Any] = {}
    for k, name in enumerate(r.joints):
        a, d, kind = int(r.model.jnt_qposadr[k]), int(r.model.jnt_dofadr[k]), int(r.model.jnt_type[k])
        if kind == FREE:
            R = rotation(_unit(qpos[a + 3 : a + 7]))
            out[name] = [*qvel[d + 3 : d + 6], *(R.T @ qvel[d : d + 3])]
        else:
            out[name] = list(qvel[d : d + 3]) if kind == BALL else float(qvel[d])
    return out


def _inputs(r: Reading, key: int) -> dict[str, float]:
    """The inputs of a keyframe: what the law of each actuator takes there, its activation where it has one.

    Where the input is the actuator's force, it is the force that MuJoCo finds in the keyframe.
    """
    model, free = r.model, r.of.mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL & r.model.opt.disableflags
    forces = _forces(r, key) if r.force_inputs & r.inputs.keys() else None
    out = {}
    for k, name in r.inputs.items():
        if k in r.force_inputs and forces is not None:
            out[name] = forces[k]
        elif model.actuator_dyntype[k]:
            out[name] = float(model.key_act[key, model.actuator_actadr[k] + model.actuator_actnum[k] - 1])
        else:
            c = control(model, k)
            u = float(model.key_ctrl[key, c])
            limited = model.actuator_ctrllimited[c] and not free
            out[name] = float(np.clip(u, *model.actuator_ctrlrange[c])) if limited else u
    return out


def _forces(r: Reading, key: int) -> list[float]:
    """The force of each actuator in a keyframe."""
    mujoco, model = r.of.mujoco, r.model
    flags, data = model.opt.disableflags, mujoco.MjData(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    mujoco.mj_resetDataKeyframe(model, data, key)
    mujoco.mj_forward(model, data)
    model.opt.disableflags = flags
    return [float(data.actuator_force[output(model, k)]) for k in range(len(model.actuator_trntype))]


def _unit(q: np.ndarray) -> list[float]:
    n = float(np.linalg.norm(q))
    return [1.0, 0.0, 0.0, 0.0] if n < 1e-12 else (q / n).tolist()
