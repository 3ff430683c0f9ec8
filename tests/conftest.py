"""The suite's own kernel cache, so that tests neither use nor fill the user's."""

import os
import tempfile

import pytest


def pytest_addoption(parser):
    parser.addoption("--bad-calls", type=int, default=1000, help="calls of the campaign in tests/campaign")


@pytest.fixture(scope="session", autouse=True)
def private_cache():
    with tempfile.TemporaryDirectory(prefix="dalembert-test-") as folder:
        old = os.environ.get("DALEMBERT_CACHE")
        os.environ["DALEMBERT_CACHE"] = folder
        yield
        if old is None:
            del os.environ["DALEMBERT_CACHE"]
        else:
            os.environ["DALEMBERT_CACHE"] = old
