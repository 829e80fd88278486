"""A platform on the embedded AWS, with a Dagster instance in memory and a clock the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dagster import DagsterInstance, RunRequest, SensorResult, build_sensor_context

from assets.platform import Platform
from resources.clients import make_clients
from resources.settings import load_settings
from resources.store import Store, make_store
from tests.conftest import LocalStack, session
from tests.resources.conftest import Clock


class FakeTime(Platform):
    """The platform with the test's store in it."""

    def use(self, store: Store) -> Platform:
        self._store = store
        self._settings = store.settings
        return self


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def platform(stack: LocalStack, clock: Clock) -> Platform:
    settings = load_settings()
    return FakeTime().use(make_store(settings, make_clients(settings, session()), clock))


@pytest.fixture
def instance() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as found:
        yield found


def tick(sensor: Any, platform: Platform, instance: DagsterInstance, cursor: str | None = None) -> Any:
    """What a sensor answers now. Its function is called as it is: Dagster would make a platform of its own."""
    with build_sensor_context(instance=instance, cursor=cursor) as context:
        return sensor._raw_fn(context, platform)


def requests(answer: Any) -> list[RunRequest]:
    """The runs it asks for."""
    return list(answer.run_requests or []) if isinstance(answer, SensorResult) else []
