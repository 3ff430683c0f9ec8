"""Gymnasium's two classes of environments, around a task. Importing this imports Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from dalembert.learning.environments import EnvironmentTask


def _spaces(task: EnvironmentTask) -> tuple[Box, Box]:
    """Spaces of one observation and one action."""
    seen = Box(-np.inf, np.inf, (task.size,), np.float32)
    return seen, Box(task.low.astype(np.float32), task.high.astype(np.float32), dtype=np.float32)


class Environment(gymnasium.Env[Any, Any]):
    """One system behind `gymnasium.Env`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (Gymnasium's)

    def __init__(self, task: EnvironmentTask) -> None:
        self.task = task
        self.observation_space, self.action_space = _spaces(task)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; returns the observation (size,) and info."""
        super().reset(seed=seed)
        again = int(self.task.begin(np.array([0]), self.np_random)[0])
        return self.task.seen()[0], {"redrawn": again} if again else {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold an action a period; returns observation, reward, whether the episode is over, or cut off, and info."""
        rewards, over, late, failed = self.task.step(np.array([0]), np.asarray(action, dtype=float)[None])
        info = {"message": failed[0]} if failed else {}
        return self.task.seen()[0], float(rewards[0]), bool(over[0]), bool(late[0]), info


class Environments(VectorEnv[Any, Any, Any]):
    """Many systems behind `gymnasium.vector.VectorEnv`."""

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, task: EnvironmentTask) -> None:
        self.task, self.num_envs = task, task.n
        self.single_observation_space, self.single_action_space = _spaces(task)
        self.observation_space = batch_space(self.single_observation_space, task.n)
        self.action_space = batch_space(self.single_action_space, task.n)
        self._over = np.zeros(task.n, dtype=bool)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all episodes; returns the observations (n, size) and info."""
        super().reset(seed=seed)
        info = self._begin(np.arange(self.num_envs))
        self._over[:] = False
        return self.task.seen(), info

    def _begin(self, rows: np.ndarray) -> dict[str, Any]:
        """Begin the episodes of these rows; info tells which starts were drawn again, and how often."""
        again = np.zeros(self.num_envs, dtype=int)
        again[rows] = self.task.begin(rows, self.np_random)
        return {"redrawn": again, "_redrawn": again > 0} if again.any() else {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Hold actions (n, k) for a period; returns observations, rewards, which are over, which cut off, and info."""
        again = np.flatnonzero(self._over)
        info = self._begin(again) if len(again) else {}
        going = np.flatnonzero(~self._over)
        rewards, over, late, failed = self.task.step(going, np.asarray(actions, dtype=float))
        self._over = over | late
        if failed:
            info["message"] = np.array([failed.get(k) for k in range(self.num_envs)], dtype=object)
            info["_message"] = np.isin(np.arange(self.num_envs), list(failed))
        return self.task.seen(), rewards, over, late, info
