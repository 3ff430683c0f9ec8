"""The examples in `examples/differentiable` find what they look for, and the code of the page runs."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

jax = pytest.importorskip("jax", reason='these examples need JAX: pip install "dalembert[jax]"')
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _doubles(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "differentiable"))
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)
    for name in ("machines", "policy_gradient", "linkage_by_adam", "friction_network", "mpc"):
        sys.modules.pop(name, None)


def test_a_closed_chain_is_balanced_by_policy_gradient():
    found = import_module("policy_gradient").main(60)
    assert found["last cost"] < 0.2 * found["first cost"]


def test_adam_finds_the_lengths_of_a_linkage():
    found = import_module("linkage_by_adam").main(300)
    assert found["after"] < 0.05 * found["before"]


def test_a_network_learns_the_friction():
    found = import_module("friction_network").main(150)
    assert found["after"] < 0.2 * found["before"]


def test_predictive_control_with_exact_hessians_arrives():
    found = import_module("mpc").main(40)
    assert found["after"] < 0.15 * found["before"]
    assert found["speed"] < 0.1


def test_the_code_of_the_page_runs():
    pytest.importorskip("torch", reason='the page needs PyTorch: pip install "dalembert[torch]"')
    code = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "export_jax.md").read_text(), re.DOTALL)
    names: dict = {}
    for part in code:
        exec(part, names)
    assert names["gradients"].shape == (64, 100, 2)
    assert abs(names["gradients"] - names["u"].grad.numpy()).max() < 1e-12
