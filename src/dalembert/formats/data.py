"""Plain data with line numbers, as YAML and JSON texts give it: tables, lists, strings, numbers, booleans, None."""

from __future__ import annotations

from typing import Any

from dalembert.errors import ModelFileError

MAX_BYTES = 16 * 2**20
MAX_DEPTH = 100
MAX_NODES = 10**6


class FileTable(dict[str, Any]):
    """A mapping; `line` is where it begins, `lines[key]` where each of its keys stands."""

    def __init__(self, line: int = 0):
        super().__init__()
        self.line, self.lines = line, dict[str, int]()


class Items(list[Any]):
    """A list; `line` is where it begins, `lines[k]` where each of its elements begins."""

    def __init__(self, line: int = 0):
        super().__init__()
        self.line, self.lines = line, list[int]()


class Builder:
    """Builds nested data from what a parser meets, one call each, and keeps the bounds."""

    advice = ""  # what to do where there are too many values

    def __init__(self, file: str, most: int = MAX_NODES):
        self.file, self.most, self.count = file, most, 0
        self.root: Any = None
        self.open: list[FileTable | Items] = []
        self.keys: list[tuple[str, int] | None] = []  # of each open collection: the key that waits for its value

    def refuse(self, text: str, line: int = 0) -> ModelFileError:
        """The error, to be raised."""
        return ModelFileError(text, self.file, line)

    def counted(self, n: int, line: int) -> None:
        """Count n nodes more."""
        self.count += n
        if self.count > self.most:
            raise self.refuse(f"has more than {self.most} values, the most that is read{self.advice}.", line)

    def start(self, node: FileTable | Items) -> None:
        """A collection begins."""
        self.value(node, node.line)
        self.open.append(node)
        self.keys.append(None)
        if len(self.open) > MAX_DEPTH:
            raise self.refuse(f"is nested deeper than {MAX_DEPTH} levels, the most that is read.", node.line)

    def end(self) -> Any:
        """A collection ends; gives it back."""
        self.keys.pop()
        return self.open.pop()

    @property
    def wants_key(self) -> bool:
        """Whether what comes next is a key of a mapping."""
        return bool(self.open) and isinstance(self.open[-1], FileTable) and self.keys[-1] is None

    def key(self, key: str, line: int) -> None:
        """A key of the innermost mapping."""
        table = self.open[-1]
        assert isinstance(table, FileTable)
        if key in table:
            raise self.refuse(f"has the key {shown(key)} twice, first on line {table.lines[key]}; remove one.", line)
        self.keys[-1] = key, line

    def value(self, value: Any, line: int) -> None:
        """A value: of the key before it, the next of a list, or the whole."""
        self.counted(1, line)
        if not self.open:
            self.root = value
            return
        into = self.open[-1]
        if isinstance(into, Items):
            into.append(value)
            into.lines.append(line)
        else:
            waiting = self.keys[-1]
            assert waiting is not None
            into[waiting[0]] = value
            into.lines[waiting[0]] = waiting[1]
            self.keys[-1] = None


def shown(text: Any) -> str:
    """A piece of a file in quotes, shortened, without line breaks and control characters."""
    s = str(text)
    s = "".join(c if c.isprintable() else "?" for c in s[:61])
    return f"'{s}'" if len(s) <= 60 else f"'{s[:57]}…'"


def kind(x: Any) -> str:
    """The type of a value in one word, with its text if that is short."""
    if x is None:
        return "nothing"
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, str):
        return f"the text {shown(x)}"
    if isinstance(x, dict):
        return f"a mapping of {len(x)}"
    if isinstance(x, list):
        return f"a list of {len(x)}"
    return f"{x:.6g}" if isinstance(x, float) else shown(x)[1:-1]
