"""Examples are written as scripts are: the lines that add a joint do not show what they return."""

import sys
from importlib.util import find_spec

#: doors to what is not installed: their examples need it
collect_ignore_glob = [f"src/dalembert/{name}/*" for name in ("jax", "torch") if find_spec(name) is None]

shown = sys.__displayhook__


def display(x):
    if type(x).__name__ != "Attachment":
        shown(x)


sys.__displayhook__ = display
