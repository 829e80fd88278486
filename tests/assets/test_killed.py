"""A process that dies between any two of its calls to the store loses nothing, and what goes on does nothing twice.

Each way is walked once to count its calls; then, on a document of its own each time, it is killed before the first
call, after the first, before the second … and gone on with by a process that knows only what is in the store.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from api.sources import called_off
from assets import verified
from assets.ceilings import Phase
from assets.published import publish
from assets.retry import Problem
from assets.stage import Stage, settle_failure, tell_settled
from jobs.purge import purge_published
from pdf.verify.checks import ORACLES, Check, Result
from pdf.verify.structure import StructureReport
from pdf.verify.verify import VERIFICATION, Verification
from resources.clients import make_clients
from resources.errors import Code, StoreError
from resources.rollback import rollback
from resources.store import Store, make_store
from resources.values import ObjectRef, document_id
from resources.versions import Version
from resources.work import DONE, FAILED, REMEDIATE, Claim, Source
from tests.assets.double import Double
from tests.assets.test_refined import WithDouble
from tests.conftest import session
from tests.resources.conftest import Clock, base_ref, new_doc

SERVICES = ("s3", "dynamodb", "sqs", "sns")


class Killed(BaseException):
    """The process is gone; no handler of errors sees this."""


class Doomed:
    """Processes that die at one of their calls to AWS: before it is sent, or when it was answered."""

    def __init__(self, like: Store) -> None:
        self.clients = make_clients(like.settings, session())
        self.like = like
        self.calls = 0
        self.dies_at = -1
        for service in SERVICES:
            events = getattr(self.clients, service).meta.events
            events.register("before-call", self._step, unique_id="before")
            events.register("after-call", self._step, unique_id="after")

    def process(self, dies_at: int = -1) -> Store:
        """A process that knows nothing yet."""
        self.calls, self.dies_at = 0, dies_at
        return make_store(self.like.settings, self.clients, self.like.clock)

    def _step(self, **_: Any) -> None:
        self.calls += 1
        if self.calls - 1 == self.dies_at:
            raise Killed


Way = Callable[[Store, str], object]


def killed_everywhere(store: Store, make: Callable[[], str], way: Way, on: Way) -> Iterator[str]:
    """Each document of which the process doing `way` was killed at another place, when somebody has gone on with it."""
    doomed = Doomed(store)
    way(doomed.process(), make())
    calls = doomed.calls
    assert calls > 3, "nothing was watched"
    for place in range(calls):
        doc = make()
        with pytest.raises(Killed):
            way(doomed.process(place), doc)
        on(store, doc)
        yield doc


# --- the documents ------------------------------------------------------------------------------------------------


def source(store: Store, doc: str, body: bytes = b"%PDF-1.7") -> Source:
    """An upload, with its document's id as the bucket's key gives it."""
    ref = store.objects.put_bytes(body, f"incoming/{doc}.pdf")
    return Source(ref.key, ref.version_id, ref.size, "01")


def offered(store: Store) -> str:
    """A document with an upload, a job and work that waits."""
    upload = source(store, new_doc())
    doc = document_id(store.objects.bucket, upload.key)
    job = store.jobs.open(f"job-{doc}", 0)
    store.jobs.add_file(job, doc, "a.pdf")
    store.work.offer(doc, "owner", upload, job.id, job.started, due_at=store.clock())
    store.documents.open_source(doc, "owner", "Title", 1)
    return doc


def saved(store: Store, doc: str, data: bytes) -> Version:
    """A committed version of these bytes."""
    store.documents.acquire_lease(doc, "u", "s")
    number = store.documents.get(doc).latest_version + 1
    kept = store.objects.put_bytes(data, store.versions.key(doc, number))
    store.versions.create(doc, 0, kept.sha256, kept.size, "s")
    return store.versions.commit(doc, number)


def committed(store: Store) -> str:
    doc = offered(store)
    store.documents.set_base(doc, 1, base_ref(store, doc), 3, None, "fast")
    saved(store, doc, b"version 1")
    return doc


def passed(store: Store, doc: str, number: int) -> None:
    version = store.versions.begin_verification(doc, number)
    facts = {"verdict": "passed", "sha256": version.sha256, "seconds": 1.0, "pages": 3, "shortcomings": []}
    report = store.objects.put_bytes(b"{}", f"docs/{doc}/reports/{number}/verify.json")
    store.versions.settle(doc, number, version.sha256, facts, report)


def verified_one(store: Store) -> str:
    doc = committed(store)
    passed(store, doc, 1)
    return doc


# --- what must be so, wherever it was killed ----------------------------------------------------------------------


def audits(store: Store, doc: str) -> list[str]:
    return sorted(item["action"] for item in store.documents.table.query(f"DOC#{doc}", "AUDIT#"))


def job_of(store: Store, doc: str) -> tuple[str, int, int, int]:
    job = store.jobs.latest(f"job-{doc}")
    assert job is not None
    return job.status, job.total, job.succeeded, job.failed


def delivered(store: Store, doc: str) -> bytes:
    return store.objects.read(store.versions.published_key(doc, 1))


def stage(store: Store, doc: str, run: str) -> Stage:
    claim = store.work.claim(doc, REMEDIATE, run)
    return Stage("publish", doc, claim, Phase("publish"), WithDouble().use(store, Double()))


def go_on(store: Store, doc: str, step: Callable[[Stage], object]) -> None:
    """What the platform does with what a dead run left: leases end, the row is queued again and claimed by another run;
    what is settled is told."""
    row = store.work.get(doc)
    assert row is not None
    if row.state not in (DONE, FAILED):
        assert isinstance(store.clock, Clock)
        store.clock.pass_(store.settings.claim_lease_seconds + 1)
        store.work.recover()
        step(stage(store, doc, "second"))
        row = store.work.get(doc)
        assert row is not None
    tell_settled(store, row)


def test_publication(store: Store) -> None:
    def way(at: Store, doc: str) -> object:
        return publish(stage(at, doc, "first"), 1)

    def on(at: Store, doc: str) -> None:
        go_on(at, doc, lambda there: publish(there, 1))

    for doc in killed_everywhere(store, lambda: verified_one(store), way, on):
        document, version = store.documents.get(doc), store.versions.get(doc, 1)
        assert (document.active_version, document.outcome) == (1, "published")
        assert audits(store, doc) == ["publish"]
        assert delivered(store, doc) == b"version 1"
        assert version.published is not None
        assert store.objects.read(version.published.key, version.published.version_id) == b"version 1"
        row = store.work.get(doc)
        assert row is not None and row.state == DONE
        assert job_of(store, doc) == ("COMPLETE", 1, 1, 0)


def test_waiting_for_review(store: Store) -> None:
    def doubtful() -> str:
        doc = committed(store)
        version = store.versions.begin_verification(doc, 1)
        facts = {"verdict": "passed", "sha256": version.sha256, "shortcomings": ["It is not PDF/UA-1."]}
        report = store.objects.put_bytes(b"{}", f"docs/{doc}/reports/1/verify.json")
        store.versions.settle(doc, 1, version.sha256, facts, report)
        return doc

    def way(at: Store, doc: str) -> object:
        return publish(stage(at, doc, "first"), 1)

    def on(at: Store, doc: str) -> None:
        go_on(at, doc, lambda there: publish(there, 1))

    for doc in killed_everywhere(store, doubtful, way, on):
        document = store.documents.get(doc)
        assert (document.active_version, document.outcome) == (0, "needs_review")
        assert audits(store, doc) == []
        assert store.objects.head(store.versions.published_key(doc, 1)) is None
        assert job_of(store, doc) == ("COMPLETE", 1, 1, 0)


def test_a_verdict(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def checked(at: Stage, folder: object, version: Version) -> tuple[Verification, Any, Any]:
        good = tuple(Check(name, Result.PASS, "", "double") for name in ORACLES)
        looked = StructureReport((), 0, 1, 1, 0, {})
        found = Verification(version.sha256, version.size, 3, "passed", True, (), good, looked, None, 0.1, 1.0)
        return found, None, None

    monkeypatch.setattr(verified, "run_checks", checked)
    monkeypatch.setattr(
        verified, "write_report", lambda at, _, version, found, *__: verified.write_facts(at, version, found)
    )

    def way(at: Store, doc: str) -> object:
        return verified.examined(stage(at, doc, "first"), 1)

    def on(at: Store, doc: str) -> None:
        go_on(at, doc, lambda there: (verified.examined(there, 1), publish(there, 1)))

    for doc in killed_everywhere(store, lambda: committed(store), way, on):
        version = store.versions.get(doc, 1)
        assert version.status == "passed" and version.report is not None
        record = VERIFICATION.validate_json(store.objects.read(version.report.key, version.report.version_id))
        assert record.sha256 == version.sha256
        assert delivered(store, doc) == b"version 1"


def test_going_back(store: Store) -> None:
    def twice() -> str:
        doc = verified_one(store)
        publish(stage(store, doc, "first"), 1)
        version = saved(store, doc, b"version 2")
        passed(store, doc, 2)
        version = store.versions.get(doc, 2)
        assert version.stored is not None
        copied = store.objects.copy(version.stored, store.versions.published_key(doc, 1))
        store.versions.publish(version, copied, "policy", "url", [])
        assert delivered(store, doc) == b"version 2"
        return doc

    def way(at: Store, doc: str) -> object:
        return rollback(at.versions, doc, 1, "ann", "it was better", "https://x")

    for doc in killed_everywhere(store, twice, way, way):
        assert store.documents.get(doc).active_version == 1
        assert delivered(store, doc) == b"version 1"
        assert audits(store, doc) == ["publish", "publish", "rollback"]
        version = store.versions.get(doc, 1)
        assert version.published is not None
        assert store.objects.head(version.published.key) == version.published


def test_a_failure(store: Store) -> None:
    problem = Problem("ENCRYPTED", "It needs its password.", False)

    def way(at: Store, doc: str) -> None:
        claim = at.work.claim(doc, REMEDIATE, "first")
        settle_failure(at, claim, "optimize", problem)

    def on(at: Store, doc: str) -> None:
        go_on(at, doc, lambda there: settle_failure(at, there.claim, "optimize", problem))

    for doc in killed_everywhere(store, lambda: offered(store), way, on):
        document = store.documents.get(doc)
        assert (document.outcome, document.code) == ("refused", "ENCRYPTED")
        assert job_of(store, doc) == ("FAILED", 1, 0, 1)


def failed(store: Store) -> str:
    doc = offered(store)
    settle_failure(store, store.work.claim(doc, REMEDIATE, "first"), "optimize", Problem("TOOL_FAILED", "x", False))
    return doc


def test_a_persons_retry(store: Store) -> None:
    def way(at: Store, doc: str) -> object:
        before = at.work.get(doc)
        assert before is not None
        job = at.jobs.open(before.job_id, 0)
        at.jobs.add_file(job, doc, "a.pdf")
        return at.work.again(doc, "owner", job.id, job.started)

    for doc in killed_everywhere(store, lambda: failed(store), way, way):
        row = store.work.get(doc)
        assert row is not None and (row.state, row.attempts) == ("queued", 0)
        assert doc in {due.document for due in store.work.due(1000)} or row.generation >= 2
        job = store.jobs.get(row.job_id, row.job_started)
        assert job is not None and (job.status, job.total) == ("QUEUED", 1)


def test_a_change_of_lane(store: Store) -> None:
    """One new generation on the long lane, whoever does it; the old claim can do nothing any more."""
    claims: dict[str, Claim] = {}

    def way(at: Store, doc: str) -> object:
        claims[doc] = at.work.claim(doc, REMEDIATE, "first")
        return at.work.reroute(claims[doc], "long", 40)

    def on(at: Store, doc: str) -> object:
        row = at.work.get(doc)
        assert row is not None
        if row.lane == "fast":
            assert isinstance(at.clock, Clock)
            at.clock.pass_(at.settings.claim_lease_seconds + 1)
            return at.work.reroute(at.work.claim(doc, REMEDIATE, "second"), "long", 40)
        return None

    for doc in killed_everywhere(store, lambda: offered(store), way, on):
        row = store.work.get(doc)
        assert row is not None and (row.lane, row.state, row.generation) == ("long", "queued", 2)
        if doc in claims:
            with pytest.raises(StoreError) as refused:
                store.work.succeed(claims[doc])
            assert refused.value.code == Code.SUPERSEDED


def test_a_cancellation(store: Store) -> None:
    def way(at: Store, doc: str) -> None:
        called_off(at, at.work.cancel(doc, REMEDIATE, "owner"))

    for doc in killed_everywhere(store, lambda: offered(store), way, way):
        assert store.documents.get(doc).outcome == "cancelled"
        assert job_of(store, doc) == ("FAILED", 1, 0, 1)


def test_a_purge(store: Store) -> None:
    """Whatever is cut short: an older upload never comes to light, and what was published stays."""
    log = logging.getLogger("test")

    def old() -> str:
        doc = verified_one(store)
        publish(stage(store, doc, "first"), 1)
        assert isinstance(store.clock, Clock)
        store.clock.pass_(store.settings.source_retention_hours * 3600 + 1)
        return doc

    def upload(doc: str) -> ObjectRef | None:
        row = store.work.get(doc)
        assert row is not None and row.source is not None
        return store.objects.head(row.source.key)

    def way(at: Store, doc: str) -> object:
        assert upload(doc) is not None
        return purge_published(at, log)

    for doc in killed_everywhere(store, old, way, lambda at, _: purge_published(at, log)):
        assert upload(doc) is None
        assert delivered(store, doc) == b"version 1"


def test_a_deletion(store: Store) -> None:
    def way(at: Store, doc: str) -> None:
        at.deletion.delete(doc, "owner")

    def on(at: Store, doc: str) -> None:
        try:
            way(at, doc)
        except StoreError as error:
            assert error.code == Code.NOT_FOUND

    for doc in killed_everywhere(store, lambda: verified_one(store), way, on):
        with pytest.raises(StoreError):
            store.documents.get(doc)
        assert list(store.documents.table.query(f"DOC#{doc}")) == []
        assert store.work.get(doc) is None
        assert not list(store.objects.keys(f"docs/{doc}/"))
