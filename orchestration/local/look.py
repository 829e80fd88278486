"""The console's eyes: what the store and Dagster know of the uploaded documents. It only reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dagster import DagsterInstance

from orchestration.local.places import ROOT, Places
from orchestration.local.stages import RunView, runs_under_way
from orchestration.local.uploads import Upload
from orchestration.local.views import DocumentView
from resources.clients import make_clients
from resources.documents import Document
from resources.errors import Code, StoreError
from resources.settings import load_settings
from resources.store import Store, make_store
from resources.values import document_id, system_clock
from resources.versions import Version
from resources.work import QUEUED, SETTLED, Row


class Look:
    """Reads the state of documents. A document that has settled is not asked after again."""

    def __init__(self, store: Store, s3: Any, instance: DagsterInstance, clock: Callable[[], float], results: Path):
        self.store = store
        self.s3 = s3
        self.instance = instance
        self.clock = clock
        self.results = results
        self._settled: dict[tuple[str, str], DocumentView] = {}

    @classmethod
    def connect(cls, places: Places) -> Look:
        """With the settings and the Dagster instance of this process's environment."""
        settings = load_settings()
        clients = make_clients(settings)
        store = make_store(settings, clients, system_clock)
        return cls(store, clients.s3, DagsterInstance.get(), time.time, places.results)

    @property
    def bucket(self) -> str:
        """The bucket's name."""
        return self.store.objects.bucket

    def published(self, key: str, version_id: str) -> bool:
        """Whether this VersionId of an upload was published."""
        doc = document_id(self.bucket, key)
        row, document = self.store.work.get(doc), self._document(doc)
        return (
            row is not None
            and row.source is not None
            and row.source.version_id == version_id
            and document is not None
            and document.outcome == "published"
            and document.source_revision == row.revision
        )

    def _document(self, doc: str) -> Document | None:
        try:
            return self.store.documents.get(doc)
        except StoreError as error:
            if error.code != Code.NOT_FOUND:
                raise
            return None

    def at(self, files: Sequence[Upload]) -> list[DocumentView]:
        """Every document as it is now, in the order of the uploads."""
        waiting = [file for file in files if (file.key, file.version_id) not in self._settled]
        runs = runs_under_way(self.instance) if waiting else {}
        now = {(file.key, file.version_id): self._ask(file, runs) for file in waiting}
        self._settled.update({which: view for which, view in now.items() if view.settled})
        return [(self._settled | now)[(file.key, file.version_id)] for file in files]

    def _ask(self, file: Upload, runs: Mapping[str, RunView]) -> DocumentView:
        doc = document_id(self.bucket, file.key)
        elapsed = self.clock() - file.at
        seen = DocumentView(file.name, doc, file.key, size_before=file.size, seconds=elapsed)
        row = self.store.work.get(doc)
        if row is None or row.source is None or row.source.version_id != file.version_id:
            return seen  # the sensor has not taken it up yet
        document = self._document(doc)
        current = document if document is not None and document.source_revision == row.revision else None
        if row.state not in SETTLED or current is None or current.outcome is None:
            return replace(
                seen,
                status=row.state if row.state not in SETTLED else "settling",
                stage=stage_of(row, runs.get(doc)),
                pages=current.pages or None if current is not None else None,
                lane=row.lane,
            )
        version = self._version(current)
        found = version.verification if version is not None else None
        return replace(
            seen,
            status=current.outcome,
            stage="settled",
            pages=current.pages or None,
            lane=row.lane,
            seconds=max(0.0, row.updated_at - file.at),
            code=current.code if current.outcome != "published" else None,
            message=current.reason,
            size_after=version.size if version is not None else None,
            checks=dict(found["checks"]) if found else {},
            published_key=current.published_key if current.outcome == "published" else None,
            report_key=version.report.key if version is not None and version.report is not None else None,
        )

    def _version(self, document: Document) -> Version | None:
        """The version that counts: the published one, else the last one made of this source."""
        number = document.active_version if document.outcome == "published" else document.latest_version
        version = self.store.versions.get(document.id, number) if number else None
        return version if version is not None and version.revision == document.source_revision else None

    def fetch(self, views: Sequence[DocumentView]) -> Iterator[str]:
        """Copy published files and reports into the folder of results; yields a line a document that has any."""
        for view in views:
            folder = self.results / Path(view.name).with_suffix("")
            copied = []
            if view.published_key:
                copied.append(self._copy(view.published_key, folder / Path(view.name).name))
            if view.report_key:
                page = str(Path(view.report_key).with_name("report.html"))
                copied.append(self._copy(page, folder / "report.html"))
                self._copy(view.report_key, folder / "verify.json")
            if copied:
                yield f"  {view.name:<24} " + "  ".join(str(shown(path)) for path in copied)

    def _copy(self, key: str, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.s3.download_file(self.bucket, key, str(path))
        return path


def stage_of(row: Row, run: RunView | None) -> str:
    """Where a document is, by its work row and its run."""
    if run is not None:
        return run.stage
    if row.state == QUEUED:
        return f"waits for attempt {row.attempts + 1}" if row.attempts else "taken up"
    return "settling"


def shown(path: Path) -> Path:
    """A path as a person sees it from the folder they are in."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
