"""One running platform for all end-to-end tests, and the documents they upload."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus.samples import SAMPLES
from tests.e2e.platform import Running, running


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three small samples: one to publish, one with figures and columns, one that cannot be opened."""
    folder = tmp_path_factory.mktemp("samples")
    for sample in SAMPLES:
        if sample.name in ("letter.pdf", "article.pdf", "encrypted.pdf"):
            sample.make(folder / sample.name)
    return folder


# Of the package, not of the session: a running platform sets the environment, which other tests must not see.
@pytest.fixture(scope="package")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The platform, started at the first test that needs it."""
    with running(tmp_path_factory.mktemp("platform")) as started:
        yield started
