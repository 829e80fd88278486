"""Writing a document the one way that gives the same bytes for the same content."""

from __future__ import annotations

import errno
from pathlib import Path

import pikepdf

from pdf.errors import Code, PdfError


def save(pdf: pikepdf.Pdf, target: Path, *, linearize: bool = False, recompress: bool = False) -> None:
    """Write with object streams and a file identifier that follows from the content.

    `recompress` deflates what is deflated already once more, at the highest level. Raises PdfError DISK_FULL,
    SOURCE_DAMAGED when an object of the source cannot be read.
    """
    try:
        pdf.save(
            target,
            object_stream_mode=pikepdf.ObjectStreamMode.generate,
            compress_streams=True,
            stream_decode_level=pikepdf.StreamDecodeLevel.generalized,
            recompress_flate=recompress,
            linearize=linearize,
            deterministic_id=True,
            fix_metadata_version=False,
        )
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise PdfError(Code.DISK_FULL, "The disk is full.", retryable=True) from error
        raise
    except (pikepdf.PdfError, ValueError, RuntimeError) as error:
        raise PdfError(Code.SOURCE_DAMAGED, f"The file cannot be written again: {str(error)[:200]}.") from error
