"""The published schema of ops is the one that the log is read with."""

import json
from pathlib import Path

from pdf.tagging import ops


def test_the_published_schema_is_that_of_the_code() -> None:
    path = Path(__file__).parents[3] / "docs/ops.schema.json"
    assert json.loads(path.read_text()) == ops.schema(), "python -m pdf.tagging.ops > docs/ops.schema.json"
