"""Kinematic inputs that lead their coordinates along motions known as functions of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from dalembert.checks import mapping, number
from dalembert.control.trajectories import Trajectory
from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.constraints.driver import components
from dalembert.mechanism.motions import motion_of
from dalembert.mechanism.values import shaped
from dalembert.protocols import check_system
from dalembert.simulation.callbacks import expression
from dalembert.system.system import System


class Lead(expression):
    """A controller f(t, state), made by `lead`: `simulate(..., u=leading)`."""

    coordinates: tuple[str, ...]
    motion: Trajectory

    def at(self, t: float = 0.0) -> tuple[dict[str, float], dict[str, float]]:
        """Positions and velocities on the motions, by coordinate, for `system.assemble(*leading.at())`."""
        value, rate, _ = self.motion(t)
        return dict(zip(self.coordinates, value.tolist())), dict(zip(self.coordinates, rate.tolist()))


def lead(
    system: System, motions: Mapping[str, Any], *, rate: float = 0.0, others: Mapping[str, float] | None = None
) -> Lead:
    """A controller that gives kinematic inputs the accelerations of motions s(t), and so leads along them exactly.

    motions: {kinematic input: motion} with motions as in `Mechanism.add_driver`: functions of time, tables,
    trajectories, numbers (rad or m). A run has to start on the motion, at `lead(...).at(t)`. rate (1/s): a deviation
    dies out as (1 + rate t) exp(−rate t), u = s̈ + 2 rate (ṡ − q̇) + rate² (s − q); 0 leaves it as it is. others: values
    of the other inputs, by name, default zero. It is written in CasADi, so that runs with it are differentiated
    (`da.sensitivities`) and go side by side in ensembles.

    >>> import dalembert as da
    >>> m = da.Mechanism("crane", gravity=(0, 0, -10.0))
    >>> trolley = m.add_body("trolley", mass=50.0)
    >>> rail = m.add_joint("rail", da.Prismatic("x"), m.ground, trolley)
    >>> rope = m.add_joint("rope", da.Revolute("y"), trolley, m.add_body("hook", mass=100.0, com=(0, 0, -5.0)))
    >>> a = m.add_kinematic_input("trolley", rail)
    >>> system = m.compile()
    >>> leading = da.control.lead(system, {"trolley": da.control.quintic(0.0, 3.0, duration=4.0)})
    >>> run = da.simulate(system, system.assemble(*leading.at()), 4.0, u=leading)
    >>> round(float(run["rail"][-1]), 9), bool(abs(run.driving_force("trolley")).max() > 100.0)
    (3.0, True)
    """
    check_system(system)
    given = mapping(motions, "motions")
    if not given:
        raise ArgumentError("motions names no kinematic input; needed: at least one, {input: motion}.")
    for name in given:
        if not isinstance(name, str) or name not in system.description.prescribed:
            raise unknown("kinematic input", name, system.description.prescribed, "motions")
    rest = {} if others is None else dict(mapping(others, "others"))
    if both := set(rest) & set(given):
        raise ArgumentError(f"others names '{min(both)}', which has a motion; give it one of them.")
    system.arguments.input_vector(rest)
    w = number(rate, "rate", least=0.0)
    functions = {name: motion_of(x, 1, f"input '{name}'", shaped) for name, x in given.items()}
    motion = Trajectory(lambda t: ca.vertcat(*(components(f, t, 1, name) for name, f in functions.items())))
    names = [system.v_names[system.description.prescribed[name]] for name in given]

    def inputs(t: Any, s: Any) -> dict[str, Any]:
        wanted, speed, acceleration = motion.function(t)
        out = dict(rest)
        for k, (name, q) in enumerate(zip(given, names)):
            out[name] = acceleration[k] + 2.0 * w * (speed[k] - s.rate(q)) + w * w * (wanted[k] - s[q])
        return out

    made = Lead(inputs)
    object.__setattr__(made, "coordinates", tuple(names))
    object.__setattr__(made, "motion", motion)
    return made
