"""Datasets of Adams/Solver."""

from dalembert.formats.adams.reader import read_adams as read_adams
