"""The suite's own kernel cache: one for all workers of a session, neither the user's nor filling it."""

import os
import signal
import tempfile

collect_ignore_glob = ["*conftest.py"]  # several of this name are no modules


def pytest_addoption(parser):
    parser.addoption("--bad-calls", type=int, default=1000, help="calls of the campaign in tests/campaign")
    parser.addoption("--bad-seed", type=int, default=2004, help="of the values in these calls")


def pytest_configure(config):
    """Before workers are started: they inherit the folder and compile nothing that another one has compiled."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell; tests send this signal
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="dalembert-test-")
        before = os.environ.get("DALEMBERT_CACHE")
        os.environ["DALEMBERT_CACHE"] = folder.name

        def restore():
            folder.cleanup()
            if before is None:
                del os.environ["DALEMBERT_CACHE"]
            else:
                os.environ["DALEMBERT_CACHE"] = before

        config.add_cleanup(restore)
