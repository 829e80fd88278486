"""The analysts' tables: what was booked, once, with types; and every documented question has an answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dagster import DagsterInstance, materialize

from assets.metrics import COLUMNS, METRICS, build, ceiling_checks, cost_checks, key_of
from assets.platform import Platform
from orchestration.local.query import BadQuestion, ask, fetch, table
from resources.clients import make_clients
from resources.ledger import CEILINGS, COST
from resources.settings import load_settings
from resources.store import Store, make_store
from tests.conftest import LocalStack, session

DAY, NOON = "2026-06-01", 1_780_315_200.0
QUERIES = Path(__file__).parents[2] / "docs/queries.md"


def cost(n: int, **more: object) -> dict[str, object]:
    facts = {"operation": "verify", "document": f"d{n}", "owner": "o", "job_id": "j", "pages": 4}
    return {**facts, "seconds": 2.5, "cpu_seconds": 1, "usd": 0, **more}


def ceiling(n: int, **more: object) -> dict[str, object]:
    facts = {"phase": "assemble", "document": f"d{n}", "job_id": "j", "run_id": "r", "pages": 4, "chunk_count": 1}
    numbers = {"seconds": 700.0, "cpu_seconds": 2.0, "ceiling_fraction": 0.78, "peak_memory_mb": 300, "ok": True}
    return {**facts, **numbers, "chunk_index": -1, "memory_limit_mb": 2048, "memory_fraction": 0.15, **more}


@pytest.fixture
def store(stack: LocalStack) -> Store:
    settings = load_settings()
    found = make_store(settings, make_clients(settings, session()), lambda: NOON)
    for n in range(3):
        for _ in range(2):  # a step that was retried books the same fact
            found.ledger.record(COST, f"c{n}", NOON + n, cost(n))
            found.ledger.record(CEILINGS, f"p{n}", NOON + n, ceiling(n))
    return found


def test_a_day_is_written_whole_however_often(store: Store, tmp_path: Path) -> None:
    for _ in range(2):
        for name in COLUMNS:
            build(store, name, DAY)
    fetch(store.objects, tmp_path)
    assert ask(tmp_path, f"select count(*), sum(seconds), min(day) from {COST}")[1] == [(3, 7.5, DAY)]


def test_the_assets_write_what_the_checks_have_seen(store: Store) -> None:
    with DagsterInstance.ephemeral() as instance:
        done = materialize(METRICS, partition_key=DAY, instance=instance, resources={"platform": Platform()})
    assert done.success
    checks = done.get_asset_check_evaluations()
    assert len(checks) == 4 and all(check.passed for check in checks)
    assert {ref.key for ref in store.objects.keys("metrics/")} == {key_of(name, DAY) for name in COLUMNS}


def test_the_checks_find_what_they_look_for() -> None:
    rows = [{"id": "a", **cost(1)}, {"id": "a", **cost(2, usd=-1)}]
    assert [result.passed for result in cost_checks(rows)] == [False, False]
    phases = [{"id": "a", **ceiling(1)}, {"id": "a", **ceiling(2, peak_memory_mb=0)}]
    assert [result.passed for result in ceiling_checks(phases)] == [False, False]


QUESTIONS = re.findall(r"## (.+?)\n.*?```sql\n(.+?)\n```", QUERIES.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(("name", "sql"), QUESTIONS, ids=[name[:30] for name, _ in QUESTIONS])
def test_every_documented_question_has_an_answer(store: Store, tmp_path: Path, name: str, sql: str) -> None:
    for each in COLUMNS:
        build(store, each, DAY)
    fetch(store.objects, tmp_path)
    names, rows = ask(tmp_path, sql)
    assert rows
    if "rule" in name:
        assert rows[0][names.index("rule_fires")] is True
    assert len(table(names, rows).splitlines()) == len(rows) + 2


def test_a_question_nobody_understands_has_a_sentence(tmp_path: Path, store: Store) -> None:
    fetch(store.objects, tmp_path)
    with pytest.raises(BadQuestion, match="nonsense"):
        ask(tmp_path, "select nonsense from cost_ledger")
