"""Every public name and every good call of the campaign where nothing but the core is installed.

`python tests/campaign/bare.py` needs neither pytest nor an extra: it runs in an environment made by `pip install .`
alone. `--hide` makes such an environment of any other: what the extras bring cannot be imported then. A call succeeds,
or raises `MissingExtra` with the command that installs what it needs. `NEEDS` lists the calls that may do so, and the
extra of each, so that no call comes to need one unnoticed.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

#: modules of the extras, and of their own needs that other packages may bring
EXTRAS = {
    "numba", "pyarrow", "mujoco", "matplotlib", "PIL", "websockets", "trimesh", "ruamel", "click", "xacro", "pandas",
    "xarray", "gymnasium", "distributed", "dask", "zarr", "control", "yaml", "pytest", "pxr",
}  # fmt: skip
#: {call: the extra it needs}
NEEDS = {
    "dalembert.read": "yaml",
    "dalembert.read_model": "yaml",
    "dalembert.read_mjcf": "mjcf",
    "dalembert.read_usd": "usd",
    "dalembert.view.studio": "studio",
    "dalembert.view.plot": "view",
    "dalembert.view.snapshot": "view",
    "dalembert.Run.plot": "view",
    "dalembert.Fit.plot": "view",
    "dalembert.Workspace.plot": "view",
    "dalembert.Sweep.plot": "view",
    "dalembert.Ensemble.plot": "view",
    "dalembert.LinearModel.plot": "view",
    "dalembert.Run.save": "files",
    "dalembert.read_run": "files",
    "dalembert.ensemble, stored": "files",
    "dalembert.ensemble, stored in Zarr": "files",
    "dalembert.Run.to_pandas": "pandas",
    "dalembert.Ensemble.to_pandas": "pandas",
    "dalembert.StaticForces.to_pandas": "pandas",
    "dalembert.control.ActuatorForcesAlong.to_pandas": "pandas",
    "dalembert.Run.to_xarray": "xarray",
    "dalembert.Ensemble.to_xarray": "xarray",
    "dalembert.Workspace.to_xarray": "xarray",
    "dalembert.LinearModel.to_control": "control",
    "dalembert.environment": "learning",
    "dalembert.environments": "learning",
}
if not any(map(shutil.which, ("cc", "gcc", "clang"))):
    NEEDS["dalembert.System.export_fmu"] = "export"


class Hidden(importlib.abc.MetaPathFinder):
    """Finds no module of an extra, and lets no other finder find it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.split(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


def _wrong(name: str, call: Any, arguments: Any) -> str:
    """What is wrong with the way a good call ends; empty where nothing is."""
    from dalembert.errors import MissingExtra

    extra = NEEDS.get(name)
    try:
        call(**arguments())
    except MissingExtra as error:
        if extra is None:
            return f"needs an extra, which NEEDS does not say: {error}"
        return (
            "" if f'pip install "dalembert[{extra}]"' in str(error) else f"names another extra than [{extra}]: {error}"
        )
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if extra is None else f"works, though NEEDS says that it takes the extra [{extra}]"


def check() -> list[str]:
    """What is wrong, one line a name or call."""
    import dalembert as da

    wrong = []
    for package in (da, da.analysis, da.control, da.view, da.zoo):
        for name in getattr(package, "__all__", ()):
            try:
                getattr(package, name)
            except Exception as error:
                wrong.append(f"{package.__name__}.{name}: {type(error).__name__}: {error}")
    from targets import TARGETS
    from targets.models import made

    for name, (call, good) in TARGETS.items():
        found = _wrong(name, call, lambda good=good: made(good))
        wrong += [f"{name}: {found}"] if found else []
    wrong += [f"NEEDS lists '{name}', which is no call of the campaign" for name in NEEDS if name not in TARGETS]
    loaded = sorted(EXTRAS & sys.modules.keys())
    wrong += [f"modules of extras were imported: {', '.join(loaded)}"] if loaded else []
    print(f"{len(TARGETS)} calls, {len(NEEDS)} of them for extras: {len(wrong)} wrong")
    return wrong


if __name__ == "__main__":
    if "--hide" in sys.argv:
        sys.meta_path.insert(0, Hidden())
    here = Path(__file__).resolve().parent
    sys.path[:0] = [str(here), str(here.parent)]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        os.environ.setdefault("DALEMBERT_CACHE", str(Path(folder) / "cache"))
        warnings.simplefilter("error")
        found = check()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
