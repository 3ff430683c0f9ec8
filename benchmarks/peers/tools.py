"""All tools by name."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.motions import Motion
from benchmarks.peers import Families, ours, with_exudyn, with_mujoco, with_numba, with_numpy, with_pinocchio

OURS, PINOCCHIO, MUJOCO, EXUDYN = "dalembert", "Pinocchio + SciPy", "MuJoCo", "Exudyn"
NUMPY, NUMBA, BY_HAND = "NumPy + SciPy", "Numba loop", "Numba, by hand"
GENERAL: dict[str, Callable[[Motion], Families]] = {
    OURS: ours.families,
    PINOCCHIO: with_pinocchio.families,
    MUJOCO: with_mujoco.families,
    EXUDYN: with_exudyn.families,
}
WRITTEN = {NUMPY: with_numpy.families, NUMBA: with_numba.usual, BY_HAND: with_numba.by_hand}  # for P1 and P2 only
