"""Bitcode of the native functions, made when a wheel or an editable install is built; the rest is in pyproject.toml."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithBitcode(build_py):
    """Copy the package, unless it stays in place, and make its bitcode."""

    def run(self):
        super().run()
        root, shipped = Path("src" if self.editable_mode else self.build_lib).resolve(), "dalembert/native/shipped"
        if not self.editable_mode:
            shutil.rmtree(root / shipped, ignore_errors=True)
            if Path("src", shipped).exists():  # bitcode of an editable install; what is stale is made anew
                shutil.copytree(Path("src", shipped), root / shipped)
        path = os.pathsep.join([str(root), *filter(None, sys.path)])  # with the build requirements
        subprocess.run(
            [sys.executable, "-m", "dalembert.native.build"], env={**os.environ, "PYTHONPATH": path}, check=True
        )


# The wheel is for any Python 3 on any platform: bitcode becomes machine code where it is loaded.
setup(cmdclass={"build_py": BuildWithBitcode})
