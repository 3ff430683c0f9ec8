"""The bench: the mechanism in the studio, its state, parameters and inputs, and the kernels that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from dalembert import checks
from dalembert.compiler import Kernel
from dalembert.errors import ArgumentError, AssemblyError, unknown
from dalembert.rank import angular_velocities
from dalembert.simulation.results.run import Run
from dalembert.studio.dragging import Dragging
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.view.animation import loose
from dalembert.view.scene import Scene, quaternions, scene


class Poses:
    """Poses of all bodies of a system, kept compiled."""

    def __init__(self, system: System):
        symbols = {"q": ca.SX.sym("q", system.nq), "p": ca.SX.sym("p", len(system.p_names))}
        poses = []
        for body in system.layout.bodies.values():
            f = system.function("pose", frame=body)
            poses.append(f.call([symbols[f.name_in(k)] for k in range(f.n_in())])[0][:3, :])
        self.bodies, self.used = len(poses), [n for n in symbols if symbols[n].numel()]
        f = ca.Function("poses", [symbols[n] for n in self.used], [ca.densify(ca.vertcat(*poses))], self.used, ["T"])
        self._f, self._constant = f, np.array(f.call([])[0]) if not self.used else None
        self._kernels: dict[int, Kernel] = {}
        self._backend = system.backend

    def _kernel(self, lanes: int) -> Kernel:
        if lanes not in self._kernels:
            self._kernels[lanes] = Kernel(self._f, lanes=lanes, backend=self._backend)
        return self._kernels[lanes]

    def __call__(self, q: np.ndarray, p: np.ndarray) -> np.ndarray:
        """(N, bodies, 7) positions and quaternions (w, x, y, z) for positions q (N, nq)."""
        q = np.atleast_2d(np.asarray(q, dtype=float))
        given = {"q": q, "p": p}
        if self._constant is not None:
            T = np.broadcast_to(self._constant, (len(q), 3 * self.bodies, 4))
        elif len(q) == 1:
            T = np.asarray(self._kernel(1)(*({"q": q[0], "p": p}[n] for n in self.used)))
        else:
            lanes = 8 if self._backend == "native" else 1
            T = self._kernel(lanes).batch(*(given[n] for n in self.used))
        T = np.asarray(T).reshape(len(q), self.bodies, 3, 4)
        out = np.empty((len(q), self.bodies, 7))
        out[..., :3] = T[..., 3]
        if len(q) == 1:
            out[0, :, 3:] = Rotation.from_matrix(T[0, :, :, :3]).as_quat()[:, [3, 0, 1, 2]]
        else:
            for k in range(self.bodies):
                out[:, k, 3:] = quaternions(T[:, k, :, :3])
        return out


SEEN = 60  # positions of a drag that the rails are kept long enough for


class Bench:
    """A system at a state, with parameters p (array) and inputs u (by name).

    acting: the system that holds at the state shown, and its parameters. It is another one than `system` in a phase of
    a run in which contacts, ropes, stops or friction act.
    """

    def __init__(
        self, system: System, state: State, p: np.ndarray | None = None, u: dict[str, float] | None = None,
        outputs: Sequence[tuple[str, Any]] = (),
    ):  # fmt: skip
        if system.nv == 0:
            raise ArgumentError(f"'{system.name}' has no joints, so nothing moves; needed: a mechanism with a joint.")
        self.system = system
        self.p = np.array(system.arguments.parameter_vector(None) if p is None else p, dtype=float)
        acting = dict(zip(system.u_names, system.arguments.input_vector(state.u).tolist()))
        self.u = acting if u is None else dict.fromkeys(system.u_names, 0.0) | {k: float(v) for k, v in u.items()}
        self.outputs = {name: (name, f) for name, f in outputs}  # functions of the state for Bode plots
        self.poses = Poses(system)
        self.dragging = Dragging(system, self.given_p, state.t)
        self.x = self.start = system.arguments.bare(
            state
        )  # its parameters and inputs are the bench's, and change there
        self.acting: tuple[System, np.ndarray | None] = system, self.given_p
        self.seen: dict[str, np.ndarray] = {"": np.atleast_2d(state.q)}  # positions it was in: rails reach that far
        self.actuated, self.slides = actuated(system), slides(system)
        self.angular = angular_velocities(system)
        self.unit = {name: "rad" if self.angular[v] else "m" for name, (v, _) in self.dragging.places.items()}

    @property
    def given_p(self) -> np.ndarray | None:
        """The parameters as calls take them."""
        return self.p if len(self.p) else None

    @property
    def inputs(self) -> np.ndarray | None:
        """The inputs as calls take them."""
        return np.array([self.u[n] for n in self.system.u_names]) if self.u else None

    def pose(self) -> np.ndarray:
        """(1, bodies, 7) now."""
        return self.poses(self.x.q, self.p)

    def put(self, q: np.ndarray, v: np.ndarray | None = None, t: float | None = None, phase: Run | None = None) -> None:
        """Take a position, at rest unless velocities are given. phase: that of a run, if it has some."""
        v = np.zeros(self.system.nv) if v is None else v
        self.x = self.system.state(q, v, self.x.t if t is None else t)
        self.dragging.t = self.x.t
        self.acting = (self.system, self.given_p) if phase is None else (phase.system, phase.p)

    def closed(self, q: np.ndarray, t: float) -> np.ndarray:
        """The position nearest q whose loops are closed at time t (s), (nq,)."""
        self.dragging.t = t
        return self.dragging.begin(q)

    def set_parameters(self, values: Mapping[str, Any]) -> bool:
        """Other parameters; loops are closed again from where they are. False where they do not close."""
        p, old = self.p.copy(), (self.p, self.dragging)
        for name, value in checks.mapping(values, "parameters").items():
            if name not in self.system.p_names:
                raise unknown("parameter", name, self.system.p_names)
            p[self.system.p_names.index(name)] = checks.number(value, f"parameter '{name}'")
        self.p = p
        try:
            self.dragging = Dragging(self.system, self.given_p, self.x.t)
            q = self.dragging.begin(self.x.q)
            moving = self.system.project(self.system.state(q, self.x.v, self.x.t), p=self.given_p)
        except (ArgumentError, AssemblyError):
            self.p, self.dragging = old
            return False
        self.put(moving.q, moving.v)
        self.seen = {"": np.atleast_2d(moving.q)}
        return True

    def set_inputs(self, values: Mapping[str, Any]) -> None:
        """Other constant inputs."""
        for name, value in checks.mapping(values, "inputs").items():
            if name not in self.u:
                raise unknown("input", name, self.u)
            self.u[name] = checks.number(value, f"input '{name}'")

    # --- what the page shows ------------------------------------------------------------------------------------

    def scene(self) -> Scene:
        """The scene with these parameters, for all positions that were seen."""
        return scene(self.system, np.concatenate(list(self.seen.values())), p=self.given_p)

    def see(self, who: str, q: np.ndarray) -> None:
        """Remember positions q (N, nq); those of the hand add up, others replace what the same one saw before."""
        if who == "hand":
            q = np.concatenate([self.seen.get(who, q[:0]), q])[-SEEN:]
        self.seen = {**self.seen, who: q}

    def describe(self) -> dict[str, Any]:
        """Everything about the model that does not change when it moves."""
        system, d, drawn = self.system, self.dragging, self.scene()
        rows = [
            {"name": name, "of": of, "bodies": list(bodies_of(system, of))}
            for name, of in zip(system.rows.names, system.rows.of)
        ]
        return {
            "name": system.name,
            "scene": drawn.to_dict(),
            "loose": loose(drawn),
            "bodies": list(system.layout.bodies),
            "coordinates": [
                {
                    "name": name, "unit": self.unit[name], "low": d.low[v], "high": d.high[v],
                    "reach": float(d.reach[v]), "actuated": name in self.actuated, "index": i,
                }
                for name, (v, i) in self.places()
            ],
            "q_names": list(system.q_names),
            "parameters": [{"name": n, "value": x} for n, x in zip(system.p_names, system.arguments.defaults.tolist())],
            "inputs": list(system.u_names),
            "rows": rows,
            "trivial": list(system.rows.trivial),
            "length": d.length,
            "nv": system.nv,
            "changing": system.layout.is_hybrid,
        }  # fmt: skip

    def order(self, names: Sequence[str]) -> list[tuple[str, int]]:
        """(name, place) of coordinates or velocities, actuated ones first."""
        return sorted(((name, k) for k, name in enumerate(names)), key=lambda item: item[0] not in self.actuated)

    def places(self) -> list[tuple[str, tuple[int, int]]]:
        """(name, (place in v, place in q)) of coordinates with sliders, actuated ones first."""
        return sorted(self.dragging.places.items(), key=lambda item: item[0] not in self.actuated)

    def leaders(self) -> list[str]:
        """Coordinates that determine the position here, actuated ones first."""
        d = self.dragging
        N = d.place(self.x.q).N
        order = sorted(d.places, key=lambda n: n not in self.actuated)
        out: list[str] = []
        rows = np.zeros((0, N.shape[1]))
        for name in order:
            trial = np.vstack([rows, N[d.places[name][0]]])
            if len(out) < N.shape[1] and np.linalg.svd(trial, compute_uv=False)[-1] > 1e-2:
                out, rows = [*out, name], trial
        return out


def actuated(system: System) -> tuple[str, ...]:
    """Coordinates on which a motor acts."""
    motors = [getattr(f, "joint", None) for f in system.description.forces if getattr(f, "kind", "") == "motor"]
    names = {getattr(j, "name", j) for j in motors if j is not None}
    return tuple(n for n in system.q_names if n in system.v_names and n.partition(".")[0] in names)


def slides(system: System) -> bool:
    """Whether what is drawn depends on how far it moves: rails, lines that points stay on, floors."""
    joints = [a.joint.kind for a in system.description.whole.joints.values()]
    lines = [c.kind for c in system.description.constraints]
    moving = {"prismatic", "cylindrical", "screw", "point on line", "loop"} & {*joints, *lines}
    return bool(moving or system.layout.mechanism.contacts)


def bodies_of(system: System, constraint: str) -> tuple[str, ...]:
    """Bodies that a constraint is about, where it says so."""
    for c in system.description.constraints:
        if c.name == constraint:
            ends = [getattr(c, end, None) for end in ("a", "b")]
            found = [f.body.name for f in ends if f is not None and hasattr(f, "body")]
            return tuple(dict.fromkeys(found))
    return ()
