"""What Dagster knows of the documents at this moment: their runs, and the step that each run is at."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dagster import DagsterInstance, DagsterRunStatus, RunsFilter
from dagster._core.storage.dagster_run import RunRecord

DOCUMENT_TAG = "document"
NAMES = {
    "uploaded_pdf": "inspecting",
    "optimized_pdf": "optimizing",
    "tagging_chunks": "analyzing pages",
    "assembled_document": "assembling",
    "verification_report": "verifying",
    "published_version": "publishing",
}
WAITING = {
    DagsterRunStatus.QUEUED: "queued",
    DagsterRunStatus.NOT_STARTED: "queued",
    DagsterRunStatus.STARTING: "starting",
    DagsterRunStatus.CANCELING: "cancelling",
}


@dataclass(frozen=True)
class RunView:
    """A document's latest run: its id, Dagster's status, the stage in a person's words, and the lane it takes."""

    run_id: str
    status: DagsterRunStatus
    stage: str
    lane: str | None
    job: str


def stage_name(step_key: str) -> str:
    """The stage that a step belongs to, in a person's words: ``tagging_chunks.analyze[3]`` → ``analyzing pages``."""
    asset = re.split(r"[.\[]", step_key)[0]
    return NAMES.get(asset, asset.replace("_", " "))


def running_stage(instance: DagsterInstance, record: RunRecord) -> str:
    """The stage a started run is at: the step that began last among those which have not ended."""
    stats = instance.get_run_step_stats(record.dagster_run.run_id)
    begun = [step for step in stats if step.start_time is not None]
    active = [step for step in begun if step.end_time is None]
    if not begun:
        return "started"
    latest = max(active or begun, key=lambda step: step.start_time or 0.0)
    name = stage_name(latest.step_key)
    mapped = [step for step in begun if "[" in step.step_key and stage_name(step.step_key) == name]
    if active and mapped:
        return f"{name}, {sum(step.end_time is not None for step in mapped)} chunks done"
    return name


def runs_under_way(instance: DagsterInstance) -> dict[str, RunView]:
    """The run of every document that has one which has not ended, by document id: one question for all of them."""
    found: dict[str, RunView] = {}
    for record in instance.get_run_records(filters=RunsFilter(statuses=[*WAITING, DagsterRunStatus.STARTED])):
        run = record.dagster_run
        document = run.tags.get(DOCUMENT_TAG)
        if document is None or document in found:  # newest first
            continue
        stage = WAITING.get(run.status) or running_stage(instance, record)
        found[document] = RunView(run.run_id, run.status, stage, run.tags.get("lane"), run.job_name)
    return found
