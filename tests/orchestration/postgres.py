"""A real PostgreSQL for the length of a test: Debian's server, in a folder of its own, on loopback only."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from orchestration.local.supervise import free_port
from tests.orchestration.conftest import wait_for


@dataclass(frozen=True)
class Postgres:
    """Where the server listens and who may enter."""

    port: int
    user: str
    password: str
    database: str = "postgres"
    host: str = "127.0.0.1"

    @property
    def url(self) -> str:
        return f"postgresql+psycopg2://{self.user}:{self.password}@{self.host}:{self.port}/{self.database}"


def binaries() -> Path | None:
    """The folder with ``initdb`` and ``postgres``: Debian keeps them off the PATH, a folder a version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).parent if on_path else None


def skip_loudly(reason: str) -> None:
    """Skip a test in a way that the summary of the run shows, whatever its options."""
    warnings.warn(f"NOT TESTED: {reason}", stacklevel=2)
    pytest.skip(reason)


@contextmanager
def running() -> Iterator[Postgres]:
    """Start a server, and remove everything of it afterwards. Skips the test, loudly, where there is none."""
    folder = binaries()
    if folder is None:
        skip_loudly("PostgreSQL is not installed here (apt-get install postgresql)")
    assert folder is not None
    # The server refuses to run as root: it gets the user that Debian's package made for it.
    owner: dict[str, Any] = {}
    if os.geteuid() == 0:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            skip_loudly("PostgreSQL does not run as root, and there is no user postgres here")
        owner = {"user": "postgres", "group": "postgres", "extra_groups": []}
    home = Path(tempfile.mkdtemp(prefix="postgres-"))
    server = Postgres(free_port(), "dagster", "only-for-this-test")
    try:
        secret = home / "password"
        secret.write_text(server.password)
        if owner:
            for path in (home, secret):
                shutil.chown(path, "postgres")
        subprocess.run(
            [
                *(str(folder / "initdb"), "--pgdata", str(home / "data"), "--username", server.user),
                *("--pwfile", str(secret), "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C"),
            ],
            check=True,
            capture_output=True,
            cwd=home,
            **owner,
        )
        options = ["-h", server.host, "-p", str(server.port), "-k", str(home), "-c", "fsync=off"]
        process = subprocess.Popen(
            [str(folder / "postgres"), "-D", str(home / "data"), *options],
            stdout=(home / "log").open("wb"),
            stderr=subprocess.STDOUT,
            cwd=home,
            **owner,
        )
        try:
            engine = sqlalchemy.create_engine(server.url, poolclass=sqlalchemy.NullPool)

            def ready() -> bool:
                assert process.poll() is None, (home / "log").read_text()
                try:
                    engine.connect().close()
                except sqlalchemy.exc.OperationalError:
                    return False
                return True

            wait_for(ready, 30)
            yield server
        finally:
            process.send_signal(signal.SIGINT)  # "fast shutdown": SIGTERM would wait for clients that linger
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    finally:
        shutil.rmtree(home)
