"""A paragraph on the events of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.simulation.results.joint_limits import beyond_limits

if TYPE_CHECKING:
    from dalembert.simulation.results.run import Run

DONE = {
    "hit": "was hit", "left": "was left", "rests": "came to rest", "unloaded": "stopped bearing", "sticks": "stuck",
    "slides": "slid", "reverses": "reversed",
}  # fmt: skip
ROPE = {"hit": "became taut", "left": "went slack", "rests": "stayed taut"}
ONE_BY_ONE = 4  # switches of constraints that are told one by one


def summary(run: Run) -> str:
    """Sentences on the end, the changes of structure, singular positions and limits."""
    parts = []
    if len(run.t):
        parts.append(f"'{run.system.name}' moved from t = {run.t[0]:.6g} s to {run.t[-1]:.6g} s: {run.message}.")
    else:
        parts.append(f"'{run.system.name}' did not move: {run.message}.")
    parts += _changes(run.switches, getattr(run.system, "layout", None))
    parts += [_sentence(str(p)) for p in run.passages[:ONE_BY_ONE]]
    if len(run.passages) > ONE_BY_ONE:
        parts.append(f"{len(run.passages) - ONE_BY_ONE} more singular positions were passed.")
    parts += [_sentence(s) for s in (*run.remarks, *beyond_limits(run))]
    return " ".join(parts)


def _changes(switches: Any, layout: Any) -> list[str]:
    """Opened and closed constraints one by one; contacts and joints by how often what happened to them."""
    out = []
    named = [s for s in switches if s.kind in ("opened", "closed")]
    out += [_sentence(str(s)) for s in named[:ONE_BY_ONE]]
    if len(named) > ONE_BY_ONE:
        out.append(f"{len(named) - ONE_BY_ONE} more switches followed, the last at t = {named[-1].t:.6g} s.")
    contacts = {} if layout is None else layout.mechanism.contacts
    groups: dict[tuple[str, str], list[Any]] = {}
    for s in switches:
        if s.kind not in ("opened", "closed"):
            groups.setdefault((s.of, s.kind), []).append(s)
    for (of, kind), them in groups.items():
        rope = of in contacts and contacts[of].kind == "rope"
        words = ROPE.get(kind, kind) if rope else DONE.get(kind, kind)
        lost = sum(s.lost for s in them)
        took = f", which took {lost:.4g} J" if lost > 0.0 else ""
        if len(them) == 1:
            out.append(f"{of} {words} at t = {them[0].t:.6g} s{took}.")
        else:
            times = f"first at t = {them[0].t:.6g} s and last at t = {them[-1].t:.6g} s"
            out.append(f"{of} {words} {len(them)} times, {times}{took}.")
    notes = dict.fromkeys(s.note for s in switches if s.note and s.kind not in ("opened", "closed"))
    return [*out, *(_sentence(note) for note in list(notes)[:ONE_BY_ONE])]


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else text + "."
