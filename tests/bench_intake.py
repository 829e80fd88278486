"""``make bench-intake``: thousands of uploads dropped at once. Prints figures; tests nothing.

    python -m tests.bench_intake [--uploads 5000] [--drain 200]

The whole platform runs as `make run` has it. Every event comes a second time, so that twice as many messages wait.
Shown: how fast they are taken in, what the processes' memory does, how fast the UI answers meanwhile, how long a tick
of the intake sensor takes, how many runs wait in Dagster's queue; and how fast documents come out at the other end.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dagster import DagsterRunStatus, RunsFilter

from resources.queues import BATCH
from resources.store import Store
from tests.corpus.samples import SAMPLES
from tests.e2e.platform import Running, running

SERVICES = ("aws", "code-server", "daemon", "webserver")
OWNERS = 5


@dataclass
class Figures:
    """What was seen from time to time: MB of each process, seconds of the UI's answers, runs queued, runs done."""

    memory: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in SERVICES})
    answers: list[float] = field(default_factory=list)
    queued: list[int] = field(default_factory=list)
    done: list[tuple[float, int]] = field(default_factory=list)

    def rates(self, seconds: float = 60) -> list[float]:
        """Documents a minute, in turns of so many seconds."""
        out, (since, before) = [], self.done[0]
        for at, count in self.done:
            if at - since >= seconds:
                out.append(60 * (count - before) / (at - since))
                since, before = at, count
        return out or [0.0]


def memory_mb(pid: int) -> int:
    """What a process and its children have in memory."""
    pids, total = [pid], 0
    while pids:
        one = pids.pop()
        try:
            status = Path(f"/proc/{one}/status").read_text()
            children = Path(f"/proc/{one}/task/{one}/children").read_text().split()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")), 0)
        pids += [int(child) for child in children]
    return total >> 10


def watch(platform: Running, figures: Figures, stop: threading.Event) -> None:
    """Look every two seconds until told to stop."""
    ask = json.dumps({"query": "{ runsOrError(limit: 25) { ... on Runs { results { runId status } } } }"}).encode()
    while not stop.wait(2):
        for name in SERVICES:
            figures.memory[name].append(memory_mb(platform.supervisor.process(name).pid))
        request = urllib.request.Request(
            f"{platform.ui}/graphql", ask, {"Content-Type": "application/json"}, method="POST"
        )
        begun = time.perf_counter()
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
        figures.answers.append(time.perf_counter() - begun)
        queued = RunsFilter(statuses=[DagsterRunStatus.QUEUED])
        figures.queued.append(platform.look.instance.get_runs_count(queued))
        figures.done.append((time.monotonic(), finished(platform)))


def drop(platform: Running, data: bytes, count: int) -> None:
    """Upload so many files at once, of a few owners."""

    def put(number: int) -> None:
        platform.look.s3.put_object(
            Bucket=platform.look.bucket,
            Key=f"incoming/upload-{number:05d}.pdf",
            Body=data,
            Metadata={"owner-id": f"owner-{number % OWNERS}"},
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(count)))


def repeat(store: Store, bucket: str, count: int) -> None:
    """Every event once more, as S3 may send it."""
    client, url = store.intake.client, store.intake.url
    for first in range(0, count, BATCH):
        bodies = []
        for number in range(first, min(first + BATCH, count)):
            key = f"incoming/upload-{number:05d}.pdf"
            head = store.objects.head(key)
            assert head is not None
            thing = {"key": key, "size": head.size, "versionId": head.version_id, "sequencer": ""}
            record = {"eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": bucket}, "object": thing}}
            bodies.append({"Id": str(number), "MessageBody": json.dumps({"Records": [record]})})
        client.send_message_batch(QueueUrl=url, Entries=bodies)


def ticks(platform: Running, since: float) -> list[float]:
    """Seconds of the intake sensor's ticks."""
    instance: Any = platform.look.instance
    states = [one for one in instance.all_instigator_state() if one.instigator_name == "intake"]
    found = [tick for one in states for tick in instance.get_ticks(one.instigator_origin_id, one.selector_id)]
    return [tick.end_timestamp - tick.timestamp for tick in found if tick.end_timestamp and tick.timestamp >= since]


def finished(platform: Running) -> int:
    """Runs that have ended well."""
    return int(platform.look.instance.get_runs_count(RunsFilter(statuses=[DagsterRunStatus.SUCCESS])))


def quartiles(values: Sequence[float]) -> str:
    """Median, 95th of a hundred, and the most."""
    ordered = sorted(values)
    p95 = ordered[int(0.95 * (len(ordered) - 1))]
    return f"p50 {statistics.median(ordered):.2f}  p95 {p95:.2f}  max {ordered[-1]:.2f}"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="make bench-intake")
    parser.add_argument("--uploads", type=int, default=5000)
    parser.add_argument("--drain", type=int, default=200, help="documents to wait for")
    options = parser.parse_args()
    sample = next(one for one in SAMPLES if one.name == "letter.pdf")
    with TemporaryDirectory(prefix="bench-intake-") as folder:
        path = Path(folder, "letter.pdf")
        sample.make(path)
        with running(Path(folder, "state")) as platform:
            platform.settled(platform.put("warm-up.pdf", path))
            report(platform, path.read_bytes(), options.uploads, options.drain)


def report(platform: Running, data: bytes, uploads: int, drain: int) -> None:
    """Drop, watch, tell."""
    store, figures, stop = platform.look.store, Figures(), threading.Event()
    watcher = threading.Thread(target=watch, args=(platform, figures, stop), daemon=True)
    watcher.start()
    begun, since = time.monotonic(), time.time()
    drop(platform, data, uploads)
    print(f"{uploads} uploads dropped in {time.monotonic() - begun:.0f} s", flush=True)
    repeat(store, platform.look.bucket, uploads)
    deep = store.intake.depth()
    while store.intake.depth():
        time.sleep(2)
    took = time.monotonic() - begun
    print(f"taken in after {took:.0f} s: {uploads / took * 60:.0f} uploads a minute; at most {deep}+ messages waited")
    while figures.done[-1][1] < drain:
        time.sleep(2)
    print(f"{figures.done[-1][1]} documents done after {time.monotonic() - begun:.0f} s", flush=True)
    stop.set()
    watcher.join()
    print(f"drain, documents a minute in turns of a minute: {quartiles(figures.rates())}")
    print(f"the UI's answers, s: {quartiles(figures.answers)}")
    print(f"ticks of the intake sensor, s: {quartiles(ticks(platform, since))}")
    print(f"runs in Dagster's queue: at most {max(figures.queued)}")
    for name, values in figures.memory.items():
        part = max(1, len(values) // 4)
        quarters = [max(values[n : n + part]) for n in range(0, len(values), part)][:4]
        print(f"memory of {name}, MB, most in each quarter of the time: {quarters}")


if __name__ == "__main__":
    main()
