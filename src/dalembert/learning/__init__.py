"""Environments for reinforcement learning: Gymnasium's interface on systems, many of them side by side in lanes."""
