"""Mechanisms in PyTorch: steps, rollouts, dynamics and kinematics with gradients and vmap, in machine code.

    model = dalembert.torch.Model(system)
    q, v = model.rollout(q, v, u, p, step=1e-3)

Needs the extra `torch`, and tensors of torch.float64 on the CPU.
"""

from __future__ import annotations

from dalembert.errors import extra

extra("torch", "torch", "dalembert.torch")

from dalembert.torch.model import Model  # noqa: E402

__all__ = ["Model"]
