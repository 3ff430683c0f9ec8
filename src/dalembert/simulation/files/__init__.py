"""Runs on disk: recorded as they go, saved in one piece, read up to the last whole batch, resumed."""

from dalembert.disk.atomic import replacing
from dalembert.simulation.files.fingerprint import check_system, header_of_run
from dalembert.simulation.files.format import Header
from dalembert.simulation.files.reading import Recording, read
from dalembert.simulation.files.recorder import Recorder, write

__all__ = ["Header", "Recorder", "Recording", "check_system", "header_of_run", "read", "replacing", "write"]
