"""An excavator with three cylinders: what they push with to hold a load, and a drop onto the stops."""

import dalembert as da


def machine():
    m = da.Mechanism("excavator", gravity=(0, 0, -9.81))
    boom = m.add_body("boom", mass=800.0, com=(2.0, 0, 0.3), inertia=da.rod_inertia(800.0, 4.5))
    stick = m.add_body("stick", mass=350.0, com=(1.0, 0, 0), inertia=da.rod_inertia(350.0, 2.4))
    bucket = m.add_body("bucket", mass=250.0, com=(0.4, 0, -0.3), inertia=da.rod_inertia(250.0, 1.0))
    m.add_joint("boom", da.Revolute("y"), m.ground.at(0, 0, 1.2), boom, limits=(-1.1, 0.6), stops="rigid")
    m.add_joint("stick", da.Revolute("y"), boom.at(4.4, 0, 0.2), stick, limits=(0.4, 2.4), stops="rigid")
    m.add_joint("bucket", da.Revolute("y"), stick.at(2.4), bucket)
    m.add_actuator("boom cylinder", m.ground.at(0.5, 0, 0.8), boom.at(2.2, 0, 0.1), limits=(-3e5, 5e5))
    m.add_actuator("stick cylinder", boom.at(2.0, 0, 0.9), stick.at(-0.6, 0, 0.3), limits=(-3e5, 3e5))
    m.add_actuator("bucket cylinder", stick.at(0.2, 0, 0.5), bucket.at(-0.2, 0, 0.35), limits=(-2e5, 2e5))
    m.add_frame("load", bucket.at(0.5, 0, -0.3))
    m.add_wrench("payload", "load", force=[0, 0, -9.81 * m.add_parameter("payload", 800.0)])
    return m


def main():
    system = machine().compile()
    x = system.state({"boom": -0.4, "stick": 1.2, "bucket": 0.6})
    held, drop = da.equilibrium(system, x, solve_for="u"), da.simulate(system, x, 1.0)
    return {"system": system, "state": x, "held": held, "drop": drop}


if __name__ == "__main__":
    print(main())
