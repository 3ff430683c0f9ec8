"""Printing a mechanism: its tree, coordinates, inputs, parameters and forces, as text and as HTML."""

from __future__ import annotations

from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from dalembert.errors import DescriptionError
from dalembert.mechanism.topology import with_tree

if TYPE_CHECKING:
    from dalembert.mechanism.joints.attachment import Attachment
    from dalembert.mechanism.mechanism import Mechanism


DEEPEST = 120  # characters of indentation: a long chain goes straight down from there


def text(m: Mechanism) -> str:
    """The whole description on one screen."""
    m = _arranged(m)
    lines = [f"{m.name}", *(f"  {line}" for line in tree_lines(m)), ""]
    for title, items in sections(m):
        lines += wrap(
            ", ".join(items) or "none", 110, initial_indent=f"  {title + ':':13s}", subsequent_indent=" " * 15
        )
    return "\n".join(lines)


def html(m: Mechanism) -> str:
    """The description of a mechanism as HTML, for notebooks."""
    m = _arranged(m)
    left = "style='text-align:left'"
    rows = "".join(
        f"<tr><th {left}>{escape(title)}</th><td {left}>{escape(', '.join(items) or 'none')}</td></tr>"
        for title, items in sections(m)
    )
    tree = escape("\n".join(tree_lines(m)))
    return f"<b>{escape(m.name)}</b><pre>{tree}</pre><table>{rows}</table>"


def sections(m: Mechanism) -> list[tuple[str, list[str]]]:
    """The parts of a mechanism besides its tree: forces, constraints, inputs, parameters."""
    joints = list(m.joints.values())
    return [
        ("coordinates", [name for j in joints for name in j.coordinates]),
        ("velocities", [name for j in joints for name in j.velocities]),
        ("inputs", [_sized(name, u.numel()) for name, u in m.inputs.items()]),
        ("parameters", [f"{name} = {_numbers(x)}" for name, x in m.parameters.values.items()]),
        ("constraints", [f"{name} ({c.describe()})" for name, c in m.constraints.items()]),
        *([("contacts", [f"{name} ({c.describe()})" for name, c in m.contacts.items()])] if m.contacts else []),
        ("forces", [f"{name} ({f.kind})" for name, f in m.forces.items()]),
        ("frames", [f"{name} (on {frame.body.name})" for name, frame in m.frames.items()]),
        ("gravity", [_numbers(m.gravity)]),
    ]


def tree_lines(m: Mechanism) -> list[str]:
    """The bodies, each under the one that carries it."""
    lines, hung = ["ground"], dict[str, list["Attachment"]]()
    for joint in m.joints.values():
        hung.setdefault(joint.parent.body.name, []).append(joint)
    waiting = [(joint, "", k == 0) for k, joint in enumerate(reversed(hung.get("ground", [])))]
    while waiting:
        joint, indent, last = waiting.pop()
        lines.append(indent + ("└─ " if last else "├─ ") + _joint_line(joint))
        inner = (indent + ("   " if last else "│  "))[:DEEPEST]
        waiting += [(j, inner, k == 0) for k, j in enumerate(reversed(hung.get(joint.child.body.name, [])))]
    carried = {j.child.body.name for j in m.joints.values()}
    lines += [f"(not connected: {name})" for name in m.bodies if name != "ground" and name not in carried]
    return lines


def _joint_line(j: Attachment) -> str:
    """A joint and the body it carries; "←" where the user named that body first."""
    joint, arrow = (j.inverted().joint, "←") if j.flipped else (j.joint, "→")
    return f"{j.name}: {joint!r} {arrow} {j.child.body.name} ({_number(j.child.body.mass)} kg)"


def _arranged(m: Mechanism) -> Mechanism:
    """The mechanism with its tree, as far as it has one yet."""
    try:
        return with_tree(m)
    except DescriptionError:  # raised again by `compile`, where someone can act on it
        return m


def _sized(name: str, size: int) -> str:
    return name if size == 1 else f"{name}[{size}]"


def _number(x: Any) -> str:
    return f"{x:g}" if isinstance(x, float) else str(x.sx)


def _numbers(x: Any) -> str:
    return _number(float(x[0])) if len(x) == 1 else "(" + ", ".join(_number(e) for e in x) + ")"
