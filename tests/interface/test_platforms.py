"""The wheel is one for all platforms: nothing that only POSIX systems have is called unguarded."""

import os
import subprocess
import sys

#: what Windows does not have; modules of Python and of others are imported before it is taken away
PROGRAM = """
import importlib, os, sys
import casadi, llvmlite.binding, numba, numpy, pyarrow.ipc, scipy.optimize, scipy.sparse.linalg, scipy.linalg
import asyncio, concurrent.futures, http.server, logging.handlers, multiprocessing.pool, pathlib, shutil
import socket, subprocess, tempfile, uuid, zipfile
for name in ("fork", "forkpty", "register_at_fork", "getuid", "geteuid", "getgid", "sched_getaffinity", "getloadavg",
             "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "fchmod", "chown", "uname", "sysconf", "pread", "killpg"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("fcntl", "resource", "pwd", "grp", "termios", "syslog"):
    sys.modules[name] = None
import dalembert as da
from dalembert import zoo
system = zoo.five_bar().compile()
start = system.state(*zoo.five_bar_start(0.5))
run = da.simulate(system, start, 0.5, record="run.arrow")
assert run.success, run.message
assert da.read_run("run.arrow", system).t[-1] == 0.5
assert da.linearize(system, start).A.size
many = da.ensemble(system, start, 0.1, n=6, store="store")
assert many.success.all() and len(many.success) == 6
zoo.four_bar().save("four_bar.yaml")
da.read("four_bar.yaml").compile("casadi")
assert [f.name for f in system.export_c("c", start)][0] == "five_bar.c"
print("done")
"""


def test_runs_stores_files_and_exports_do_without_posix(tmp_path):
    environment = {**os.environ, "DALEMBERT_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert done.stdout.strip() == "done", done.stderr[-3000:]
