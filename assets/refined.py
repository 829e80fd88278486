"""Pages an analyzer with a provider goes over: each asked for once, stored, and booked once, whoever dies in between.

A page's answer is stored the moment it is there, with what it cost and when. Booking follows from what is stored: a
worker that comes after finds the answer, pays for nothing, and books what is not booked.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from assets.stage import Stage
from assets.values import ChunkTask
from pdf.layout.analyzer import Analyzer, Refined, SlowDown, engine
from pdf.layout.model import PageAnalysis
from resources.errors import Code, StoreError
from resources.ledger import COST, cost

_PAGES: TypeAdapter[list[PageAnalysis]] = TypeAdapter(list[PageAnalysis])
_REFINED: TypeAdapter[Refined] = TypeAdapter(Refined)


def refine(at: Stage, task: ChunkTask, base: Path, pages: Path, analyzer: Analyzer) -> None:
    """Let the analyzer go over the layout's `pages` (JSON), which are replaced. Raises COOLING_DOWN."""
    layouts = _PAGES.validate_json(pages.read_bytes())
    made = [_page(at, task, base, layout, analyzer) for layout in layouts]
    pages.write_bytes(_PAGES.dump_json(made, exclude_defaults=True))


def _page(at: Stage, task: ChunkTask, base: Path, layout: PageAnalysis, analyzer: Analyzer) -> PageAnalysis:
    store = at.store
    key = f"chunks/{task.document}/r{task.revision}/page-{layout.number}.json"
    wanted = {"base_sha256": task.base.sha256, "engine": engine(analyzer), "page": layout.number}
    found = _stored(at, key, wanted)
    if found is None:
        store.cooldowns.require(analyzer.provider)
        store.work.check(at.claim)
        try:
            refined = analyzer.page(base, layout)
        except SlowDown as busy:
            store.cooldowns.slow_down(analyzer.provider, busy.seconds)
            message = f"{analyzer.provider} asked for a rest of {busy.seconds:.0f} s."
            raise StoreError(Code.COOLING_DOWN, message, retryable=True) from busy
        if refined.page.number != layout.number:
            raise StoreError(Code.NOT_READY, f"{analyzer.name} answered for another page than {layout.number}.")
        head = json.dumps({**wanted, "at": store.clock()}, sort_keys=True).encode()
        store.objects.put_bytes(head + b"\n" + _REFINED.dump_json(refined), key, content_type="application/json")
        found = _stored(at, key, wanted)
        assert found is not None
    when, refined = found
    facts = cost(
        "analyze",
        task.document,
        at.claim.owner,
        job_id=at.claim.job_id,
        pages=1,
        usd=round(refined.usage.usd, 8),
        provider=analyzer.provider,
        units=refined.usage.units,
    )
    fact = f"{task.document}:{task.base.sha256[:16]}:{engine(analyzer)}:{layout.number}"
    also = store.work.spend(at.claim, refined.usage.usd) if refined.usage.usd else None
    store.ledger.record(COST, fact, when, facts, also)
    return refined.page


def _stored(at: Stage, key: str, wanted: dict[str, Any]) -> tuple[float, Refined] | None:
    """When a page was answered, and the answer; None where none is stored for this base and analyzer."""
    ref = at.store.objects.head(key)
    if ref is None:
        return None
    head, _, body = at.store.objects.read(key, ref.version_id).partition(b"\n")
    said = json.loads(head)
    when = said.pop("at")
    return (float(when), _REFINED.validate_json(body)) if said == wanted else None
