"""The model format of this library: YAML or JSON, everything a `Mechanism` holds, force laws as expressions."""

from dalembert.formats.model.reader import read_model, read_text
from dalembert.formats.model.schema import schema
from dalembert.formats.model.writer import text_of, write

__all__ = ["read_model", "read_text", "schema", "text_of", "write"]
