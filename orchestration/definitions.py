"""What Dagster loads: the one Definitions object. It only composes; importing it talks to nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagster import Definitions

from assets.assembled import assembled_document
from assets.chunks import tagging_chunks
from assets.metrics import METRICS
from assets.optimized import optimized_pdf
from assets.platform import Platform
from assets.published import published_version
from assets.references import references
from assets.uploaded import uploaded_pdf
from assets.verified import verification_report
from jobs.access import JOBS as ACCESS_JOBS
from jobs.housekeeping import JOBS, SCHEDULES
from jobs.metrics import build_metrics, hourly_metrics
from jobs.remediation import remediate_document, verify_version
from sensors.dead_letters import dead_letters
from sensors.guards import sweep
from sensors.intake import intake
from sensors.settlement import SENSORS
from sensors.verification import verification


def build_definitions(resources: Mapping[str, Any] | None = None) -> Definitions:
    """The whole code location. `resources` replaces some of its resources: the seam for tests."""
    return Definitions(
        assets=[
            uploaded_pdf,
            optimized_pdf,
            tagging_chunks,
            assembled_document,
            verification_report,
            published_version,
            *METRICS,
        ],
        jobs=[remediate_document, verify_version, build_metrics, *JOBS, *ACCESS_JOBS],
        sensors=[intake, verification, dead_letters, sweep, *SENSORS],
        schedules=[*SCHEDULES, hourly_metrics],
        resources={"platform": Platform(), "io_manager": references, **(resources or {})},
    )


defs = build_definitions()
