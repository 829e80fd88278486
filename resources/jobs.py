"""Job records: what a person sees of a folder of files, or of one file, that was sent in.

pk ``JOB#<job id>``, sk its start as ISO time (several runs of one job are kept), and one item a file beside it,
``<start>#FILE#<document>``. The status only moves forward. A job tolerates the failure of up to half of its files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from resources.errors import Code, StoreError
from resources.table import Item, Refused, Table, Write
from resources.values import Clock, iso, new_token

FORWARD = ("QUEUED", "IN_PROGRESS", "OPTIMIZING", "TAGGING", "ASSEMBLING", "VERIFYING", "COMPLETE")
FAILED = "FAILED"
SETTLED = ("COMPLETE", FAILED)
KEEP_DAYS = 90
#: Stands for the start of a job that has one run only.
ONCE = "once"


def job_key(job_id: str) -> str:
    """The partition of a job."""
    return f"JOB#{job_id}"


@dataclass(frozen=True)
class Job:
    """One run of a job. `total` files, of which so many have ended well or failed; `unsupported` were never taken."""

    id: str
    started: str
    status: str
    updated_at: float
    total: int
    succeeded: int
    failed: int
    unsupported: tuple[str, ...]
    quiet_at: float
    error: str | None

    @classmethod
    def read(cls, item: Item) -> Job:
        """From the stored item."""
        return cls(
            item["jobId"],
            item["sk"],
            item["status"],
            item["updatedAt"],
            item["total"],
            item["succeeded"],
            item["failed"],
            tuple(item.get("unsupported", [])),
            item.get("quietAt", 0),
            item.get("error"),
        )


class Jobs:
    """Job records of the work table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self.table = table
        self.clock = clock

    def get(self, job_id: str, started: str) -> Job | None:
        """One run of a job."""
        item = self.table.get(job_key(job_id), started)
        return Job.read(item) if item else None

    def latest(self, job_id: str) -> Job | None:
        """The newest run of a job."""
        for item in self.table.query(job_key(job_id), newest=True):
            if "#FILE#" not in item["sk"]:
                return Job.read(item)
        return None

    def files(self, job_id: str, started: str) -> list[Item]:
        """The files of a run: document, name, state, code, reason."""
        return list(self.table.query(job_key(job_id), f"{started}#FILE#"))

    def open(self, job_id: str, quiet_seconds: float, *, names: tuple[str, ...] = ()) -> Job:
        """The run of a job that still takes files, or a new one. Its folder is quiet `quiet_seconds` from now on."""
        now = self.clock()
        found = self.latest(job_id)
        if found is not None and found.status == "QUEUED":
            try:
                item = self.table.write(
                    Write(
                        job_key(job_id),
                        found.started,
                        update="SET quietAt = :quiet, updatedAt = :now",
                        condition="#status = :queued",
                        values={":quiet": now + quiet_seconds, ":now": now, ":queued": "QUEUED"},
                        names={"#status": "status"},
                    )
                )
                assert item is not None
                return Job.read(item)
            except Refused:
                pass  # it began meanwhile: a new run
        item = self._new(job_id, quiet_seconds)
        while True:
            started = iso(now)
            try:
                self.table.write(Write(job_key(job_id), started, put=item, condition="attribute_not_exists(pk)"))
            except Refused as refused:
                assert refused.item is not None
                if refused.item["status"] == "QUEUED":
                    return Job.read(refused.item)
                now += 0.001  # a run of it has begun, or ended, in this very millisecond
                continue
            return Job.read({**item, "sk": started})

    def open_once(self, job_id: str) -> Job:
        """The one run of a job that has no second, whoever opens it first."""
        item = self._new(job_id, 0)
        try:
            self.table.write(Write(job_key(job_id), ONCE, put=item, condition="attribute_not_exists(pk)"))
        except Refused as refused:
            assert refused.item is not None
            return Job.read(refused.item)
        return Job.read({**item, "sk": ONCE})

    def _new(self, job_id: str, quiet_seconds: float) -> Item:
        now = self.clock()
        return {
            "jobId": job_id,
            "status": "QUEUED",
            "updatedAt": now,
            "total": 0,
            "succeeded": 0,
            "failed": 0,
            "unsupported": [],
            "quietAt": now + quiet_seconds,
            "expiresAtSeconds": int(now) + KEEP_DAYS * 86400,
        }

    def add_file(self, job: Job, doc: str, name: str) -> None:
        """A file belongs to a run of a job. Repeated, it counts once."""
        self._count(
            job,
            Write(
                job_key(job.id),
                f"{job.started}#FILE#{doc}",
                put={"document": doc, "name": name, "state": "waiting", "jobId": job.id},
                condition="attribute_not_exists(pk)",
            ),
            "ADD #count :one SET updatedAt = :now",
            "total",
        )

    def add_unsupported(self, job: Job, name: str) -> None:
        """A file that is no PDF: recorded, not run."""
        try:
            self.table.write(
                Write(
                    job_key(job.id),
                    job.started,
                    update="SET unsupported = list_append(unsupported, :name), updatedAt = :now",
                    condition="NOT contains(unsupported, :one)",
                    values={":name": [name], ":one": name, ":now": self.clock()},
                )
            )
        except Refused:
            return

    def end_empty(self, job: Job) -> bool:
        """A job of nothing but unsupported files has failed, once its folder is quiet; True where it was said now.

        The condition: it has not begun, no file was added, and nothing came since it was looked at.
        """
        if job.status != "QUEUED" or job.total or not job.unsupported or job.quiet_at > self.clock():
            return False
        try:
            self.table.write(
                Write(
                    job_key(job.id),
                    job.started,
                    update="SET #status = :failed, #error = :error, updatedAt = :now",
                    condition="#status = :queued AND #total = :none AND quietAt = :seen",
                    values={
                        ":failed": FAILED,
                        ":error": "None of its files is a PDF.",
                        ":now": self.clock(),
                        ":queued": "QUEUED",
                        ":none": 0,
                        ":seen": job.quiet_at,
                    },
                    names={"#status": "status", "#error": "error", "#total": "total"},
                )
            )
        except Refused:
            return False
        return True

    def touch(self, job: Job) -> None:
        """An active job has moved, or is known to wait its turn. The condition: it is as it was seen."""
        self._turn(job, "SET updatedAt = :now", {})

    def reclaim(self, job: Job) -> bool:
        """An active job that nothing works on any more has failed; True where it was said now.

        The condition: it did not move since it was looked at.
        """
        values = {":failed": FAILED, ":error": "Nothing worked on it any more: it is taken again."}
        return self._turn(job, "SET #status = :failed, #error = :error, updatedAt = :now", values)

    def _turn(self, job: Job, update: str, values: dict[str, Any]) -> bool:
        names = {"#status": "status", **({"#error": "error"} if "#error" in update else {})}
        try:
            self.table.write(
                Write(
                    job_key(job.id),
                    job.started,
                    update=update,
                    condition="#status = :seen AND updatedAt = :before",
                    values={**values, ":now": self.clock(), ":seen": job.status, ":before": job.updated_at},
                    names=names,
                )
            )
        except Refused:
            return False
        return True

    def advance(self, job_id: str, started: str, status: str) -> None:
        """Move the status forward, or say that it moves on where it is; what would move it back, or off its end,
        changes nothing."""
        before = FORWARD[: FORWARD.index(status) + 1]
        names = {f":s{n}": value for n, value in enumerate(before)}
        try:
            self.table.write(
                Write(
                    job_key(job_id),
                    started,
                    update="SET #status = :status, updatedAt = :now",
                    condition=f"#status IN ({', '.join(names)})",
                    values={":status": status, ":now": self.clock(), **names},
                    names={"#status": "status"},
                )
            )
        except Refused:
            return

    def settle_file(
        self, job_id: str, started: str, doc: str, *, ok: bool, stage: str = "", code: str = "", reason: str = ""
    ) -> Job | None:
        """A file has come to its end, once; with the last one the job has. Returns the job as it is then."""
        job = self.get(job_id, started)
        if job is None:
            return None
        self._count(
            job,
            Write(
                job_key(job_id),
                f"{started}#FILE#{doc}",
                update="SET #state = :state, stage = :stage, code = :code, reason = :reason",
                condition="attribute_exists(pk) AND #state = :waiting",
                values={
                    ":state": "succeeded" if ok else "failed",
                    ":stage": stage,
                    ":code": code,
                    ":reason": reason[:1000],
                    ":waiting": "waiting",
                },
                names={"#state": "state"},
            ),
            "ADD #count :one SET updatedAt = :now",
            "succeeded" if ok else "failed",
        )
        job = self.get(job_id, started)
        assert job is not None
        if job.succeeded + job.failed >= job.total:
            self._finish(job)
        return self.get(job_id, started)

    def _finish(self, job: Job) -> None:
        bad = 2 * job.failed > job.total
        values: dict[str, Any] = {":now": self.clock(), ":done": "COMPLETE", ":failed": FAILED}
        change = "SET #status = :status, updatedAt = :now"
        values[":status"] = FAILED if bad else "COMPLETE"
        if bad:
            change += ", #error = :error"
            values[":error"] = f"{job.failed} of {job.total} files failed."
        names = {"#status": "status", **({"#error": "error"} if bad else {})}
        try:
            self.table.write(
                Write(
                    job_key(job.id),
                    job.started,
                    update=change,
                    condition="NOT #status IN (:done, :failed)",
                    values=values,
                    names=names,
                )
            )
        except Refused:
            return

    def _count(self, job: Job, file: Write, update: str, count: str) -> None:
        """A file's item and the job's counter in one transaction, so that a repetition counts once."""
        try:
            self.table.transact(
                [
                    file,
                    Write(
                        job_key(job.id),
                        job.started,
                        update=update,
                        condition="attribute_exists(pk)",
                        values={":one": 1, ":now": self.clock()},
                        names={"#count": count},
                    ),
                ],
                new_token(),
            )
        except Refused as refused:
            if refused.index != 0:
                raise StoreError(Code.NOT_FOUND, f"There is no job {job.id} of {job.started}.") from refused


def summary(job: Job, files: list[Item]) -> Mapping[str, Any]:
    """A run of a job as the spec writes it: files, failed_files by stage, results."""
    failed: dict[str, list[str]] = {"unsupported": list(job.unsupported)}
    for item in files:
        if item["state"] == "failed":
            failed.setdefault(item.get("stage") or "intake", []).append(item["name"])
    return {
        "job_id": job.id,
        "started": job.started,
        "status": job.status,
        "files": [item["name"] for item in files],
        "failed_files": failed,
        "results": {item["name"]: item["state"] for item in files},
        "error": job.error,
    }
