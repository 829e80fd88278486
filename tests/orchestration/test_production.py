"""The production configuration is not only read: a document goes through it, on a real PostgreSQL."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy
import yaml
from dagster import DagsterInstance, RunsFilter

from orchestration.compute_logs import KeyedS3ComputeLogManager
from orchestration.launchers.lanes import LAUNCHED_TAG, LaneRunLauncher
from orchestration.local import services
from orchestration.local.look import Look
from orchestration.local.places import ROOT, Places
from orchestration.local.supervise import Record, Supervisor, free_port
from orchestration.local.uploads import Upload
from resources.values import document_id
from tests.conftest import LocalStack
from tests.corpus.plain import letter
from tests.orchestration import postgres

PRODUCTION = ROOT / "infra/dagster/production.yaml"
PATIENCE_SECONDS = 180


@pytest.fixture(scope="module")
def database() -> Iterator[postgres.Postgres]:
    with postgres.running() as server:
        yield server


@pytest.fixture
def places(database: postgres.Postgres, stack: LocalStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """DAGSTER_HOME with the production configuration, and the environment that it asks for."""
    found = Places(tmp_path)
    found.make()
    for name, value in {
        "DAGSTER_HOME": str(found.dagster_home),
        "DAGSTER_POSTGRES_HOST": database.host,
        "DAGSTER_POSTGRES_PORT": str(database.port),
        "DAGSTER_POSTGRES_DB": database.database,
        "DAGSTER_POSTGRES_USER": database.user,
        "DAGSTER_POSTGRES_PASSWORD": database.password,
        "DOCUMENTS_BUCKET": f"{stack.stack_name}-documents",
        "DOCUMENTS_KEY": f"alias/{stack.stack_name}",
        "LONG_CLUSTER": "heavy",
        "LONG_TASK_DEFINITION": "accessible-pdf-run",
        "PYTHONPATH": str(ROOT),
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
def platform(places: Places) -> Iterator[Supervisor]:
    """Code server and daemon, as their containers run them."""
    port = free_port()
    workspace = services.write_dagster_home(places, port, PRODUCTION)
    supervisor = Supervisor(Record(places.record), places.logs)
    try:
        supervisor.start(services.code_server(os.environ, port))
        supervisor.wait_ready("code-server")
        supervisor.start(services.daemon(os.environ, workspace))
        yield supervisor
    finally:
        supervisor.stop("daemon")
        supervisor.stop("code-server")


def test_the_environment_that_it_asks_for_is_the_one_it_names() -> None:
    """Every {env: …} of the file is in the comment at its top, so that nobody has to search for them."""

    def asked(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            if set(value) == {"env"}:
                yield str(value["env"])
            for one in value.values():
                yield from asked(one)
        elif isinstance(value, list):
            for one in value:
                yield from asked(one)

    text = PRODUCTION.read_text()
    head = text[: text.index("\nstorage:")]
    wanted = set(asked(yaml.safe_load(text)))
    assert len(wanted) >= 8
    missing = {name for name in wanted if name not in head and name.removeprefix("DAGSTER_POSTGRES_") not in head}
    assert not missing


def test_a_document_goes_through_the_production_configuration(
    platform: Supervisor, database: postgres.Postgres, places: Places, tmp_path: Path
) -> None:
    look = Look.connect(places)
    letter(tmp_path / "letter.pdf")
    with (tmp_path / "letter.pdf").open("rb") as body:
        answer = look.s3.put_object(Bucket=look.bucket, Key="incoming/letter.pdf", Body=body)
    file = Upload("letter.pdf", "incoming/letter.pdf", tmp_path / "letter.pdf", 1, True, answer["VersionId"], 0.0)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (view := look.at([file])[0]).settled:
        platform.check()
        assert time.monotonic() < deadline, f"not settled: {view.stage}"
        time.sleep(0.5)
    assert (view.status, view.code, view.message) == ("published", None, None)

    instance = look.instance
    assert isinstance(instance, DagsterInstance) and isinstance(instance.run_launcher, LaneRunLauncher)
    doc = document_id(look.bucket, file.key)
    while not (run := instance.get_runs(RunsFilter(tags={"document": doc}))[0]).is_finished:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert run.tags[LAUNCHED_TAG] == "fast"

    engine = sqlalchemy.create_engine(database.url, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        counted = connection.execute(
            sqlalchemy.text("select count(*) from event_logs where run_id = :run"), {"run": run.run_id}
        )
        assert counted.scalar_one() > 20, "the run's events are in PostgreSQL"
    assert not list(places.dagster_home.rglob("*.db")), "nothing is in SQLite"

    assert isinstance(instance.compute_log_manager, KeyedS3ComputeLogManager)
    logs = look.s3.list_objects_v2(Bucket=look.bucket, Prefix="dagster/compute/").get("Contents", [])
    assert any(run.run_id in log["Key"] for log in logs), "the output of its steps is in the bucket"
    key = look.store.objects.key_id
    for log in logs:
        head = look.s3.head_object(Bucket=look.bucket, Key=log["Key"])
        assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == ("aws:kms", key)
