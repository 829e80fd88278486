"""The operations that make a structure tree: a small closed set, version 1, stored one JSON record a line.

    {"v":1,"seq":7,"opId":"…","author":"engine/1","baseHash":"<sha256 of the base>",
     "op":{"type":"role","node":"p3.12","role":"H2"}}

The log is the truth about a document: the engine is its first author, people follow, every version is a replay of a
prefix (`pdf.tagging.replay`). Content is addressed by page (from 0) and flat item index (`pdf.content.painting`).
`python -m pdf.tagging.ops` prints the JSON Schema of a record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from pdf.errors import Code, PdfError

VERSION = 1
ENGINE = "engine/1"
#: The id of the tree's top, which is always there.
ROOT = "root"

#: Standard structure types (ISO 32000-1 14.8.4), without those that only PDF 2.0 knows.
Role = Literal[
    "Document", "Part", "Art", "Sect", "Div", "BlockQuote", "Caption", "TOC", "TOCI", "Index", "NonStruct", "Private",
    "P", "H", "H1", "H2", "H3", "H4", "H5", "H6", "L", "LI", "Lbl", "LBody", "Table", "TR", "TH", "TD", "THead",
    "TBody", "TFoot", "Span", "Quote", "Note", "Reference", "BibEntry", "Code", "Link", "Annot", "Ruby", "RB", "RT",
    "RP", "Warichu", "WT", "WP", "Figure", "Formula", "Form",
]  # fmt: skip
ROLES = frozenset(get_args(Role))

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$")]
Index = Annotated[int, Field(ge=0, le=10_000_000)]
Range = tuple[Index, Index]
Text = Annotated[str, Field(max_length=20_000)]
Lang = Annotated[str, Field(pattern=r"^([A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*)?$")]

_STRICT = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Ref:
    """Content of page `p`: items [o[0], o[1]) in painting order; with `c` only the painted character codes
    [c[0], c[1]) of that one text item; or annotation number `a` of the page's /Annots."""

    __pydantic_config__ = _STRICT
    p: Index
    o: Range | None = None
    c: Range | None = None
    a: Index | None = None


@dataclass(frozen=True, slots=True)
class Attributes:
    """Structure attributes (ISO 32000-1 14.8.5). `headers` are node ids; `bbox` is in the page's default user space
    (left, bottom, right, top)."""

    __pydantic_config__ = _STRICT
    scope: Literal["Row", "Column", "Both"] | None = None
    colSpan: Annotated[int, Field(ge=1, le=1000)] | None = None
    rowSpan: Annotated[int, Field(ge=1, le=10_000)] | None = None
    headers: tuple[Id, ...] | None = None
    summary: Text | None = None
    listNumbering: (
        Literal["None", "Disc", "Circle", "Square", "Decimal", "UpperRoman", "LowerRoman", "UpperAlpha", "LowerAlpha"]
        | None
    ) = None
    placement: Literal["Block", "Inline", "Before", "Start", "End"] | None = None
    bbox: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A structure element with its kids in reading order. `alt` describes what is no text, `actual` replaces text,
    `expansion` spells an abbreviation out, `lang` where it is not the document's."""

    __pydantic_config__ = _STRICT
    id: Id
    role: Role
    kids: tuple[Node | Ref, ...] = ()
    alt: Text | None = None
    actual: Text | None = None
    expansion: Text | None = None
    lang: Lang | None = None
    title: Text | None = None
    attrs: Attributes | None = None
    #: A person is asked to describe it: `alt` is only a placeholder.
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """Everything before is undone: the tree is empty again. Says why."""

    __pydantic_config__ = _STRICT
    type: Literal["reset"] = "reset"
    reason: Text = ""


@dataclass(frozen=True, slots=True)
class Document:
    """Title and language of the document."""

    __pydantic_config__ = _STRICT
    type: Literal["document"] = "document"
    title: Text | None = None
    lang: Lang | None = None


@dataclass(frozen=True, slots=True)
class Add:
    """New nodes below `parent`, before its kid `at` (default: at the end). Content another node holds is refused,
    unless `take` is set: then it is taken from there."""

    __pydantic_config__ = _STRICT
    nodes: tuple[Node, ...]
    parent: Id = ROOT
    at: Index | None = None
    take: bool = False
    type: Literal["add"] = "add"


@dataclass(frozen=True, slots=True)
class Place:
    """Content becomes part of a node, before its kid `at`; it is taken from where it was."""

    __pydantic_config__ = _STRICT
    node: Id
    content: tuple[Ref, ...]
    at: Index | None = None
    type: Literal["place"] = "place"


@dataclass(frozen=True, slots=True)
class Artifact:
    """Content that is not read (ISO 32000-1 14.8.2.2): taken from its node, if it has one."""

    __pydantic_config__ = _STRICT
    content: tuple[Ref, ...]
    kind: Literal["Pagination", "Layout", "Page", "Background"] = "Layout"
    subtype: Literal["Header", "Footer", "Watermark"] | None = None
    type: Literal["artifact"] = "artifact"


