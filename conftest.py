"""Examples are written as scripts are: the lines that add a joint do not show what they return."""

import sys

shown = sys.__displayhook__


def display(x):
    if type(x).__name__ != "Attachment":
        shown(x)


sys.__displayhook__ = display
