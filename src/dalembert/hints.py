"""Words that people try: what a missing attribute or an unknown keyword means here.

`ATTRIBUTES` and `KEYWORDS` are the whole of it; `hinted` puts them behind a class, `explained` behind a function. A
word that is not in the tables gets the nearest name there is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

_JOINT = "m.add_joint(name, da.{}, a, b)"
#: class, "dalembert" or "control": {what is tried: what it is here}
ATTRIBUTES: dict[str, dict[str, str]] = {
    "dalembert": {
        **dict.fromkeys(("Hinge", "Pin", "RevoluteJoint"), "da.Revolute(axis)"),
        **dict.fromkeys(("Ball", "BallJoint", "SphericalJoint"), "da.Spherical()"),
        **dict.fromkeys(("Slider", "Slide", "PrismaticJoint", "Translational"), "da.Prismatic(axis)"),
        **dict.fromkeys(("Weld", "WeldJoint", "FixedJoint"), "da.Fixed()"),
        **dict.fromkeys(("FreeJoint", "Floating"), "da.Free()"),
        **dict.fromkeys(("Model", "Multibody", "MultibodySystem"), "da.Mechanism(name)"),
        **dict.fromkeys(("solve", "integrate", "run", "Simulator"), "da.simulate(system, state, t)"),
        **dict.fromkeys(("monte_carlo", "batch", "parallel"), "da.ensemble(system, states, t, n=...)"),
        **dict.fromkeys(("identify", "estimate"), "da.fit(...)"),
        **dict.fromkeys(("read_yaml", "load_model", "load_urdf", "from_urdf"), "da.read(path)"),
        **{solid: f"da.{solid}_inertia(...)" for solid in ("rod", "box", "cylinder", "disc", "sphere", "planar")},
        "point": "da.point_inertia()",
        **dict.fromkeys(("load", "load_run", "open"), "da.read_run(path, system) for a run, da.read(path) for a model"),
        "animate": "da.view.animate(run, path)",
        "inverse_kinematics": "system.assemble(frames={frame: place})",
        "Spring": "m.add_spring(name, a, b, stiffness=...)",
        "Force": "m.add_wrench(name, frame, force=...)",
        "Parameter": "m.add_parameter(name, value)",
    },
    "control": {
        "inverse_dynamics": "control.actuator_forces(system, state, vdot)",
        "inverse_dynamics_along": "control.actuator_forces_along(system, motion)",
        "InverseDynamics": "control.ActuatorForces",
        "ForcesAlong": "control.ActuatorForcesAlong",
        **dict.fromkeys(("LQR", "lqr"), "da.lqr(model, Q, R)"),
        **dict.fromkeys(("kalman", "LQE"), "da.kalman(model, Q, R)"),
        **dict.fromkeys(("MPC", "mpc"), "control.PredictiveControl(model, horizon)"),
        **dict.fromkeys(("PID", "PD"), "control.PDControl(system, task, reference, gains=...)"),
    },
    "Mechanism": {
        **dict.fromkeys(("add_force", "add_load", "add_torque", "add_moment", "apply_force"),
                        "m.add_wrench(name, frame, force=..., moment=...), or m.add_joint_force(name, joint, value)"),
        **dict.fromkeys(("add_motion", "prescribe", "drive"), "m.add_driver(name, coordinate, motion)"),
        **dict.fromkeys(("add_sensor", "add_marker", "add_point", "add_site"),
                        "m.add_frame(name, body.at(...)), then run.position(name) and the like"),
        **dict.fromkeys(("add_link", "add_part", "add_rigid_body", "add_mass"), "m.add_body(name, mass=...)"),
        **dict.fromkeys(("add_revolute", "add_hinge", "add_pin"), _JOINT.format("Revolute(axis)")),
        **dict.fromkeys(("add_prismatic", "add_slider"), _JOINT.format("Prismatic(axis)")),
        **dict.fromkeys(("add_ball", "add_spherical"), _JOINT.format("Spherical()")),
        **dict.fromkeys(("add_weld", "add_fixed"), _JOINT.format("Fixed()")),
        **dict.fromkeys(("add_loop", "add_closure", "add_cut_joint"), "m.close_loop(name, joint, a, b)"),
        **dict.fromkeys(("add_distance", "add_bar"), "m.add_rod(name, a, b, length=...)"),
        **dict.fromkeys(("add_cylinder", "add_ram", "add_linear_actuator"), "m.add_actuator(name, a, b)"),
        **dict.fromkeys(("add_dashpot", "add_shock_absorber"), "m.add_damper(name, a, b, damping=...)"),
        **dict.fromkeys(("add_rotational_spring", "add_rotary_spring", "add_joint_spring"),
                        "m.add_torsion_spring(name, coordinate, stiffness=...), or stiffness= of add_joint"),
        **dict.fromkeys(("add_pinion", "add_drum"), "m.add_rack(name, pinion, rack, radius=...)"),
        **dict.fromkeys(("add_screw", "add_lead_screw"), "m.add_joint(name, da.Screw(axis, pitch), a, b)"),
        **dict.fromkeys(("add_rotary_actuator", "add_actuated_joint"), "m.add_motor(name, joint)"),
        **dict.fromkeys(("add_spring_damper", "add_coilover"), "m.add_spring(name, a, b, stiffness=, damping=)"),
        **dict.fromkeys(("add_tendon", "add_string"), "m.add_cable(name, points, ...); slack m.add_rope"),
        **dict.fromkeys(("add_flexure", "add_beam"), "m.add_bushing(name, a, b, stiffness=a 6 by 6 matrix)"),
        **dict.fromkeys(("add_chain", "add_timing_belt"), "m.add_belt(name, a, b, radii=...)"),
        **dict.fromkeys(("add_pulley", "add_pulleys", "add_winch"),
                        "m.add_pulley_rope(name, [a, da.Pulley(frame, radius), b]), or m.add_rack for a drum"),
        **dict.fromkeys(("add_tire", "add_wheel"), "m.add_tyre(name, wheel, radius=...); without slip m.add_rolling"),
        **dict.fromkeys(("add_electric_motor", "add_engine"), "m.add_dc_motor(name, coordinate, ...), or m.add_motor"),
        **dict.fromkeys(("add_cam_follower", "add_valve", "add_profile"), "m.add_cam(name, cam, follower, lift=...)"),
        **dict.fromkeys(("add_freewheel", "add_ratchet", "add_overrunning_clutch"),
                        "m.add_one_way_clutch(name, a, b, damping=...)"),
        **dict.fromkeys(("add_shaft", "add_anti_roll_bar"),
                        "m.add_elastic_coupling(name, {coordinate: factor, ...}, stiffness=...)"),
        **dict.fromkeys(("add_worm", "add_bevel", "add_bevel_gear", "add_ring_gear", "add_gear_pair"),
                        "m.add_gear(name, a, b, ratio=...)"),
        **dict.fromkeys(("add_friction", "add_limit", "add_limits", "add_stop", "add_damping"),
                        "m.add_joint(..., friction=, limits=, stops=, damping=)"),
        **dict.fromkeys(("add_gravity", "set_gravity"), "m.gravity = (x, y, z)"),
        **dict.fromkeys(("build", "finalize", "assemble"), "m.compile(), and then system.assemble(...)"),
        **dict.fromkeys(("simulate", "run"), "da.simulate(m.compile(), state, t)"),
        **dict.fromkeys(("write", "export", "to_yaml"), "m.save(path)"),
        **dict.fromkeys(("plot", "show", "draw", "view"), "da.view.snapshot(system, state)"),
        **dict.fromkeys(("delete", "discard", "remove_body"), "m.remove(name)"),
        "add_control": "m.add_input(name), or m.add_motor(name, joint)",
    },
    "System": {
        **dict.fromkeys(("simulate", "run", "integrate"), "da.simulate(system, state, t)"),
        **dict.fromkeys(("dof", "dofs", "ndof", "mobility"), "system.report(state).mobility"),
        **dict.fromkeys(("inverse_kinematics", "ik"), "system.assemble(frames={frame: place})"),
        **dict.fromkeys(("forward_kinematics", "fk"), "system.pose(state, frame)"),
        **dict.fromkeys(("mass", "M", "inertia_matrix"), "system.mass_matrix(state)"),
        **dict.fromkeys(("equilibrium", "trim"), "da.equilibrium(system, guess)"),
        **dict.fromkeys(("add_body", "add_joint", "add_motor", "add_spring"),
                        "the Mechanism's: add to it, and m.compile() again"),
        **dict.fromkeys(("plot", "animate", "show", "view"), "da.view.snapshot(system, state)"),
        "linearize": "da.linearize(system, state)",
        "inputs": "system.u_names",
        **dict.fromkeys(("holding", "closing"), "system.with_constraints(name)"),
        "reactions": "system.constraint_forces(state)",
    },
    "State": {
        **dict.fromkeys(("energy", "kinetic_energy", "potential_energy"), "system.energy(state)"),
        **dict.fromkeys(("positions", "coordinates"), "state.q"),
        **dict.fromkeys(("velocities", "qd", "dq", "qdot"), "state.v"),
        "time": "state.t",
    },
    "Run": {
        **dict.fromkeys(("times", "time"), "run.t"),
        **dict.fromkeys(("final", "last", "end_state"), "run.state(-1)"),
        **dict.fromkeys(("x", "sol", "trajectory"), "run.q, run.v and run[name]"),
        **dict.fromkeys(("qd", "dq", "qdot", "velocities"), "run.v, or run.rate(name)"),
        **dict.fromkeys(("positions", "coordinates"), "run.q, or run[name]"),
        **dict.fromkeys(("df", "dataframe", "to_dataframe"), "run.to_pandas()"),
        **dict.fromkeys(("accelerations", "qdd"), "run.vdot"),
        **dict.fromkeys(("reaction", "forces", "joint_forces"), "run.reactions(joint)"),
        "events": "run.switches, and run.message",
    },
    "LinearModel": {
        **dict.fromkeys(("poles", "eigvals", "eig"), "model.eigenvalues"),
        **dict.fromkeys(("tf", "transfer_function", "to_tf", "to_ss", "bode", "nyquist", "step_response"),
                        "model.to_control(), for python-control; model.frequency_response(...)"),
        **dict.fromkeys(("c2d", "to_discrete", "sample"), "model.discretize(step)"),
        **dict.fromkeys(("is_stable",), "model.stable"),
        **dict.fromkeys(("natural_frequencies", "damping"), "model.modes"),
        **dict.fromkeys(("ctrb", "is_controllable"), "model.controllable"),
        "lqr": "da.lqr(model, Q, R)",
    },
    "Sweep": {
        **dict.fromkeys(("times", "time"), "sweep.t"),
        **dict.fromkeys(("torque", "torques", "motor_torque", "inputs"), "sweep.driving_force(name)"),
        **dict.fromkeys(("reaction", "forces", "joint_forces"), "sweep.reactions(joint)"),
        **dict.fromkeys(("path", "trajectory"), "sweep.position(frame)"),
        **dict.fromkeys(("special_points", "singularities", "dead_points"), "sweep.points"),
        **dict.fromkeys(("df", "dataframe", "to_dataframe"), "sweep.to_pandas()"),
    },
    "Ensemble": {
        **dict.fromkeys(("times", "time"), "runs.t"),
        **dict.fromkeys(("average", "averages"), "runs.mean(name)"),
        **dict.fromkeys(("std", "sigma", "deviation", "variance"), "runs.standard_deviation(name)"),
        **dict.fromkeys(("percentile", "percentiles", "quantile", "band"), "runs.quantiles(name, levels)"),
        **dict.fromkeys(("minimum", "maximum", "peak", "min", "max"), "runs.extremes(name)"),
        **dict.fromkeys(("final", "last", "end_state"), "runs.state(k)"),
        **dict.fromkeys(("df", "dataframe", "to_dataframe"), "runs.to_pandas()"),
    },
    "Equilibrium": {
        **dict.fromkeys(("q", "x", "configuration"), "rest.state"),
        **dict.fromkeys(("inputs", "torques", "forces"), "rest.u"),
        **dict.fromkeys(("eigenvalues", "poles", "linear_model"), "rest.model"),
        "is_stable": "rest.stable",
    },
    "StaticForces": {
        **dict.fromkeys(("held", "balanced", "feasible"), "forces.success"),
        **dict.fromkeys(("inputs", "torques", "forces"), "forces.u"),
        **dict.fromkeys(("reaction", "joint_forces"), "forces.reactions(joint)"),
    },
    "Study": {
        **dict.fromkeys(("std", "deviation", "sigma"), "study.standard_deviation(name)"),
        **dict.fromkeys(("sobol", "indices", "sensitivity"), "study.contributions(name)"),
    },
    "MotionPlan": {
        **dict.fromkeys(("held", "controller"), "plan.sampled(period)"),
        **dict.fromkeys(("run", "check", "validate"), "plan.simulate()"),
    },
}  # fmt: skip
_ENVIRONMENT = {
    **dict.fromkeys(("dt", "step", "timestep"), "period=, s from one action to the next"),
    **dict.fromkeys(("terminate", "terminated", "done", "ended", "termination"), "ends=, where an episode is over"),
    **dict.fromkeys(("observation", "observations", "obs"), "observe="),
    **dict.fromkeys(("rewards", "cost"), "reward="),
    **dict.fromkeys(("action", "inputs", "action_space"), "actions="),
}
#: function or method, of the packages with their names: {keyword that is tried: what it is here}
KEYWORDS: dict[str, dict[str, str]] = {
    "simulate": {
        **dict.fromkeys(("terminate", "stop", "until"), "events=da.Event(g, terminal=True)"),
        **dict.fromkeys(("tf", "t_end", "t_final", "duration", "tspan", "t_span"), "t, the third argument"),
        **dict.fromkeys(("dt", "timestep", "time_step", "h"), "step= (fixed), max_step= or t_eval="),
        **dict.fromkeys(("hold", "sample_time", "Ts"), "period=, the sampling period (s) of a controller"),
        **dict.fromkeys(("x0", "y0", "initial_state"), "state, the second argument"),
        **dict.fromkeys(("solver", "integrator"), "method="),
        **dict.fromkeys(("controller", "control", "inputs"), "u="),
        **dict.fromkeys(("params", "parameters"), "p="),
        "tol": "rtol= and atol=",
    },
    "equilibrium": {
        **dict.fromkeys(("holding", "held", "positions", "at"), "q=, coordinates with given values"),
        **dict.fromkeys(("speeds", "velocities"), "v=, velocities of a steady motion"),
        **dict.fromkeys(("state", "x0", "start"), "guess, the second argument"),
    },
    "kalman": {**dict.fromkeys(("process", "QN"), "Q="), **dict.fromkeys(("measurement", "RN"), "R=")},
    "static_forces": {"bounds": "limits="},
    "fit": dict.fromkeys(("start", "x0"), "state, the fourth argument"),
    "optimize": {"starts": "attempts="},
    "second_derivatives": {"along": "direction="},
    "sweep_many": {"path": "along, the second argument"},
    "sweep": {"path": "along, the first argument"},
    "control.actuator_forces": dict.fromkeys(("acceleration", "a", "qdd"), "vdot, the third argument"),
    "control.position": {"axes": "components="},
    "control.orientation": {"axes": "components="},
    "control.force_along": {"axes": "frame="},
    "control.plan_motion": {"path": "bounds="},
    "control.optimal_motion": {"path": "bounds="},
    "view.export_gltf": {"rate": "fps="},
    "view.snapshot": {"axes": "ax=, an axes of Matplotlib"},
    "stiffness": {**dict.fromkeys(("locked", "fixed", "holding"), "held=, coordinates that do not move")},
    "environment": _ENVIRONMENT,
    "environments": _ENVIRONMENT,
    "linearize": {
        **dict.fromkeys(("x0", "at", "operating_point"), "state, the second argument"),
        **dict.fromkeys(("coordinates", "states"), "independent="),
        **dict.fromkeys(("params", "parameters"), "p="),
    },
    "add_body": {
        **dict.fromkeys(("center_of_mass", "cog", "cg", "centre"), "com="),
        **dict.fromkeys(("I", "moments", "J"), "inertia="),
        "m": "mass=",
    },
    "add_joint": {
        **dict.fromkeys(("k", "spring"), "stiffness="),
        **dict.fromkeys(("c", "d", "damper"), "damping="),
        **dict.fromkeys(("q0", "rest_position", "rest_length"), "rest="),
        **dict.fromkeys(("type", "kind"), "joint, the second argument, as da.Revolute('z')"),
        **dict.fromkeys(("rotor_inertia", "inertia"), "armature="),
    },
    "add_spring": {
        **dict.fromkeys(("k", "rate"), "stiffness="),
        **dict.fromkeys(("c", "d"), "damping="),
        **dict.fromkeys(("l0", "L0", "free_length", "length", "rest"), "rest_length="),
    },
    "add_rod": dict.fromkeys(("l", "L", "distance"), "length="),
    "add_gear": {"z": "teeth=", "i": "ratio=", "internal": "inside=True", "eta": "efficiency="},
    "add_driver": dict.fromkeys(("function", "f", "profile"), "motion, the third argument"),
}

#: method: what to say where arguments are missing
FEWER = {
    "add_actuator": "It pushes two points apart, m.add_actuator(name, a, b); a joint is driven by "
    "m.add_motor(name, joint).",
    "add_motor": "It drives a joint: m.add_motor(name, joint).",
    "add_spring": "It is between two points, m.add_spring(name, a, b, stiffness=...); along a coordinate it is "
    "m.add_torsion_spring(name, coordinate, stiffness=...), or stiffness= of add_joint.",
    "add_damper": "It is between two points, m.add_damper(name, a, b, damping=...); in a joint it is "
    "damping= of add_joint.",
}

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


class MissingAttribute(AttributeError):
    """An attribute that is not there; its message is made when it is read."""

    def __init__(self, owner: str, name: str, known: Callable[[], Iterable[str]]):
        super().__init__(name)
        self.owner, self.tried, self._known = owner, name, known

    def __str__(self) -> str:
        of = f"module '{self.owner}'" if self.owner.islower() else f"'{self.owner}' object"
        return f"{of} has no attribute '{self.tried}'{meant(self.tried, ATTRIBUTES.get(self.owner, {}), self._known())}"

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)


def meant(tried: str, table: dict[str, str], known: Iterable[str]) -> str:
    """The end of a message: what a word is here, or the nearest that there is."""
    if tried in table:
        return f"; here it is {table[tried]}."
    near = get_close_matches(tried, [n for n in known if n[:1] != "_"], n=1)
    return f". Did you mean '{near[0]}'?" if near else "."


def missing(x: Any, name: str) -> AttributeError:
    """The error for an attribute that an object does not have."""
    kind = type(x)
    owner = next((one.__name__ for one in kind.__mro__ if one.__name__ in ATTRIBUTES), kind.__name__)
    return MissingAttribute(owner, name, lambda: dir(kind))


def hinted(kind: C) -> C:
    """A class whose missing attributes, and whose methods' unknown keywords, are explained.

    Type checkers see no `__getattr__`: it is set here.
    """

    def __getattr__(self: Any, name: str) -> Any:
        if hasattr(type(self), name):  # a property that raised AttributeError itself: its own error
            return object.__getattribute__(self, name)
        raise missing(self, name)

    if not hasattr(kind, "__getattr__"):
        kind.__getattr__ = __getattr__  # type: ignore[attr-defined]
    for name in {**KEYWORDS, **FEWER}:  # those of packages have a dot
        if (method := getattr(kind, name, None)) is not None:
            setattr(kind, name, explained(method))
    return kind


def explained(f: F) -> F:
    """A function whose unknown keywords are explained."""

    @wraps(f)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return f(*arguments, **keywords)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:  # raised inside
                raise
            known = inspect.signature(f).parameters
            wrong = next((name for name in keywords if name not in known), None)
            if wrong is None:
                if f.__name__ in FEWER and "missing" in str(error):
                    raise TypeError(f"{error}. {FEWER[f.__name__]}") from None
                raise
            package = f.__module__.split(".")[1]
            table = KEYWORDS.get(f"{package}.{f.__name__}", KEYWORDS.get(f.__name__, {}))
            hint = meant(wrong, table, known)
            raise TypeError(f"{f.__name__}() has no keyword '{wrong}'{hint}") from None

    return call  # type: ignore[return-value]