@dataclass(frozen=True, slots=True)
class SetRole:
    """A node gets another role."""

    __pydantic_config__ = _STRICT
    node: Id
    role: Role
    type: Literal["role"] = "role"


@dataclass(frozen=True, slots=True)
class SetText:
    """Texts of a node; what is not named stays, an empty text takes it away. A new `alt` ends the waiting for one."""

    __pydantic_config__ = _STRICT
    node: Id
    alt: Text | None = None
    actual: Text | None = None
    expansion: Text | None = None
    lang: Lang | None = None
    title: Text | None = None
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class SetAttributes:
    """A node's attributes, all of them anew."""

    __pydantic_config__ = _STRICT
    node: Id
    attrs: Attributes
    type: Literal["attributes"] = "attributes"


@dataclass(frozen=True, slots=True)
class Move:
    """A node goes below another parent, or elsewhere below its own, before that one's kid `at` (counted without it)."""

    __pydantic_config__ = _STRICT
    node: Id
    parent: Id
    at: Index | None = None
    type: Literal["move"] = "move"


@dataclass(frozen=True, slots=True)
class Merge:
    """The kids of `node` are put at the end of `into`; `node` goes."""

    __pydantic_config__ = _STRICT
    node: Id
    into: Id
    type: Literal["merge"] = "merge"


@dataclass(frozen=True, slots=True)
class Split:
    """The kids of `node` from `at` on go into a new node `id` of the same role right after it."""

    __pydantic_config__ = _STRICT
    node: Id
    at: Index
    id: Id
    type: Literal["split"] = "split"


@dataclass(frozen=True, slots=True)
class Remove:
    """A node goes; its kids take its place."""

    __pydantic_config__ = _STRICT
    node: Id
    type: Literal["remove"] = "remove"


Op = Reset | Document | Add | Place | Artifact | SetRole | SetText | SetAttributes | Move | Merge | Split | Remove
TYPES = frozenset(
    ("reset", "document", "add", "place", "artifact", "role", "text", "attributes", "move", "merge", "split", "remove")
)


@checked(config=_STRICT)
class Record:
    """An op with its place in a document's log. `seq` counts from 1 without gaps."""

    v: Literal[1]
    seq: Annotated[int, Field(ge=1)]
    opId: Annotated[str, Field(min_length=1, max_length=64)]
    author: Annotated[str, Field(min_length=1, max_length=200)]
    baseHash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    op: Annotated[Op, Field(discriminator="type")]


_RECORD: TypeAdapter[Record] = TypeAdapter(Record)
_OP: TypeAdapter[Any] = TypeAdapter(Annotated[Op, Field(discriminator="type")])


def schema() -> dict[str, Any]:
    """The JSON Schema of one record."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Op record", **_RECORD.json_schema()}


def op_json(op: Op) -> dict[str, Any]:
    """An op as JSON values, defaults left out (but for the type)."""
    value: dict[str, Any] = _OP.dump_python(op, mode="json", exclude_defaults=True)
    value["type"] = op.type
    return value


def records(ops: Sequence[Op], base_sha256: str, start_seq: int = 1, author: str = ENGINE) -> list[dict[str, Any]]:
    """Ops as records of a log, from `start_seq` on. opIds are hashes of content and place: the same ops give the same
    records anywhere."""
    out = []
    for seq, op in enumerate(ops, start_seq):
        value = op_json(op)
        key = [base_sha256, seq, author, value]
        canonical = json.dumps(key, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        digest = hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        out.append({"v": VERSION, "seq": seq, "opId": digest, "author": author, "baseHash": base_sha256, "op": value})
    return out


def dump(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write records as JSON Lines."""
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=True, separators=(",", ":")) + "\n")


def load(path: Path) -> Iterator[Record]:
    """Read records, each checked. Raises PdfError UNKNOWN_OP for a type or version this code does not know,
    OP_REFUSED for a malformed record."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield parse(line, f"line {number}")


def parse(line: bytes | str, where: str) -> Record:
    """One record from its JSON; `where` is for the error's sentence."""
    try:
        return _RECORD.validate_json(line)
    except ValidationError as error:
        raise _refusal(line, where, error) from error


def _refusal(line: bytes | str, where: str, error: ValidationError) -> PdfError:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return PdfError(Code.OP_REFUSED, f"{where}: this is no JSON record.")
    if isinstance(row, dict):
        if row.get("v") != VERSION:
            return PdfError(Code.UNKNOWN_OP, f"{where}: op version {row.get('v')!r} is not known."[:500])
        op = row.get("op")
        kind = op.get("type") if isinstance(op, dict) else None
        if isinstance(kind, str) and kind not in TYPES:
            return PdfError(Code.UNKNOWN_OP, f"{where}: op type {kind!r} is not known."[:500])
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return PdfError(Code.OP_REFUSED, f"{where}: {place[:200]}: {first['msg']}"[:500])


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
