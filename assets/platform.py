"""The platform as a Dagster resource: the store, the sandbox and veraPDF, each started when it is first used."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dagster import ConfigurableResource, InitResourceContext
from pydantic import PrivateAttr

from pdf.layout.analyzer import Analyzer
from pdf.layout.analyzer import load as load_analyzer
from pdf.sandbox import Limits, Sandbox
from pdf.tools.verapdf import Vera, find_command
from pdf.workdir import prefix, sweep
from resources.clients import make_clients
from resources.objects import Objects
from resources.rows import LONG
from resources.settings import Settings, load_settings
from resources.store import Store, make_store
from resources.values import ObjectRef, system_clock


@functools.lru_cache(maxsize=4)
def _store_of(settings: Settings) -> Store:
    """One store a process and settings. Dagster makes the resource anew for each tick of a sensor, and making AWS
    clients costs a third of a second of a core each time."""
    return make_store(settings, make_clients(settings), system_clock)


class Platform(ConfigurableResource):  # type: ignore[type-arg]
    """Everything a stage needs. Settings come from the environment; nothing is opened before it is asked for."""

    _settings: Settings | None = PrivateAttr(default=None)
    _store: Store | None = PrivateAttr(default=None)
    _sandbox: Sandbox | None = PrivateAttr(default=None)
    _vera: Vera | None = PrivateAttr(default=None)
    _analyzer: Analyzer | None = PrivateAttr(default=None)
    _bases: dict[str, Path] = PrivateAttr(default_factory=dict)
    _folder: tempfile.TemporaryDirectory[str] | None = PrivateAttr(default=None)
    _lane: str = PrivateAttr(default="")

    @property
    def settings(self) -> Settings:
        """The settings of this process."""
        if self._settings is None:
            self._settings = load_settings()
        return self._settings

    @property
    def store(self) -> Store:
        """The store of the settings' stack."""
        if self._store is None:
            self._store = _store_of(self.settings)
        return self._store

    @property
    def objects(self) -> Objects:
        """The bucket."""
        return self.store.objects

    @property
    def analyzer(self) -> Analyzer | None:
        """What goes over the layout's pages; None where they stay as they are. Raises ValueError for a wrong name."""
        if self._analyzer is None:
            self._analyzer = load_analyzer(self.settings.analyzer)
        return self._analyzer

    def use_lane(self, lane: str) -> None:
        """The lane of this process's run: a long document's steps may take longer."""
        if lane != self._lane and self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None
        self._lane = lane

    @property
    def sandbox(self) -> Sandbox:
        """Where untrusted files are opened."""
        if self._sandbox is None:
            long = self._lane == LONG
            seconds = self.settings.host_sandbox_seconds if long else self.settings.sandbox_seconds
            limits = Limits(
                wall_seconds=seconds,
                cpu_seconds=int(seconds) + 1,
                memory_mb=self.settings.sandbox_memory_mb,
            )
            self.sweep()
            folder = self.settings.sandbox_folder
            self._sandbox = Sandbox(limits, Path(folder) if folder else None)
        return self._sandbox

    @property
    def vera(self) -> Vera:
        """veraPDF: a command on the PATH where there is one, else the engine that came with the packages."""
        if self._vera is None:
            folder = self.settings.sandbox_folder
            self._vera = Vera(command=find_command(), work=Path(folder) if folder else None)
        return self._vera

    def sweep(self) -> int:
        """Remove the work directories of processes that were killed on this machine; returns how many."""
        folder = self.settings.sandbox_folder
        return sweep(Path(folder) if folder else None)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A work directory for one step, removed after it."""
        with tempfile.TemporaryDirectory(prefix=prefix("stage"), dir=self.settings.sandbox_folder) as path:
            yield Path(path)

    def file(self, ref: ObjectRef) -> Path:
        """The pinned bytes as a local file, fetched once a process: the chunks of a document share their base."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix=prefix("bases"), dir=self.settings.sandbox_folder)
        if ref.sha256 not in self._bases:
            for path in self._bases.values():  # one at a time: a run works on one document
                path.unlink(missing_ok=True)
            self._bases.clear()
            path = Path(self._folder.name) / ref.sha256
            self.objects.fetch(ref, path)
            self._bases[ref.sha256] = path
        return self._bases[ref.sha256]

    def close(self) -> None:
        """End what was started."""
        if self._sandbox is not None:
            self._sandbox.close()
        if self._vera is not None:
            self._vera.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._sandbox = self._vera = self._folder = None
        self._bases.clear()

    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """Dagster's run (or step process) is over."""
        self.close()
