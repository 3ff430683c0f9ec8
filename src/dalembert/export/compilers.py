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

#: folders of FMI 2.0: (target of zig, suffix of the library)
PLATFORMS = {
    "linux64": ("x86_64-linux-gnu.2.17", ".so"),
    "win64": ("x86_64-windows-gnu", ".dll"),
    "darwin64": ("x86_64-macos", ".dylib"),
}
PURPOSE = "building an FMU"


def own_platform() -> str | None:
    """The folder of FMI 2.0 for this computer; None where there is none."""
    machine = platform.machine().lower()
    if machine not in ("x86_64", "amd64"):
        return None
    return {"linux": "linux64", "win32": "win64", "darwin": "darwin64"}.get(sys.platform)


def command_for(wanted: str) -> list[str]:
    """The command that compiles C for a platform, without its arguments."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        found = shutil.which(name) if name and wanted == own_platform() else None
        if found:
            return [found]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc", "-target", PLATFORMS[wanted][0]]
    here = " A C compiler on the PATH (gcc, clang) does as well." if wanted == own_platform() else ""
    raise MissingExtra(
        f"{PURPOSE} for {wanted} needs a C compiler, and there is none. One comes with: "
        f'pip install "dalembert[export]".{here}'
    )


def build_library(sources: Sequence[Path], library: Path, wanted: str) -> None:
    """Compile sources to a shared library for a platform."""
    options = ["-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fvisibility=hidden"]
    options += [] if wanted == "win64" else ["-fPIC"]
    libraries = [] if wanted == "win64" else ["-lm"]
    command = [*command_for(wanted), *options, "-o", str(library), *map(str, sources), *libraries]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode or not library.exists():
        first = (done.stderr or done.stdout).strip().splitlines()[:3]
        raise CompileError(f"the C compiler failed for {wanted}: {' '.join(first) or 'no library was made'}")
