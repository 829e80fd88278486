"""Deleting a document: every step can be repeated, and nothing is forgotten before it is gone.

``deleting`` first, which blocks edits; then what is not booked is booked; then every version of every object; then the
items, META last. A crash anywhere leaves ``deleting``, and the same call goes on.
"""

from __future__ import annotations

from resources.costs import Costs
from resources.documents import Documents, doc_key
from resources.errors import Code, StoreError
from resources.objects import Objects
from resources.rows import QUEUED, RUNNING, work_key
from resources.table import Table, Write
from resources.versions import Versions
from resources.work import Work

#: The folders that hold nothing but a document's own objects.
FOLDERS = ("docs", "chunks", "published")


class Deletion:
    """Deletes documents."""

    def __init__(self, documents: Documents, versions: Versions, objects: Objects, work: Work, costs: Costs) -> None:
        self.documents = documents
        self.versions = versions
        self.objects = objects
        self.work = work
        self.costs = costs

    def delete(self, doc: str, owner: str) -> None:
        """Delete a document. Raises NOT_FOUND where there is none (any more)."""
        at = self.documents.begin_delete(doc)
        self._stop(doc, owner)
        for version in self.versions.list(doc):
            self.costs.verify(version, owner)
        self.costs.storage(doc, "delete", at, puts=0)
        for folder in FOLDERS:
            self.objects.delete_versions(f"{folder}/{doc}/")
        _purge(self.work.table, work_key(doc))
        _purge(self.documents.table, doc_key(doc), keep="META")
        self.documents.table.write(Write(f"OWNER#{owner}", doc_key(doc), delete=True))
        self.documents.table.write(Write(doc_key(doc), "META", delete=True))

    def _stop(self, doc: str, owner: str) -> None:
        """Cancel what waits or runs, so that nothing writes behind us."""
        for item in self.work.table.query(work_key(doc)):
            if item["state"] in (QUEUED, RUNNING):
                try:
                    self.work.cancel(doc, item["sk"], item["owner"])
                except StoreError as error:
                    if error.code != Code.NOT_FOUND:
                        raise


def _purge(table: Table, pk: str, keep: str = "") -> None:
    for item in table.query(pk):
        if item["sk"] != keep:
            table.write(Write(pk, item["sk"], delete=True))
