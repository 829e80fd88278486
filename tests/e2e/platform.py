"""The whole platform for the length of a test: embedded AWS, code server, daemon, webserver, as `make run` has them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagster import DagsterRun, RunsFilter

from orchestration.local.halt import halt
from orchestration.local.look import Look
from orchestration.local.places import Places
from orchestration.local.run import start
from orchestration.local.supervise import Record, Supervisor
from orchestration.local.uploads import Upload
from orchestration.local.views import DocumentView
from resources.values import document_id

#: On two cores that others use as well; a document of two pages needs 5 s on an idle machine.
PATIENCE_SECONDS = 180


@dataclass
class Running:
    """A platform that runs, as a person and an S3 client see it."""

    look: Look
    supervisor: Supervisor
    places: Places

    @property
    def ui(self) -> str:
        return self.supervisor.facts["ui"]

    def put(self, name: str, path: Path) -> Upload:
        """Upload as any S3 client would: nothing but a bucket, a key and bytes."""
        at = time.time()
        with path.open("rb") as body:
            answer = self.look.s3.put_object(Bucket=self.look.bucket, Key=f"incoming/{name}", Body=body)
        return Upload(name, f"incoming/{name}", path, path.stat().st_size, True, answer["VersionId"], at)

    def settled(self, *uploads: Upload) -> list[DocumentView]:
        """Wait until all of them have settled."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.supervisor.check()
            views = self.look.at(uploads)
            if all(view.settled for view in views):
                return views
            assert time.monotonic() < deadline, f"not settled: {[(v.name, v.stage) for v in views if not v.settled]}"
            time.sleep(0.5)

    def runs(self, upload: Upload) -> list[DagsterRun]:
        """The runs of a document, newest first."""
        doc = document_id(self.look.bucket, upload.key)
        return list(self.look.instance.get_runs(RunsFilter(tags={"document": doc})))

    def objects(self, prefix: str) -> list[dict[str, Any]]:
        """Every version of every object below a prefix."""
        answer = self.look.s3.list_object_versions(Bucket=self.look.bucket, Prefix=prefix)
        found: list[dict[str, Any]] = answer.get("Versions", [])
        return found


@contextmanager
def running(folder: Path, between: Callable[[str], str] = lambda endpoint: endpoint) -> Iterator[Running]:
    """Start everything in ``folder`` on free ports; stop it, by process number, at the end."""
    before = dict(os.environ)
    places = Places(folder)
    places.make()
    supervisor = Supervisor(Record(places.record), places.logs)
    try:
        start(supervisor, places, lambda text: None, port=None, between=between)
        yield Running(Look.connect(places), supervisor, places)
    finally:
        list(halt(supervisor, places))
        os.environ.clear()
        os.environ.update(before)
