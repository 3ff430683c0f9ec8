"""Forged messages: whatever is sent, nothing is printed, hangs or opens a loop, and errors are sentences."""

import contextlib
import random

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import DalembertError
from studio_desk import Desk

WEIRD = (None, True, 0, -1, 2.5, 1e308, float("nan"), float("inf"), "", "A", "crank", "x" * 3000, [], {}, [1, 2, 3],
         [None] * 3, {"A": 1}, [[1]], "../../etc/passwd", "<img src=x>", "state", {"torque": "x"})  # fmt: skip
KEYS = ("body", "point", "to", "name", "on", "time", "values", "slot", "t", "what", "number", "amplitude", "input",
        "output", "axes", "place", "again", "data")  # fmt: skip


def of_the_zoo(name, **how):
    entry = zoo.CATALOG[name]
    system = entry.build(**how).compile()
    return system, system.state(*entry.start(**how))


def driven():
    m = zoo.four_bar()
    m.add_driver("turning", "A", lambda t: 0.5 + 2 * t)
    system = m.compile()
    return system, system.assemble(guess={"A": 0.5, "B": -0.1, "D": 1.4})


def touching():
    m = da.Mechanism("ball", gravity=(0, 0, -9.81))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=2.0), limits=(-1, 3))
    m.add_contact("floor", "ball", radius=0.1, restitution=0.5)
    m.add_rope("rope", ["ground", "ball"], length=2.0)
    m.add_motor("lift", "z")
    system = m.compile()
    return system, system.state({"z": 1.0})


def loops_that_touch():
    """A four-bar whose coupler meets a floor with friction, with a stop at its crank and a rope to its rocker."""
    m = zoo.four_bar()
    up = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # z of the plane is y of the ground
    floor = m.ground.at(0, -0.3, 0, rotation=up)
    m.add_contact("floor", m.bodies["coupler"].at(0.3, 0, 0), on=floor, radius=0.02, friction=0.3)
    m.add_rope("rope", ["ground", m.bodies["rocker"].at(0.4, 0, 0)], length=0.9)
    system = m.compile()
    return system, system.assemble({"A": 1.0}, guess={"B": -0.1, "D": 1.4})


def hundred_that_touch():
    """A chain of a hundred bodies, its last one above a floor."""
    m = zoo.chain(100)
    last = list(m.bodies)[-1]
    m.add_contact("floor", last, radius=0.01)
    system = m.compile()
    return system, system.state()


#: what is opened, and how many messages it gets here
MECHANISMS = {
    "four-bar": (lambda: of_the_zoo("four_bar"), 200),
    "driven": (driven, 150),
    "quaternion": (lambda: of_the_zoo("heavy_top"), 120),
    "nonholonomic": (lambda: of_the_zoo("rolling_disc"), 120),
    "platform": (lambda: of_the_zoo("stewart"), 16),
    "contacts": (touching, 120),
    "loops that touch": (loops_that_touch, 60),
    "hundred that touch": (hundred_that_touch, 4),
    "hundred bodies": (lambda: of_the_zoo("ladder", loops=50), 5),
}


def forged(rng, desk):
    """A message: sensible, half sensible, or nonsense."""
    system, studies = desk.session.bench.system, desk.session.studies

    def number():
        return rng.choice([rng.uniform(-2, 2), rng.uniform(-2, 2), 0, 1e-300, 1e12, None])

    def named(names):
        return rng.choice([*names, "nobody"]) if rng.random() < 0.9 else value()

    def value(depth=0):
        if depth < 2 and rng.random() < 0.2:
            return rng.choice([lambda: [value(depth + 1)], lambda: {rng.choice(KEYS): value(depth + 1)}])()
        return rng.choice(WEIRD) if rng.random() < 0.6 else rng.uniform(-2, 2)

    coordinates, inputs = [*system.v_names], [*system.u_names] or ["u"]
    outputs = [n for names in studies.outputs.values() for n in names] or ["energy"]
    likely = {
        "body": lambda: named(system.layout.bodies),
        "point": lambda: [number() for _ in range(3)],
        "to": lambda: number() if name == "slide" else [number() for _ in range(3)],
        "name": lambda: named(coordinates),
        "values": lambda: {
            rng.choice(inputs if name == "inputs" else [*system.p_names, "p"]): rng.choice([rng.uniform(-9, 9), None])
        },
        "number": lambda: rng.randrange(-1, 5),
        "amplitude": number,
        "input": lambda: named(inputs),
        "output": lambda: named(outputs),
        "axes": lambda: [
            {"name": named(coordinates), "low": number(), "high": number(), "count": rng.randrange(1, 4)}
            for _ in range(rng.randrange(3))
        ],
        "place": lambda: [rng.randrange(-1, 4) for _ in range(rng.randrange(3))],
        "time": lambda: rng.choice([0.01, 1e-9, 0.3]),
        "t": number,
        "slot": lambda: rng.choice(["A", "B"]),
        "what": lambda: rng.choice(["state", "model"]),
        "on": lambda: rng.random() < 0.5,
        "again": lambda: rng.random() < 0.5,
        "data": lambda: rng.randbytes(50),
    }
    name = rng.choice([n for n in desk.session.commands if n != "live"])
    message = {"do": name}
    if name == "simulate":
        message["time"] = likely["time"]()
    for key in KEYS if rng.random() < 0.6 else rng.sample(KEYS, rng.randrange(5)):
        message[key] = likely[key]() if rng.random() < 0.85 or name == "simulate" else value()
    if name == "load":
        message |= {"name": rng.choice(["a.yaml", "b.urdf", "c.xml", "d.lua", "e.json", "f.exe"])}
    return message


def campaign(make, seed, count):
    """A desk after so many messages."""
    rng, desk = random.Random(seed), Desk(*make())
    assert desk.session.idle(120)
    for _ in range(count):
        with contextlib.suppress(DalembertError):
            desk.session.do(forged(rng, desk), 1)
        if rng.random() < 0.3:
            assert desk.session.idle(120)
        if rng.random() < 0.02:
            desk.session.do({"do": "stop"}, 1)
    assert desk.session.idle(120)
    return desk


@pytest.mark.parametrize("name", MECHANISMS)
def test_forged_messages_are_answered_in_sentences(name, capsys):
    """No traceback, no error but the library's own, and loops closed in every pose."""
    make, count = MECHANISMS[name]
    desk = campaign(make, 5, count)
    desk.session.close()
    assert "Traceback" not in capsys.readouterr().err
    assert desk.errors()
    assert not [t for t in desk.errors() if "unexpectedly" in t]
    worst = max(h["residual"] or 0.0 for h, _ in desk.events("pose"))
    assert worst < 1e-6
