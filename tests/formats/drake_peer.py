"""Drake in a process of its own: its libraries and Pinocchio's do not live in one.

Drake.parse(path) raises what Drake's parser says; with positions q it gives the pose of a body. As a program it answers
such requests, one line of JSON each.
"""

import importlib.util
import json
import subprocess
import sys
from functools import cache

import pytest

MISSING = "Drake is not installed: pip install 'dalembert[peers]'"


class Drake:
    """The process; it ends with its input."""

    def __init__(self):
        if importlib.util.find_spec("pydrake") is None:
            pytest.skip(MISSING)
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def parse(self, path, body=None, q=None):
        """Refuses what Drake refuses; the (4, 4) pose of a body at positions q where one is named."""
        self.process.stdin.write(json.dumps([str(path), body, q]) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["pose"]


@cache
def drake():
    """One process for all tests."""
    return Drake()


def answers():
    """Parse what is asked for; loops are the parser's matter, not of the plant, which cannot model them."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    for line in sys.stdin:
        path, body, q = json.loads(line)
        try:
            plant, pose = MultibodyPlant(0.001), None
            Parser(plant).AddModels(path)
            if body is not None:
                plant.Finalize()
                context = plant.CreateDefaultContext()
                plant.SetPositions(context, q)
                pose = plant.GetBodyByName(body).EvalPoseInWorld(context).GetAsMatrix4().tolist()
            answer = {"pose": pose}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    answers()
