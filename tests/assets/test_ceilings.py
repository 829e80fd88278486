"""Every phase leaves a record on stdout and in the ledger, and a warning near a limit."""

from __future__ import annotations

import io
import json
from typing import Any

from assets.ceilings import NAMESPACE, Phase, PhaseRecord, publish


class Watch:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def made(seconds: float, peak_mb: float = 300.0) -> PhaseRecord:
    watch = Watch()
    phase = Phase("assemble", monotonic=watch)
    phase.page_count, phase.chunk_count = 12, 3
    phase.ran(cpu_seconds=2.0, peak_memory_mb=peak_mb)
    phase.ran(cpu_seconds=1.0, peak_memory_mb=peak_mb / 2)
    watch.now += seconds
    return phase.record(job_id="job-1", document="d1", run_id="r1", memory_limit_mb=2048, ok=True)


def written(record: PhaseRecord) -> tuple[list[dict[str, Any]], list[str], str]:
    booked: list[dict[str, Any]] = []
    warnings: list[str] = []
    out = io.StringIO()
    publish(
        record,
        epoch_ms=1_700_000_000_000,
        warn_fraction=0.7,
        book=lambda fields: booked.append(dict(fields)),
        warn=warnings.append,
        out=out,
    )
    return booked, warnings, out.getvalue()


def test_the_record_is_one_line_of_embedded_metrics_and_one_row():
    booked, warnings, text = written(made(90.0))
    assert text.count("\n") == 1
    line = json.loads(text)
    directive = line["_aws"]["CloudWatchMetrics"][0]
    assert directive["Namespace"] == NAMESPACE
    assert directive["Dimensions"] == [["phase"]]
    assert {metric["Name"] for metric in directive["Metrics"]} <= line.keys()
    assert (line["PhaseSeconds"], line["PhaseCeilingFraction"]) == (90.0, 0.1)
    assert (line["jobId"], line["pageCount"], line["chunkCount"]) == ("job-1", 12, 3)
    assert booked[0]["seconds"] == 90.0
    assert booked[0]["cpu_seconds"] >= 3.0
    assert warnings == []


def test_the_peak_is_that_of_the_largest_child():
    booked, _, _ = written(made(1.0, peak_mb=512.0))
    assert booked[0]["peak_memory_mb"] == 512.0
    assert booked[0]["memory_fraction"] == 0.25


def test_a_phase_without_children_reports_its_own_process():
    record = Phase("publish").record(job_id="j", document="d", run_id="r", memory_limit_mb=0, ok=True)
    assert record.peak_memory_mb > 1
    assert record.memory_fraction == 0.0


def test_a_warning_names_phase_seconds_and_job_past_the_warning_share():
    assert written(made(629.0))[1] == []
    for record in (made(631.0), made(1.0, peak_mb=1500.0)):
        (warning,) = written(record)[1]
        assert "assemble" in warning
        assert f"{record.seconds:.1f} s" in warning
        assert "job-1" in warning
