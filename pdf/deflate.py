"""Deflating as small as is worth the time: libdeflate's best level until a document has had its share of it."""

from __future__ import annotations

import zlib

import deflate

from pdf.errors import Code, PdfError

#: The best level, at about 1.3 MB a second, and one that does a little better than zlib at its best in the same time.
_BEST, _QUICK = 12, 10
#: Decoded bytes of a document that get the best level.
BEST_BYTES = 24 << 20


class Deflater:
    """Deflates the streams of one document; which level each gets follows from what came before it alone."""

    def __init__(self) -> None:
        self._left = BEST_BYTES

    def __call__(self, data: bytes) -> bytes:
        """A zlib stream (RFC 1950) of `data`. It is inflated again and compared: a fault here would lose content."""
        best = len(data) <= self._left
        if best:
            self._left -= len(data)
        made = bytes(deflate.zlib_compress(data, _BEST if best else _QUICK))
        if zlib.decompress(made) != data:
            raise PdfError(Code.FEATURE_LOST, "A stream came out different when it was deflated anew.")
        return made
