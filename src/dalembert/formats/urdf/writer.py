"""Writing URDF."""
from typing import Any
def write(mechanism: Any, path: Any) -> list[Any]:
    raise NotImplementedError
