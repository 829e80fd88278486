"""Where a local run keeps what it keeps: everything under one folder, ``.local``, that ``make clean`` removes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Places:
    """The folders and files of one local installation."""

    base: Path = ROOT / ".local"

    @property
    def aws(self) -> Path:
        """State of the embedded AWS: tables, queues, keys, objects."""
        return self.base / "aws"

    @property
    def dagster_home(self) -> Path:
        """DAGSTER_HOME: ``dagster.yaml``, runs, events, schedules."""
        return self.base / "dagster"

    @property
    def issuer(self) -> Path:
        """The keys of the local, fake issuer of tokens."""
        return self.base / "issuer"

    @property
    def compute_logs(self) -> Path:
        """Standard output of every step."""
        return self.base / "dagster" / "compute"

    @property
    def logs(self) -> Path:
        """One log a service."""
        return self.base / "logs"

    @property
    def samples(self) -> Path:
        """The sample PDFs, made once."""
        return self.base / "samples"

    @property
    def results(self) -> Path:
        """Copies of published files and their reports, for a person to open."""
        return self.base / "results"

    @property
    def uploads(self) -> Path:
        """What the console uploaded, by key."""
        return self.base / "uploads.json"

    @property
    def record(self) -> Path:
        """Which processes run, and where they listen."""
        return self.base / "run.json"

    @property
    def lock(self) -> Path:
        """Held by the console as long as it runs."""
        return self.base / "run.lock"

    def make(self) -> None:
        """Create the folders that services expect to be there."""
        for folder in (self.base, self.aws, self.dagster_home, self.compute_logs, self.logs, self.results):
            folder.mkdir(parents=True, exist_ok=True)
