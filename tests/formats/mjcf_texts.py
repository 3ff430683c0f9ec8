"""MuJoCo's model of a file, texts, and what tests of MJCF share."""

from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco", reason="MJCF files are read through MuJoCo's compiler, which is not installed")

from mujoco_peer import Peer  # noqa: E402

DATA = Path(__file__).parent / "data" / "mjcf"
BOX = "  ".join(f"{x} {y} {z}" for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.2))  # its corners
NAMES = ["joints", "tendons", "actuators", "equalities"]


def peer(path, system, **options):
    """MuJoCo's model of a file; of its text without meshes where it has meshes that are not there."""
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        model = mujoco.MjModel.from_xml_path(str(path).replace(".xml", ".nomesh.xml"))
    return Peer(model, system, **options)


def text_file(tmp_path, body, name="model.xml", head=""):
    path = tmp_path / name
    path.write_text(f"<mujoco>{head}\n<worldbody>{body}\n</worldbody></mujoco>")
    return path


def close(ours, theirs, tolerance, least=1e-9):
    assert np.abs(ours - theirs).max(initial=0.0) <= tolerance * max(np.abs(theirs).max(initial=0.0), least)
