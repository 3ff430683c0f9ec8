"""Ladders of parallelograms on any base, and the same motion on one branch without a singular position.

A loop of two equal cranks and a coupler as long as the base between them moves on two branches that cross where it is
flat. With ψ and φ the angles of its cranks and β that of its coupler against the first crank,

    parallel       φ = ψ                                          β = −ψ
    crossed        tan φ/2 = −(l + h)/(l − h) tan ψ/2             β = φ

l the coupler's length and h that of the cranks: constraints between coordinates that are regular everywhere.
"""

import casadi as ca
import numpy as np

import dalembert as da

BASES = {
    "ground": None,
    "slide": da.Prismatic((1, 0.3, 0)),
    "turntable": da.Revolute((0.2, 0.3, 1)),
    "planar": da.Planar("z"),
    "ball": da.Spherical(),
    "free": da.Free(),
    "driven": da.Prismatic((1, 0.3, 0)),
    "led": da.Prismatic("y"),
}
CRANK, COUPLERS = 0.8, (1.1, 0.6, 1.4, 0.9, 1.25)


def ladder(base, crossed, *, geared=False, twice=False, scale=1.0, mass=1.0):
    """A ladder with a loop for each entry of `crossed`, which tells its branch; geared: without loops.

    twice: its first loop is closed twice.
    """
    rng = np.random.default_rng(len(crossed))
    m = da.Mechanism(f"ladder on {base}", gravity=tuple(scale * np.array([1.5, -4.0, 0.0])))
    stand, pin = m.ground, da.Revolute("z")
    if base != "ground":
        inertia = tuple(mass * scale**2 * np.array([1.0, 1.1, 1.2]))
        stand = m.add_body("base", mass=5.0 * mass, com=tuple(scale * np.array([0.2, -0.1, 0.1])), inertia=inertia)
        m.add_joint("base", BASES[base], m.ground, stand)
        if base == "driven":
            m.add_driver("shake", "base", lambda t: 0.1 * scale * ca.sin(3.0 * t))
        if base == "led":
            m.add_kinematic_input("lead", "base")

    def bar(name, length):
        inertia = tuple(mass * scale**2 * rng.uniform(0.05, 0.3) * np.ones(3))
        return m.add_body(name, mass=mass * rng.uniform(0.5, 3.0), com=(0.4 * length, 0, 0), inertia=inertia)

    h, foot, before = scale * CRANK, 0.0, bar("crank 0", scale * CRANK)
    m.add_joint("A0", pin, stand, before)
    for k, cross in enumerate(crossed, start=1):
        length = scale * COUPLERS[k - 1]
        coupler, crank = bar(f"coupler {k}", length), bar(f"crank {k}", h)
        m.add_joint(f"B{k}", pin, before.at(h), coupler)
        m.add_joint(f"A{k}", pin, stand.at(foot + length), crank)
        foot += length
        first, second, third = f"A{k - 1}", f"A{k}", f"B{k}"
        if not geared:
            m.close_loop(f"C{k}", pin, coupler.at(length), crank.at(h))
            if twice and k == 1:
                m.close_loop("C1 again", pin, coupler.at(length), crank.at(h))
        elif cross:
            ratio = -(length + h) / (length - h)
            m.add_constraint(
                f"gear {k}",
                holonomic=lambda s, a=first, b=second, r=ratio: ca.tan(0.5 * s[b]) - r * ca.tan(0.5 * s[a]),
            )
            m.add_coupling(f"bend {k}", {third: 1, second: -1})
        else:
            m.add_coupling(f"gear {k}", {second: 1, first: -1})
            m.add_coupling(f"bend {k}", {third: 1, first: 1})
        before = crank
    return m.compile()


def start(system, geared, crossed, angle, speed, base_speed=0.3):
    """A state of the ladder on its branch, by its first crank; the base moves with random velocities of this size."""
    q, v, a, w = {"A0": angle}, {"A0": speed}, angle, speed
    for k, cross in enumerate(crossed, start=1):
        if cross:
            r = -(COUPLERS[k - 1] + CRANK) / (COUPLERS[k - 1] - CRANK)
            t = r * np.tan(0.5 * a)
            w = r * w / np.cos(0.5 * a) ** 2 / (1.0 + t * t)
            a = 2.0 * np.arctan(t)
            q[f"B{k}"], v[f"B{k}"] = a, w
        else:
            q[f"B{k}"], v[f"B{k}"] = -a, -w
        q[f"A{k}"], v[f"A{k}"] = a, w
    x = geared.state(q, v)
    moving = [k for k, name in enumerate(geared.v_names) if name.startswith("base")]
    u = x.v.copy()
    u[moving] = base_speed * np.random.default_rng(7).uniform(-1.0, 1.0, len(moving))
    x = geared.project(x.replace(v=u))
    return system.state(x.q, x.v), x
