"""Files of xacro, expanded by the package `xacro`.

xacro evaluates Python expressions of the file and reads files that it names. This cannot be made safe for files of
strangers, so that it is off unless the caller asks for it.
"""

from __future__ import annotations

from pathlib import Path

from dalembert.errors import ModelFileError, extra
from dalembert.formats.xml import Element, parse


def needed(root: Element) -> Element | None:
    """The first element of xacro in a file that must be expanded first."""
    return next((e for e in root.iter() if e.tag.startswith("xacro:")), None)


def refusal(file: str, line: int) -> ModelFileError:
    """The error for a file of xacro that nobody asked to expand."""
    return ModelFileError(
        "is a file of xacro, which runs Python expressions and reads other files when it is expanded. Pass xacro=True "
        "if you trust it, or expand it yourself.",
        file,
        line,
    )


def expand(path: Path) -> Element:
    """The robot of a file of xacro; lines are those of the expanded text."""
    package = extra("xacro", "xacro", "reading files of xacro")
    try:
        text = package.process_file(str(path)).toprettyxml(indent="  ")
    except Exception as error:  # whatever an expression of the file raises
        raise ModelFileError(f"could not be expanded by xacro: {type(error).__name__}: {error}.", str(path)) from error
    return parse(text, file=f"{path.name} (expanded)")
