"""What Dagster loads, as text: a definition that is lost or changed is a red test, and a look at the difference."""

from __future__ import annotations

import os
from pathlib import Path

from dagster import AssetKey, Definitions, DynamicPartitionsDefinition

from orchestration.definitions import build_definitions

SNAPSHOT = Path(__file__).parent / "definitions.txt"


def snapshot(definitions: Definitions) -> str:
    """Assets with what they depend on and are checked by; jobs, sensors, schedules."""
    repository = definitions.get_repository_def()
    graph = repository.asset_graph
    lines = []
    for key in sorted(graph.get_all_asset_keys(), key=AssetKey.to_user_string):
        node = graph.get(key)
        partitions = node.partitions_def
        name = partitions.name if isinstance(partitions, DynamicPartitionsDefinition) else type(partitions).__name__
        parents = " ".join(sorted(parent.to_user_string() for parent in node.parent_keys)) or "-"
        checks = " ".join(sorted(check.name for check in node.check_keys)) or "-"
        kinds = " ".join(sorted(node.kinds))
        lines.append(
            f"asset {key.to_user_string()}: group {node.group_name}, owners {' '.join(node.owners)}, kinds {kinds}, "
            f"partitions {name}, after {parents}, checks {checks}, described {bool(node.description)}"
        )
    lines += [f"job {name}" for name in sorted(repository.job_names) if not name.startswith("__")]
    lines += [
        f"sensor {s.name}: every {s.minimum_interval_seconds} s, {s.default_status.value.lower()}"
        for s in sorted(repository.sensor_defs, key=lambda s: s.name)
    ]
    lines += [
        f"schedule {s.name}: {s.cron_schedule}, {s.default_status.value.lower()}"
        for s in sorted(repository.schedule_defs, key=lambda s: s.name)
    ]
    return "\n".join(lines) + "\n"


def test_the_definitions_are_those_of_the_snapshot() -> None:
    """Write it anew with UPDATE_SNAPSHOT=1, and read the difference."""
    found = snapshot(build_definitions())
    if os.environ.get("UPDATE_SNAPSHOT"):
        SNAPSHOT.write_text(found, encoding="utf-8")
    assert found == SNAPSHOT.read_text(encoding="utf-8")


def test_every_asset_tells_people_what_it_is() -> None:
    for line in snapshot(build_definitions()).splitlines():
        if line.startswith("asset"):
            assert "owners team:" in line and "kinds " in line and line.endswith("described True"), line


def test_resources_can_be_replaced() -> None:
    marker = object()
    definitions = build_definitions(resources={"extra": marker})
    assert definitions.resources is not None
    assert {"platform", "io_manager", "extra"} <= set(definitions.resources)
