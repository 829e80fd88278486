"""A code location for tests of the launchers: jobs that end, that wait, that fail. Nothing of the platform's."""

import os
import time
from pathlib import Path

from dagster import Config, Definitions, OpExecutionContext, in_process_executor, job, op


class Wait(Config):
    """``file``: where to say that the run has begun; ``seconds``: how long to wait then."""

    file: str
    seconds: float = 0.0


@op
def wait(context: OpExecutionContext, config: Wait) -> None:
    Path(config.file).write_text(f"{os.getpid()}")
    deadline = time.monotonic() + config.seconds
    while time.monotonic() < deadline:
        time.sleep(0.05)


@job(executor_def=in_process_executor)
def waiting() -> None:
    wait()


defs = Definitions(jobs=[waiting])
