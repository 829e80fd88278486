"""``make bench-api``: how fast the API is over the embedded AWS. Prints a table; tests nothing.

    python -m tests.bench_api [--documents 100000] [--seconds 10]

One process serves and one asks, so the figures are those of calls one after the other (and of 8 at once where it says
so). The embedded AWS keeps nothing on disk here: a large store would be saved again and again.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
import httpx

from infra.local import process
from infra.provision import Stack
from resources.clients import make_clients
from resources.settings import load_settings
from resources.store import Store, make_store
from resources.table import to_wire
from resources.values import iso, system_clock
from tests.conftest import REGION, free_port, session

PDF = b"%PDF-1.7 bench"
SESSION = "bench-session"


def timed(call: Callable[[], object], count: int) -> list[float]:
    """Seconds of each of `count` calls."""
    out = []
    for _ in range(count):
        begun = time.perf_counter()
        call()
        out.append(time.perf_counter() - begun)
    return out


def line(name: str, seconds: list[float]) -> None:
    """p50 and p95 in milliseconds."""
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    print(f"{name:44} p50 {1000 * statistics.median(ordered):7.1f} ms   p95 {1000 * p95:7.1f} ms   ({len(ordered)})")


class Editor:
    """Calls over HTTP's machinery, without a network between."""

    def __init__(self, http: Any) -> None:
        self.http = http

    def call(self, method: str, path: str, **body: Any) -> Any:
        answer = self.http.request(method, "/api/v1/tag-docs" + path, json=body or None)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def open(self) -> str:
        """A document with a base and a lease."""
        doc = str(self.call("POST", "", title="Bench")["id"])
        facts = {"sha256": hashlib.sha256(PDF).hexdigest(), "size": len(PDF)}
        signed = self.call("POST", f"/{doc}/base/upload-url", **facts)
        httpx.put(signed["url"], headers=signed["headers"], content=PDF).raise_for_status()
        self.call("POST", f"/{doc}/base/commit", **facts)
        self.call("POST", f"/{doc}/lease", sessionId=SESSION)
        return doc

    def append(self, doc: str, at: int, count: int = 1) -> None:
        """Some ops after `at`."""
        ops = [
            {
                "v": 1,
                "seq": at + 1 + i,
                "opId": f"op-{at + 1 + i}",
                "author": "bench",
                "baseHash": hashlib.sha256(PDF).hexdigest(),
                "op": {"type": "text", "node": "p0.1", "alt": "a text"},
            }
            for i in range(count)
        ]
        self.call("POST", f"/{doc}/ops", baseSeq=at, sessionId=SESSION, ops=ops)


def seed(store: Store, first: int, last: int) -> None:
    """Documents [first, last), a hundred an owner, written as they would stand; the first hundred are the lister's."""
    table = store.documents.table
    now = iso(store.clock())

    def put(numbers: range) -> None:
        requests = []
        for n in numbers:
            doc = f"{n:08x}-0000-4000-8000-000000000000"
            owner = "lister" if n < 100 else f"user-{n // 100}"
            meta = {
                "docId": doc,
                "ownerId": owner,
                "title": f"Document {n}",
                "status": "awaiting_base",
                "sourceRevision": 1,
                "headSeq": 0,
                "latestVersion": 0,
                "writeUnits": 0,
                "createdAt": now,
            }
            for item in (
                {"pk": f"DOC#{doc}", "sk": "META", **meta},
                {"pk": f"OWNER#{owner}", "sk": f"DOC#{doc}", "title": meta["title"], "createdAt": now},
            ):
                requests.append({"PutRequest": {"Item": to_wire(item)}})
        table.client.batch_write_item(RequestItems={table.name: requests})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, [range(n, min(n + 12, last)) for n in range(first, last, 12)]))


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="make bench-api")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    port = free_port()
    server = process.start(port)
    try:
        with TemporaryDirectory() as folder:
            measure(f"http://127.0.0.1:{port}", Path(folder), options.documents, options.seconds)
    finally:
        server.terminate()
        server.wait(timeout=30)


@dataclass(frozen=True)
class Place:
    """A stack with its API: one who edits, and one who has a hundred documents and lists them."""

    store: Store
    editor: Editor
    lister: Editor


def place(endpoint: str, folder: Path, name: str) -> Place:
    """A stack of its own in the embedded AWS."""
    from fastapi.testclient import TestClient

    from api import issuer
    from api.app import make_app

    Stack(boto3.Session("local", "local", region_name=REGION), endpoint, name).provision()
    settings = load_settings(
        stack_name=name,
        aws_endpoint_url=endpoint,
        jwt_issuer=issuer.ISSUER,
        jwks_url=str(issuer.prepare(folder)),
        platform_allowlist="bench,lister",
        api_calls_a_minute=10**9,
    )
    store = make_store(settings, make_clients(settings, session()), system_clock)
    app = make_app(settings, store)

    def caller(user: str) -> Editor:
        token = issuer.token(folder, user, settings.jwt_audience)
        return Editor(TestClient(app, headers={"Authorization": f"Bearer {token}"}))

    return Place(store, caller("bench"), caller("lister"))


