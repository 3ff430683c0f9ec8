"""What is public of systems, states and runs, written down: nothing internal slips in, nothing is lost.

    python tests/interface/test_public_attributes.py

writes the list anew.
"""

from pathlib import Path

import dalembert as da
from dalembert import zoo

LIST = Path(__file__).with_name("public_attributes.txt")


def objects():
    """A system, a state, and a run of each kind, by the names of their classes."""
    swing = da.Mechanism("swing", gravity=(0, -9.81, 0))
    bar = swing.add_body("bar", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
    swing.add_joint("A", da.Revolute("z"), swing.ground, bar, friction=0.1)
    system = zoo.four_bar().compile()
    state = system.state(*zoo.four_bar_start(0.6))
    runs = (
        da.simulate(system, state, 0.1),
        da.simulate(swing.compile(), {"A": 0.2}, 0.1),
        da.simulate(swing.compile(), {"A": 0.2}, 0.1, method="moreau", step=1e-2),
    )
    return {type(x).__name__: x for x in (system, state, *runs)}


def public():
    """Class.name of all names that do not begin with an underscore."""
    return [f"{kind}.{name}" for kind, x in objects().items() for name in sorted(dir(x)) if not name.startswith("_")]


def test_public_attributes_are_those_that_are_written_down():
    assert public() == LIST.read_text(encoding="utf-8").split()


if __name__ == "__main__":
    LIST.write_text("\n".join([*public(), ""]), encoding="utf-8")
