"""C compilers: the one of this computer, or that of the extra `export`, which builds for other platforms too."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dalembert.errors import CompileError, MissingExtra

#: by version of FMI, its folders: (target of zig, suffix of the library)
PLATFORMS = {
    "2.0": {
        "linux64": ("x86_64-linux-gnu.2.17", ".so"),
        "win64": ("x86_64-windows-gnu", ".dll"),
        "darwin64": ("x86_64-macos", ".dylib"),
    },
    "3.0": {
        "x86_64-linux": ("x86_64-linux-gnu.2.17", ".so"),
        "aarch64-linux": ("aarch64-linux-gnu.2.17", ".so"),
        "x86_64-windows": ("x86_64-windows-gnu", ".dll"),
        "aarch64-windows": ("aarch64-windows-gnu", ".dll"),
        "x86_64-darwin": ("x86_64-macos", ".dylib"),
        "aarch64-darwin": ("aarch64-macos", ".dylib"),
    },
}
MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
PURPOSE = "building an FMU"


def own_platform(version: str) -> str | None:
    """The folder of a version of FMI for this computer; None where there is none."""
    machine = MACHINES.get(platform.machine().lower())
    system = {"linux": "linux", "win32": "windows", "darwin": "darwin"}.get(sys.platform)
    if machine is None or system is None:
        return None
    if version == "3.0":
        return f"{machine}-{system}"
    return {"linux": "linux64", "windows": "win64", "darwin": "darwin64"}[system] if machine == "x86_64" else None


def command_for(wanted: str, version: str) -> list[str]:
    """The command that compiles C for a platform, without its arguments."""
    own = wanted == own_platform(version)
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        found = shutil.which(name) if name and own else None
        if found:
            return [found]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc", "-target", PLATFORMS[version][wanted][0]]
    here = " A C compiler on the PATH (gcc, clang) does as well." if own else ""
    raise MissingExtra(
        f"{PURPOSE} for {wanted} needs a C compiler, and there is none. One comes with: "
        f'pip install "dalembert[export]".{here}'
    )


def build_library(sources: Sequence[Path], library: Path, wanted: str, version: str) -> None:
    """Compile sources to a shared library for a platform."""
    options = ["-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fvisibility=hidden"]
    windows = library.suffix == ".dll"
    options += [] if windows else ["-fPIC"]
    libraries = [] if windows else ["-lm"]
    command = [*command_for(wanted, version), *options, "-o", str(library), *map(str, sources), *libraries]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode or not library.exists():
        first = (done.stderr or done.stdout).strip().splitlines()[:3]
        raise CompileError(f"the C compiler failed for {wanted}: {' '.join(first) or 'no library was made'}")
