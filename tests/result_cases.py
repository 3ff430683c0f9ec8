"""One result of every kind that users get, by name, for tests of what all of them answer."""

import numpy as np

import dalembert as da
from dalembert import control, zoo


def loader():
    return zoo.loader().compile(), zoo.loader().compile().state(*zoo.loader_start())


def four_bar():
    system = zoo.four_bar().compile()
    return system, system.assemble({"A": 0.6}, v={"A": 2.0})


def pole():
    system = zoo.cart_pole().compile()
    return system, system.state({"phi1": 0.1})


def run():
    return da.simulate(*four_bar(), 0.3)


def phased():
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_contact("floor", "ball", restitution=0.5)
    return da.simulate(m.compile(), {"z": 1.0}, 1.0)


def stepped():
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_contact("floor", "ball", restitution=0.5)
    return da.simulate(m.compile(), {"z": 1.0}, 0.6, method="moreau", step=5e-3)


def sweep():
    return four_bar()[0].sweep({"A": np.linspace(0.6, 0.9, 7)}, speed=1.0)


def sweep_of_two():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    return system.sweep({"A": np.linspace(x["A"], x["A"] + 0.1, 4), "B": np.linspace(x["B"], x["B"] - 0.1, 4)}, x)


def sweeps():
    return da.sweep_many(four_bar()[0], {"A": np.linspace(0.5, 0.9, 5)}, n=3, speed=2.0)


def ensemble(**how):
    system, x = four_bar()
    return da.ensemble(system, {"A": [0.5, 0.6, 0.7]}, 0.2, v={"A": 1.0}, guess=x, workers=1, **how)


def ensemble_over_time():
    return ensemble(t_eval=np.linspace(0.0, 0.2, 9))


def workspace():
    system, x = four_bar()
    return da.workspace(system, {"A": np.linspace(0.4, 0.8, 4)}, x)


def linear_model():
    return da.linearize(*pole())


def linear_models():
    system, x = pole()
    return da.linearize_many(system, [x, x.replace(q={"phi1": 0.3})])


def linear_trajectory():
    system, x = pole()
    return da.linearize_along(system, da.simulate(system, x, 0.2))


def equilibrium():
    return da.equilibrium(*loader(), solve_for="u")


def static_forces():
    return da.static_forces(*loader(), [{"bucket": (0, 0, -F)} for F in (0.0, 1e4)])


def plan():
    system, x = pole()
    return control.straight_motion(system, x.replace(q={"phi1": 0.0}), {"cart": 0.2}, 0.8, 8)


def optimal():
    system, x = pole()
    return control.optimal_motion(system, x, 0.2, lambda s, u: u["push"] ** 2, lambda s: s["phi1"] ** 2, steps=4)


def forces():
    system, _ = four_bar()
    return control.actuator_forces_along(system, sweep(), np.linspace(0, 0.3, 7), actuated=["A"])


def sensitivities():
    from parameterized import four_bar as varied

    system = varied()
    x = system.assemble({"A": 0.7}, guess={"D": 1.2})
    return da.sensitivities(system, x, of=["acceleration:A"], wrt=["l1", "l2"], held=["A"])


def run_sensitivities():
    m = da.Mechanism("cart")
    mass = m.add_parameter("mass", 1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=mass), stiffness=4.0)
    runs = da.ensemble(m.compile(), {"x": 1.0}, 0.2, p={"mass": [1.0, 1.5, 2.0]}, wrt=["mass"], workers=1)
    return runs.sensitivities


def fit():
    m = da.Mechanism("cart")
    mass = m.add_parameter("mass", 1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=mass), stiffness=4.0, damping=0.1)
    system, t = m.compile(), np.linspace(0.0, 2.0, 21)
    return da.fit(system, {"t": t, "x": 0.5 * np.cos(1.9 * t)}, {"mass": 1.0}, state={"x": 0.5})


def design():
    m = da.Mechanism("crank and slider")
    r, l = m.add_parameter("r", 0.2), m.add_parameter("l", 0.7)
    crank, rod, slide = (m.add_body(n, mass=1.0, inertia=(1, 1, 1)) for n in ("crank", "rod", "slide"))
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(r, 0, 0), rod)
    m.add_joint("guide", da.Prismatic("x"), m.ground, slide)
    m.close_loop("C", da.Revolute("z"), rod.at(l, 0, 0), slide)
    angles = np.radians([0, 60, 120, 180])
    wanted = 0.28 * np.cos(angles) + np.sqrt(0.62**2 - (0.28 * np.sin(angles)) ** 2)
    return da.optimize(m.compile(), {"r": (0.1, 0.5)}, {"A": angles}, {"guide": wanted}, guess={"guide": 0.8})


def study():
    m = da.Mechanism("cart")
    mass = m.add_parameter("mass", 1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=mass), stiffness=4.0)
    return da.study(m.compile(), {"mass": (1.0, 2.0)}, {"end": lambda runs: runs["x"]}, states={"x": 1.0}, t=0.5, n=16)


CASES = {
    f.__name__: f
    for f in (
        run, phased, stepped, sweep, sweep_of_two, sweeps, ensemble, ensemble_over_time, workspace, linear_model,
        linear_models, linear_trajectory, equilibrium, static_forces, plan, optimal, forces, sensitivities,
        run_sensitivities, fit, design, study,
    )
}  # fmt: skip