def measure(endpoint: str, folder: Path, documents: int, seconds: float) -> None:
    """All figures."""
    few, many = place(endpoint, folder, "few"), place(endpoint, folder, "many")
    seed(few.store, 0, 1000)
    calls(few.editor)
    rates(few.editor, seconds)
    long_log(few.editor, few.store)
    begun = time.perf_counter()
    seed(many.store, 0, documents)
    print(f"{documents:,} documents beside 1,000 (written in {time.perf_counter() - begun:.0f} s), calls in turn:")
    compare(few, many, documents)


def compare(few: Place, many: Place, documents: int) -> None:
    """The same calls on a small and on a large store, one here and one there, so that both meet the same noise."""
    docs = [one.editor.open() for one in (few, many)]
    times: dict[str, tuple[list[float], list[float]]] = {"list mine (50)": ([], []), "append 1 op": ([], [])}
    for turn in range(200):
        for side, one in enumerate((few, many)):
            if turn % 50 == 0:
                one.editor.call("POST", f"/{docs[side]}/lease", sessionId=SESSION)
            for name, call in (
                ("list mine (50)", lambda one=one: one.lister.call("GET", "")),
                ("append 1 op", lambda one=one, side=side, turn=turn: one.editor.append(docs[side], turn)),
            ):
                times[name][side].extend(timed(call, 1))
    for name, (small, large) in times.items():
        line(f"{name}, {documents:,} documents", large)
        print(f"{name:44} {statistics.median(large) / statistics.median(small):.2f} x of that with 1,000")


def calls(editor: Editor) -> None:
    """Each call's times, one call after the other."""
    doc = editor.open()
    editor.append(doc, 0)
    at = [1]

    def append() -> None:
        editor.append(doc, at[0])
        at[0] += 1

    line("append 1 op", timed(append, 200))
    line("create", timed(lambda: editor.call("POST", "", title="Bench"), 60))
    line("get", timed(lambda: editor.call("GET", f"/{doc}"), 100))
    line("lease (heartbeat)", timed(lambda: editor.call("POST", f"/{doc}/lease", sessionId=SESSION), 100))
    line("read 100 ops", timed(lambda: editor.call("GET", f"/{doc}/ops?limit=100"), 50))
    facts = {"sha256": hashlib.sha256(PDF).hexdigest(), "size": len(PDF)}
    up_to = [1]

    def save() -> None:
        body = {"upToSeq": up_to[0], "sessionId": SESSION, **facts}
        signed = editor.call("POST", f"/{doc}/versions", **body)
        up_to[0] += 1
        httpx.put(signed["upload"]["url"], headers=signed["upload"]["headers"], content=PDF).raise_for_status()
        editor.call("POST", f"/{doc}/versions/{signed['version']['version']}/commit")

    line("save, upload, commit a version", timed(save, 30))
    line("download address", timed(lambda: editor.call("GET", f"/{doc}/versions/1/download-url"), 50))


def rates(editor: Editor, seconds: float) -> None:
    """Ops a second: on one document, and over 100 documents by 8 callers."""
    doc, at, begun = editor.open(), 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        editor.call("POST", f"/{doc}/lease", sessionId=SESSION) if at % 500 == 0 else None
        editor.append(doc, at)
        at += 1
    print(f"{'appends a second, one document':44} {at / (time.perf_counter() - begun):7.1f}")
    docs = [editor.open() for _ in range(100)]
    until = time.perf_counter() + seconds

    def work(mine: list[str]) -> int:
        heads = dict.fromkeys(mine, 0)
        done = 0
        while time.perf_counter() < until:
            for one in mine:
                editor.append(one, heads[one])
                heads[one] += 1
                done += 1
        return done

    with ThreadPoolExecutor(8) as pool:
        total = sum(pool.map(work, [docs[i::8] for i in range(8)]))
    print(f"{'appends a second, 100 documents, 8 callers':44} {total / seconds:7.1f}")


def long_log(editor: Editor, store: Store) -> None:
    """Memory of reading 20,000 ops, a page at a time."""
    doc = editor.open()
    for at in range(0, 20_000, 98):
        editor.call("POST", f"/{doc}/lease", sessionId=SESSION)
        editor.append(doc, at, min(98, 20_000 - at))
    tracemalloc.start()
    begun = time.perf_counter()
    count = sum(1 for _ in store.log.read(doc, 1, 20_000))
    took = time.perf_counter() - begun
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"{'read 20,000 ops':44} {took:7.1f} s (traced)   peak {peak / 1e6:.1f} MB   {count} records")


if __name__ == "__main__":
    main()
