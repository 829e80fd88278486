"""One run of chaos, from the first quiet documents to the proofs."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from orchestration.local.look import Look
from orchestration.local.uploads import Upload
from orchestration.local.views import DocumentView
from resources.clients import make_clients
from resources.settings import load_settings
from resources.store import make_store
from resources.values import system_clock
from tests.chaos.monkey import Monkey
from tests.chaos.proofs import faults
from tests.corpus.samples import SAMPLES
from tests.e2e.platform import Running, running
from tests.proxy import Proxy, proxy

NAMES = ("letter.pdf", "article.pdf", "encrypted.pdf")
#: A run that was killed while it started is noticed after `start_timeout_seconds` (180 s), perhaps twice.
PATIENCE_SECONDS = 600.0
#: Leases end soon, and attempts are without end: what is killed on purpose is tried again at once, as often as needed.
KNOBS = {
    "CLAIM_LEASE_SECONDS": "12",
    "CLAIM_RENEW_SECONDS": "2",
    "DUE_HOLD_SECONDS": "8",
    "RETRY_SECONDS": "0.3",
    "MAX_ATTEMPTS": "100000",
    "CHUNK_MIN_PAGES": "2",
    "CHUNK_PAGES": "1",
}


@contextlib.contextmanager
def knobs(scratch: Path) -> Iterator[None]:
    """The settings of chaos, in the environment that the platform's processes inherit."""
    before = dict(os.environ)
    os.environ.update({**KNOBS, "SANDBOX_FOLDER": str(scratch)})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def chaos(folder: Path, seed: int, kills: int, documents: int, seconds: float, say: Callable[[str], None]) -> list[str]:
    """Returns what does not hold afterwards; empty where nothing was lost and nothing done twice."""
    scratch, state = folder / "scratch", folder / "state"
    scratch.mkdir()
    paths = {}
    for sample in SAMPLES:
        if sample.name in NAMES:
            paths[sample.name] = folder / sample.name
            sample.make(paths[sample.name])
    with contextlib.ExitStack() as stack:
        stack.enter_context(knobs(scratch))
        lines: list[Proxy] = []
        direct: list[str] = []

        def between(endpoint: str) -> str:
            direct.append(endpoint)
            lines.append(stack.enter_context(proxy(endpoint)))
            return lines[0].url

        platform = stack.enter_context(running(state, between))
        settings = load_settings(aws_endpoint_url=direct[0])  # who watches is not cut off
        clients = make_clients(settings)
        store = make_store(settings, clients, system_clock)
        platform.look = Look(store, clients.s3, platform.look.instance, time.time, platform.places.results)
        quiet = [platform.put(f"quiet-{name}", path) for name, path in paths.items()]
        wanted = {name: outcome(platform, view) for name, view in zip(paths, wait(platform, quiet, 300), strict=True)}
        say(f"without chaos: {', '.join(f'{name} {fact[0]}' for name, fact in wanted.items())}")
        begun = time.monotonic()
        uploads = [
            platform.put(f"{n:03d}-{name}", paths[name]) for n in range(documents) for name in [NAMES[n % len(NAMES)]]
        ]
        monkey = Monkey(platform, lines[0], seed, kills, lambda: events(platform, uploads))
        monkey.thread.start()
        deadline = begun + seconds
        turn = 0
        while monkey.thread.is_alive() and time.monotonic() < deadline:
            time.sleep(1)
            if all(view.settled for view in platform.look.at(uploads)):
                turn += 1  # more to kill: the same files come under new names
                uploads += [
                    platform.put(f"{turn}{n:03d}-{name}", paths[name])
                    for n in range(documents)
                    for name in [NAMES[n % len(NAMES)]]
                ]
        monkey.stop()
        if monkey.problem is not None:
            return [f"the monkey itself: {monkey.problem!r}"]
        say(f"{monkey.killed} kills: {dict(monkey.done)}, answers lost or refused: {lines[0].lost}")
        try:
            wait(platform, uploads, max(PATIENCE_SECONDS, deadline - time.monotonic()))
        except TimeoutError as error:
            return [str(error), *faults(platform, uploads, wanted, scratch)]
        settle(platform, scratch)
        say(f"{len(uploads)} documents settled after {time.monotonic() - begun:.0f} s")
        return faults(platform, [*quiet, *uploads], wanted, scratch)


def outcome(platform: Running, view: DocumentView) -> tuple[str, str]:
    """How a document ended: (published, SHA-256) or (refused, code)."""
    if view.status == "published":
        return "published", platform.look.store.versions.get(view.document_id, 1).sha256
    return view.status, str(view.code)


def wait(platform: Running, uploads: list[Upload], seconds: float) -> list[DocumentView]:
    """Until all have settled. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while True:
        views = platform.look.at(uploads)
        if all(view.settled for view in views):
            return views
        if time.monotonic() > deadline:
            left = [(view.name, view.stage) for view in views if not view.settled]
            raise TimeoutError(f"{len(left)} documents did not settle: {left[:10]}")
        time.sleep(0.5)


def settle(platform: Running, scratch: Path, seconds: float = 90) -> None:
    """Let what tidies up behind the dead do so: queues, runs, leases, work directories."""
    from orchestration.local.halt import run_workers

    deadline = time.monotonic() + seconds
    store = platform.look.store
    while time.monotonic() < deadline:
        left = [path for path in scratch.iterdir() if not Path(f"/proc/{path.name.split('-')[1]}").exists()]
        if not run_workers() and store.intake.depth() == 0 and not left:
            return
        time.sleep(1)


def events(platform: Running, uploads: list[Upload]) -> list[str]:
    """The events of all uploads so far, as S3 tells them (without a place among the key's events)."""
    import json

    bucket = platform.look.bucket
    return [
        json.dumps(
            {
                "Records": [
                    {
                        "eventName": "ObjectCreated:Put",
                        "s3": {
                            "bucket": {"name": bucket},
                            "object": {"key": one.key, "size": one.size, "versionId": one.version_id, "sequencer": ""},
                        },
                    }
                ]
            }
        )
        for one in uploads
    ]
