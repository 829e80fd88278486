"""The document job, and the request for a run of it: tags choose lane, fairness and fence."""

from __future__ import annotations

from typing import Any

from dagster import AssetSelection, RunRequest, define_asset_job, multi_or_in_process_executor

from assets.stage import GENERATION_TAG, KIND_TAG, VERSION_TAG
from resources.settings import Settings
from resources.work import LONG, REMEDIATE, Row

STAGES = (
    "uploaded_pdf",
    "optimized_pdf",
    "tagging_chunks",
    "assembled_document",
    "verification_report",
    "published_version",
)
DOCUMENT_TAG, LANE_TAG, OWNER_TAG, JOB_TAG = "document", "lane", "owner", "job"
#: What a worker of the long lane asks of ECS: four bands in flight, each with up to 2 GiB, and the run itself.
HEAVY_TAGS = {"ecs/cpu": "4096", "ecs/memory": "10240"}

remediate_document = define_asset_job(
    "remediate_document",
    selection=AssetSelection.assets(*STAGES),
    executor_def=multi_or_in_process_executor,
    config={"execution": {"config": {"in_process": {}}}},
    description="Takes a document from its upload to a published, verified version. What is done already is not done "
    "again, so it can be run at any time.",
)

verify_version = define_asset_job(
    "verify_version",
    selection=AssetSelection.assets("verification_report", "published_version"),
    executor_def=multi_or_in_process_executor,
    config={"execution": {"config": {"in_process": {}}}},
    description="Verifies a version that an editor has saved, and publishes it if the policy holds.",
)


def request(row: Row, settings: Settings) -> RunRequest:
    """The run for a row that is due. Its run key names the attempt, so asking twice starts it once."""
    verifying = row.kind != REMEDIATE
    tags = {
        DOCUMENT_TAG: row.document,
        OWNER_TAG: row.owner,
        LANE_TAG: row.lane,
        KIND_TAG: row.kind,
        GENERATION_TAG: str(row.generation),
        JOB_TAG: row.job_id,
        # Small things before large ones; Dagster's queue takes the highest number first.
        "dagster/priority": "1" if verifying else "-1" if row.lane == LONG else "0",
    }
    if verifying:
        tags[VERSION_TAG] = row.kind.partition("#")[2]
    return RunRequest(
        run_key=row.run_key,
        job_name=verify_version.name if verifying else remediate_document.name,
        partition_key=row.document,
        tags={**tags, **(HEAVY_TAGS if row.lane == LONG else {})},
        run_config=run_config(row.lane, settings),
    )


def run_config(lane: str, settings: Settings) -> dict[str, Any]:
    """A fast document's steps run in one process; a long one's bands side by side, so many at once and no more.

    A process for each step costs about 3 s of a core: where bands are not to run side by side, there is none.
    """
    if lane != LONG or settings.host_map_concurrency == 1:
        return {"execution": {"config": {"in_process": {}}}}
    side_by_side = {
        "max_concurrent": settings.host_map_concurrency,
        "start_method": {"forkserver": {"preload_modules": ["orchestration.definitions"]}},
    }
    return {"execution": {"config": {"multiprocess": side_by_side}}}
