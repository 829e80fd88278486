"""Writing a document the one way that gives the same bytes for the same content."""

from __future__ import annotations

import errno
from pathlib import Path

import pikepdf

from pdf.errors import Code, PdfError


def save(
    pdf: pikepdf.Pdf,
    target: Path,
    *,
    linearize: bool = False,
    object_streams: bool = True,
) -> None:
    """Write with a file identifier that follows from the content, and with object streams (or as the source has them).

    What is deflated stays as it is. Raises PdfError DISK_FULL, SOURCE_DAMAGED when an object cannot be read.
    """
    if "/Size" not in pdf.trailer:
        # qpdf gives a trailer's /Size its value and does not add it; a file without cannot be read (ISO 32000-1 7.5.5).
        pdf.trailer.Size = 1
    mode = pikepdf.ObjectStreamMode.generate if object_streams else pikepdf.ObjectStreamMode.preserve
    try:
        pdf.save(
            target,
            object_stream_mode=mode,
            compress_streams=True,
            stream_decode_level=pikepdf.StreamDecodeLevel.generalized,
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
