"""Writing the text of a model file."""

from __future__ import annotations

from pathlib import Path

from dalembert.disk.atomic import replacing
from dalembert.errors import ModelFileError


def save(path: Path, text: str) -> None:
    """Put a text into a file, whole or not at all."""
    try:
        with replacing(path) as new:
            new.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ModelFileError(f"could not be written: {error.strerror}.", str(path)) from error
