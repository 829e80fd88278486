"""Ceiling records: how near each phase of the work came to its limits of time and memory.

Every phase leaves one record in three places: a line on stdout in CloudWatch's embedded metric format (namespace
``AccessiblePdf/Ceiling``, dimension ``phase``), metadata on the asset, and a row in the ledger for analysts. Past
the warning share of a limit, a warning names phase, seconds and job.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TextIO

NAMESPACE = "AccessiblePdf/Ceiling"
CEILING_SECONDS = 900.0
_METRICS = (
    ("PhaseSeconds", "Seconds"),
    ("PhaseCeilingFraction", "None"),
    ("PhasePeakMemoryMB", "Megabytes"),
    ("PhaseMemoryFraction", "None"),
)


@dataclass(frozen=True)
class PhaseRecord:
    """What one phase took. Seconds are wall time, memory is the high-water mark of the phase's own process."""

    phase: str
    job_id: str
    document: str
    run_id: str
    seconds: float
    cpu_seconds: float
    peak_memory_mb: float
    memory_limit_mb: float
    page_count: int
    chunk_count: int
    chunk_index: int | None
    ok: bool

    @property
    def ceiling_fraction(self) -> float:
        """Share of the 900 s."""
        return self.seconds / CEILING_SECONDS

    @property
    def memory_fraction(self) -> float:
        """Share of the memory limit; 0 where there is no limit."""
        return self.peak_memory_mb / self.memory_limit_mb if self.memory_limit_mb > 0 else 0.0

    def emf(self, epoch_ms: int) -> str:
        """One line in CloudWatch's embedded metric format."""
        body: dict[str, object] = {
            "_aws": {
                "Timestamp": epoch_ms,
                "CloudWatchMetrics": [
                    {
                        "Namespace": NAMESPACE,
                        "Dimensions": [["phase"]],
                        "Metrics": [{"Name": name, "Unit": unit} for name, unit in _METRICS],
                    }
                ],
            },
            "phase": self.phase,
            "PhaseSeconds": round(self.seconds, 3),
            "PhaseCeilingFraction": round(self.ceiling_fraction, 5),
            "PhasePeakMemoryMB": round(self.peak_memory_mb, 1),
            "PhaseMemoryFraction": round(self.memory_fraction, 5),
            "jobId": self.job_id,
            "document": self.document,
            "pageCount": self.page_count,
            "chunkCount": self.chunk_count,
            "memoryLimitMB": self.memory_limit_mb,
        }
        if self.chunk_index is not None:
            body["chunkIndex"] = self.chunk_index
        return json.dumps(body, separators=(",", ":"))

    def fields(self) -> dict[str, object]:
        """The ledger row, in the units of its names."""
        return {
            "phase": self.phase,
            "job_id": self.job_id,
            "document": self.document,
            "run_id": self.run_id,
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu_seconds, 3),
            "ceiling_fraction": round(self.ceiling_fraction, 5),
            "peak_memory_mb": round(self.peak_memory_mb, 1),
            "memory_limit_mb": round(self.memory_limit_mb, 1),
            "memory_fraction": round(self.memory_fraction, 5),
            "pages": self.page_count,
            "chunk_count": self.chunk_count,
            "chunk_index": -1 if self.chunk_index is None else self.chunk_index,
            "ok": self.ok,
        }

    def metadata(self) -> dict[str, float]:
        """Asset metadata worth plotting over time."""
        return {
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu_seconds, 3),
            "peak_memory_mb": round(self.peak_memory_mb, 1),
            "ceiling_fraction": round(self.ceiling_fraction, 5),
        }


class Phase:
    """Measures a phase while it runs. Work done in the sandbox is added as its outcomes arrive."""

    def __init__(self, name: str, monotonic: Callable[[], float] = time.monotonic):
        self.name = name
        self.page_count = 0
        self.chunk_count = 0
        self.chunk_index: int | None = None
        self._monotonic = monotonic
        self._started = monotonic()
        self._own_cpu = time.process_time()
        self._child_cpu = 0.0
        self._child_peak_mb = 0.0

    def ran(self, cpu_seconds: float, peak_memory_mb: float) -> None:
        """Add one sandboxed call: its CPU time adds up, its peak counts where it is the highest."""
        self._child_cpu += cpu_seconds
        self._child_peak_mb = max(self._child_peak_mb, peak_memory_mb)

    def record(self, *, job_id: str, document: str, run_id: str, memory_limit_mb: float, ok: bool) -> PhaseRecord:
        """The record up to now. A phase that used the sandbox reports the sandbox's peak, another its own process's."""
        own_peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return PhaseRecord(
            phase=self.name,
            job_id=job_id,
            document=document,
            run_id=run_id,
            seconds=self._monotonic() - self._started,
            cpu_seconds=self._child_cpu + time.process_time() - self._own_cpu,
            peak_memory_mb=self._child_peak_mb or own_peak_mb,
            memory_limit_mb=memory_limit_mb,
            page_count=self.page_count,
            chunk_count=self.chunk_count,
            chunk_index=self.chunk_index,
            ok=ok,
        )


def publish(
    record: PhaseRecord,
    *,
    epoch_ms: int,
    warn_fraction: float,
    book: Callable[[Mapping[str, object]], object],
    warn: Callable[[str], object],
    out: TextIO | None = None,
) -> None:
    """Write the record to stdout and to the ledger (``book``), and warn where it came too near a limit."""
    stream = out or sys.stdout
    stream.write(record.emf(epoch_ms) + "\n")
    stream.flush()
    book(record.fields())
    if record.ceiling_fraction > warn_fraction or record.memory_fraction > warn_fraction:
        warn(
            f"Phase {record.phase} came near its ceiling: {record.seconds:.1f} s of {CEILING_SECONDS:.0f} s, "
            f"{record.peak_memory_mb:.0f} MB of {record.memory_limit_mb:.0f} MB, job {record.job_id}, "
            f"document {record.document}"
        )
