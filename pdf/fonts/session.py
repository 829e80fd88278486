"""What the repairs of one document share: the open file, the record of changes, fonts already built."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import pikepdf

from pdf.fonts.cmaps import Code, to_unicode
from pdf.fonts.model import FontChange, FontFailure


@dataclass
class Session:
    """One repair of one document."""

    pdf: pikepdf.Pdf
    changes: list[FontChange] = field(default_factory=list)
    failures: list[FontFailure] = field(default_factory=list)
    _streams: dict[bytes, pikepdf.Object] = field(default_factory=dict)

    def changed(self, font: str, kind: str, detail: str, *, visible: bool = False) -> None:
        """Record a change."""
        self.changes.append(FontChange(font, kind, detail, visible))

    def failed(self, font: str, clause: str, detail: str, package: str | None = None) -> None:
        """Record what stays wrong."""
        self.failures.append(FontFailure(font, clause, detail, package))

    def stream(self, data: bytes, **entries: pikepdf.Object | int) -> pikepdf.Object:
        """A stream object with these bytes; equal ones are one object."""
        key = hashlib.sha256(data + repr(sorted(entries.items())).encode()).digest()
        if key not in self._streams:
            stream = self.pdf.make_stream(data)
            for name, value in entries.items():
                stream[f"/{name}"] = value
            self._streams[key] = stream
        return self._streams[key]

    def set_unicode(self, font: pikepdf.Object, texts: dict[Code, str]) -> None:
        """Give a font this ToUnicode CMap."""
        font["/ToUnicode"] = self.stream(to_unicode(texts))


def subset_tag(parts: Callable[[], bytes] | bytes) -> str:
    """Six letters that follow from the content, for the name of a subset (ISO 32000-1 9.6.4)."""
    data = parts() if callable(parts) else parts
    value = int.from_bytes(hashlib.sha256(data).digest()[:8])
    letters = ""
    for _ in range(6):
        value, letter = divmod(value, 26)
        letters += chr(65 + letter)
    return letters
