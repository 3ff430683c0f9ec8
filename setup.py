"""Bitcode of the native functions, made when a wheel or an editable install is built; the rest is in pyproject.toml."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py


class BuildWithBitcode(build_py):
    """Copy the package, unless it stays in place, and make its bitcode."""

    def run(self):
        super().run()
        root = Path("src" if self.editable_mode else self.build_lib).resolve()
        if not self.editable_mode:
            shutil.rmtree(root / "dalembert/native/shipped", ignore_errors=True)
        build = [sys.executable, "-m", "dalembert.native.build"]
        subprocess.run(build, env={**os.environ, "PYTHONPATH": str(root)}, check=True)


class PlatformWheel(bdist_wheel):
    """A wheel for any Python 3 on this platform: bitcode is for one architecture."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": BuildWithBitcode, "bdist_wheel": PlatformWheel})
