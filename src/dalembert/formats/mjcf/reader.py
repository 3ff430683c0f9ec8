"""Reading MJCF: MuJoCo's compiled model as a mechanism."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError, ModelFileError
from dalembert.formats.at_limits import checked_stops, stop_at_limits
from dalembert.formats.mjcf.actuators import read_actuators
from dalembert.formats.mjcf.bodies import read_bodies
from dalembert.formats.mjcf.compiling import compiled
from dalembert.formats.mjcf.equalities import note_gaps, read_equalities
from dalembert.formats.mjcf.passive import read_passive
from dalembert.formats.mjcf.reading import Reading
from dalembert.formats.mjcf.source import Source
from dalembert.formats.mjcf.states import read_states
from dalembert.formats.mjcf.tendons import read_tendons
from dalembert.formats.mjcf.trial import tried
from dalembert.formats.notes import Notes
from dalembert.mechanism.mechanism import Mechanism

READ_OPTIONS = ("gravity", "density", "viscosity", "wind", "magnetic", "actuatorgroupdisable")
NO_CONTACT, NO_GRAVITY, NO_ACTUATION = 1 << 4, 1 << 7, 1 << 11


def read_mjcf(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    keyframe: str | int | None = None,
    base: str | None = None,
    merge_fixed: bool = True,
    actuators: str = "laws",
    ranges: bool = False,
    stops: Any = None,
    isolated: bool = False,
    folder: str | os.PathLike[str] | None = None,
) -> Mechanism:
    """The mechanism of an MJCF file, MuJoCo's format, read through MuJoCo's compiler (extra `mjcf`).

    path: the file; what it includes must be in its folder, or in `folder`, one around it that you trust it with.
    strict=True refuses a file with anything that has no meaning here, which is otherwise listed in `notes`. Coordinates
    are those of the file, `ref` included; every keyframe is a named state, and the state "start" is MuJoCo's reference
    position, or the keyframe (name or number) asked for by `keyframe`. base: "fixed" welds bodies on free joints to the
    ground, "free" lets those without joints that carry others float, None takes them as written. merge_fixed: bodies
    without joints become frames of the bodies that carry them; False keeps them. actuators: "laws" (each is an input u
    with its gain and bias, as MuJoCo's ctrl), "forces" (the input is the force itself) or "none". ranges=True keeps
    their ranges: inputs beyond ctrlrange (actrange, of an activation) act as its nearest end, and forces stay in
    forcerange. stops: what stops joints at their limits, "rigid" or a `da.Stops`; None keeps limits as data.
    isolated=True tries MuJoCo's compiler in a process of its own first, so that a file by which it crashes is an error
    here; it takes about half a second more.

    >>> import dalembert as da, pathlib, tempfile
    >>> text = '''<mujoco model="pendulum"><worldbody><body name="rod">
    ...   <joint name="pivot" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -1" size="0.05"/>
    ... </body></worldbody></mujoco>'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "pendulum.xml"
    ...     _ = file.write_text(text)
    ...     da.read_mjcf(file)
    <mechanism 'pendulum': 1 bodies, 1 joints>
    """
    checks.flag(strict, "strict")
    checks.flag(merge_fixed, "merge_fixed")
    if base is not None:
        checks.choice(base, ("fixed", "free"), "base")
    checks.choice(actuators, ("laws", "forces", "none"), "actuators")
    checks.flag(ranges, "ranges")
    stops = checked_stops(stops)
    where, notes = Path(checks.path(path, "path", error=ModelFileError)), Notes(strict)
    if checks.flag(isolated, "isolated"):
        tried(where, base, folder)
    source = Source(where, notes, folder)
    of = compiled(source, notes, base)
    gravity = np.zeros(3) if of.model.opt.disableflags & NO_GRAVITY else of.model.opt.gravity
    try:
        m = Mechanism(source.root.attrib.get("model") or Path(path).stem, gravity=gravity.tolist())
        r = Reading(of, m, notes, merge_fixed, ranges, stops is not None)
        read_bodies(r)
        read_passive(r)
        tendons = read_tendons(r)
        read_equalities(r, tendons)
        read_actuators(r, tendons, "none" if of.model.opt.disableflags & NO_ACTUATION else actuators)
        _notes(r)
    except DescriptionError as error:
        raise ModelFileError(str(error), source.root.file) from error
    read_states(r, keyframe)
    note_gaps(r)
    m.notes.extend(notes.done())
    return stop_at_limits(m, stops)


def _notes(r: Reading) -> None:
    """Read the settings of the whole model."""
    model, root = r.model, r.of.root
    touching = [g for g in range(model.ngeom) if model.geom_contype[g] or model.geom_conaffinity[g]]
    if touching and not model.opt.disableflags & NO_CONTACT:
        text = f"contact is not modelled; {len(touching)} geoms could touch in MuJoCo"
        r.note("geom", touching[0], f"{text}, and do so here after m.add_contacts")
    options: Any = root.findall("option")
    if model.opt.density > 0.0 or model.opt.viscosity > 0.0:
        r.notes.add(options[-1] if options else root, "forces of the air or water around bodies are not modelled")
    for option in options:
        solver = [a for a in option.attrib if a not in READ_OPTIONS]
        if solver:
            r.notes.add(option, f"settings of MuJoCo's solver have no meaning here: {', '.join(solver)}")
