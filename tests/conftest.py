"""The suite's own kernel cache: one for all workers of a session, neither the user's nor filling it."""

import os
import signal
import tempfile

collect_ignore_glob = ["*conftest.py"]  # several of this name are no modules


def pytest_addoption(parser):
    parser.addoption("--bad-calls", type=int, default=1000, help="calls of the campaign in tests/campaign")
    parser.addoption("--bad-seed", type=int, default=2004, help="of the values in these calls")
    parser.addoption("--dear", action="store_true", help="tests marked so, which take minutes, and no others")


def pytest_collection_modifyitems(config, items):
    """Dear tests run in `make campaign`."""
    wanted = config.getoption("--dear")
    chosen = [item for item in items if (item.get_closest_marker("dear") is not None) == wanted]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def pytest_terminal_summary(terminalreporter):
    """One line for all tests that were skipped for want of the collection of model files."""
    signs = ("no collection of model files", "got empty parameter set")
    skipped = [report for report in terminalreporter.stats.get("skipped", ()) if isinstance(report.longrepr, tuple)]
    count = sum(any(sign in report.longrepr[2] for sign in signs) for report in skipped)
    if count:
        terminalreporter.write_line(
            f"{count} tests were skipped: there is no collection of model files. CONTRIBUTING.md (The collection) says "
            "how to get it; DALEMBERT_CORPUS is its folder."
        )


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
