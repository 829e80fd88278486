"""What a file is, before anything is done to it: whether it can be worked on at all, and the facts later stages need.

Cheap on purpose: it opens the file, walks the page list once and looks for text-showing operators, without rendering.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import pikepdf

from pdf import header
from pdf.content.painting import inherited
from pdf.errors import Code, PdfError
from pdf.names import mend_names
from pdf.scan import PageContent, look
from pdf.streams import Undecodable, read

#: A document whose pages are this much pictures without text is a scan, even if a cover sheet has text.
SCAN_SHARE = 0.8
#: What qpdf says when its repair could not bring everything back.
_LOSS = re.compile(r"treating stream as empty|EOF after endobj|unable to find trailer dictionary")


@dataclass(frozen=True)
class Inspection:
    """The facts of a source file. Sizes are (width, height) in points as a reader sees the page, one a page.

    `text_pages`, `scan_pages`, `blank_pages` are page numbers from 1: pages that show text, pages that are mainly a
    picture without text, pages with neither. `repaired`: the cross-reference was damaged and qpdf rebuilt it without
    loss. `usage_rights` are Adobe's Reader extensions, which end when the file is changed; `signed` is a person's
    signature. `javascript` only says that there are scripts: none is ever run.
    """

    size_bytes: int
    sha256: str
    pdf_version: str
    pages: int
    sizes: list[tuple[float, float]]
    has_text: bool
    text_pages: list[int]
    scan_pages: list[int]
    blank_pages: list[int]
    encrypted: bool
    signed: bool
    usage_rights: bool
    tagged: bool
    marked: bool
    forms: bool
    fields: int
    xfa: bool
    javascript: bool
    attachments: int
    title: str
    author: str
    language: str
    producer: str
    creator: str
    repaired: bool
    warnings: list[str]
    largest_page_points: float


def inspect(source: Path) -> Inspection:
    """Look at a file and say what it is.

    Raises PdfError: NOT_A_PDF, SOURCE_DAMAGED, ENCRYPTED, NO_PAGES, PORTFOLIO, DYNAMIC_XFA, NEEDS_OCR.
    """
    data_hash, size = _digest(source)
    _has_header(source)
    with open_source(source) as pdf:
        return _facts(pdf, size, data_hash)


def open_source(source: Path) -> pikepdf.Pdf:
    """Open a file, its names mended, turning every way in which that fails into a PdfError with the code for it."""
    try:
        pdf = pikepdf.open(source, suppress_warnings=True)
    except pikepdf.PasswordError as error:
        raise PdfError(Code.ENCRYPTED, "The file is encrypted and opens only with its password.") from error
    except pikepdf.PdfError as error:
        message = _plain(str(error), source)
        if "encrypt" in message.lower() or "security handler" in message.lower():
            raise PdfError(Code.ENCRYPTED, f"The file is encrypted in a way that needs a key: {message}.") from error
        raise PdfError(Code.SOURCE_DAMAGED, f"The file cannot be read: {message}.") from error
    except (ValueError, RuntimeError, OverflowError) as error:
        raise PdfError(Code.SOURCE_DAMAGED, f"The file cannot be read: {_plain(str(error), source)}.") from error
    try:
        if pdf.is_encrypted:
            raise PdfError(
                Code.ENCRYPTED,
                "The file opens without a password, but is encrypted to restrict what may be done with it. "
                "Save a copy without that protection and send it again.",
            )
        try:
            count = len(pdf.pages)
        except (pikepdf.PdfError, ValueError, RuntimeError) as error:
            raise PdfError(
                Code.SOURCE_DAMAGED, f"The list of pages cannot be read: {_plain(str(error), source)}."
            ) from error
        if count == 0:
            raise PdfError(Code.NO_PAGES, "The file has no pages.")
        mend_names(pdf)
    except PdfError:
        pdf.close()
        raise
    return pdf


def _digest(source: Path) -> tuple[str, int]:
    try:
        with source.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            return digest, stream.tell()
    except OSError as error:
        raise PdfError(Code.SOURCE_DAMAGED, f"The file cannot be read: {error.strerror}.") from error


def _has_header(source: Path) -> None:
    with source.open("rb") as stream:
        problem = header.problem(stream.read(header.HEAD_BYTES))
    if problem:
        raise PdfError(Code.NOT_A_PDF, problem)


def _plain(message: str, source: Path) -> str:
    """qpdf's words without the path, which means nothing to the reader."""
    return message.replace(f"{source}: ", "").replace(str(source), "the file").strip().rstrip(".")[:300]


def _facts(pdf: pikepdf.Pdf, size: int, digest: str) -> Inspection:
    root = pdf.Root
    acroform = root.get("/AcroForm")
    acroform = acroform if isinstance(acroform, pikepdf.Dictionary) else None
    xfa = acroform is not None and "/XFA" in acroform
    _refuse_containers(pdf, root, acroform)
    sizes: list[tuple[float, float]] = []
    kinds: dict[PageContent, list[int]] = {kind: [] for kind in PageContent}
    lost: list[int] = []
    why = ""
    for number, page in enumerate(pdf.pages, 1):
        sizes.append(_size(page.obj))
        kind = look(page)
        kinds[kind].append(number)
        if kind is not PageContent.TEXT and (reason := _content_lost(page.obj)):
            lost.append(number)
            why = why or reason
    warnings = [_plain(str(w), Path(pdf.filename or "-")) for w in pdf.get_warnings()][:20]
    if lost:
        raise PdfError(Code.SOURCE_DAMAGED, f"The file is damaged: content of {_pages(lost)} is lost; {why}.")
    for warning in warnings:
        if _LOSS.search(warning):
            raise PdfError(Code.SOURCE_DAMAGED, f"The file is damaged, and a part of it is lost: {warning}.")
    _refuse_scans(kinds, len(sizes))
    fields = walk_fields(acroform) if acroform is not None else []
    named = sum("/T" in field for field in fields)
    signed, rights = signatures(root, fields)
    info = _info(pdf)
    metadata = _metadata_title(pdf)
    mark = root.get("/MarkInfo")
    marked = isinstance(mark, pikepdf.Dictionary) and is_true(mark.get("/Marked"))
    tree = root.get("/StructTreeRoot")
    return Inspection(
        size_bytes=size,
        sha256=digest,
        pdf_version=pdf.pdf_version,
        pages=len(sizes),
        sizes=sizes,
        has_text=bool(kinds[PageContent.TEXT]),
        text_pages=kinds[PageContent.TEXT],
        scan_pages=kinds[PageContent.SCAN],
        blank_pages=kinds[PageContent.BLANK],
        encrypted=False,
        signed=signed,
        usage_rights=rights,
        tagged=isinstance(tree, pikepdf.Dictionary) and "/K" in tree,
        marked=marked,
        forms=named > 0,
        fields=named,
        xfa=xfa,
        javascript=_has_javascript(root),
        attachments=_attachments(pdf),
        title=metadata or info["/Title"],
        author=info["/Author"],
        language=text_of(root.get("/Lang")),
        producer=info["/Producer"],
        creator=info["/Creator"],
        repaired=any("recover" in w or "reconstruct" in w or "damaged" in w for w in warnings),
        warnings=warnings,
        largest_page_points=max(max(s) for s in sizes),
    )


def _refuse_containers(pdf: pikepdf.Pdf, root: pikepdf.Object, acroform: pikepdf.Object | None) -> None:
    if isinstance(root.get("/Collection"), pikepdf.Dictionary):
        raise PdfError(
            Code.PORTFOLIO,
            "The file is a portfolio: a wrapper around other files. Send the files inside it one by one.",
        )
    if acroform is not None and "/XFA" in acroform and _dynamic(pdf, root, acroform):
        raise PdfError(
            Code.DYNAMIC_XFA,
            "The file is a dynamic XFA form: its pages are drawn by Adobe's software alone, the PDF holds only a "
            "placeholder. Print it to PDF and send the result.",
        )


def _dynamic(pdf: pikepdf.Pdf, root: pikepdf.Object, acroform: pikepdf.Object) -> bool:
    """Whether the pages are a placeholder that an XFA processor replaces: the catalog says NeedsRendering (ISO 32000-1
    table 28), or the XFA says that rendering is required, and there is no AcroForm field to fall back on."""
    fields = acroform.get("/Fields")
    fallback = isinstance(fields, pikepdf.Array) and len(fields) > 0 and len(pdf.pages) > 0
    if is_true(root.get("/NeedsRendering")):
        return True
    return not fallback and b"<dynamicRender>required" in _xfa_packet(acroform.get("/XFA"), "config")


def _xfa_packet(xfa: pikepdf.Object | None, name: str) -> bytes:
    parts: list[pikepdf.Object] = []
    if isinstance(xfa, pikepdf.Stream):
        parts = [xfa]
    elif isinstance(xfa, pikepdf.Array):
        listed = list(xfa)
        parts = [b for a, b in zip(listed[::2], listed[1::2], strict=False) if str(a) == name]
    for part in parts:
        if isinstance(part, pikepdf.Stream):
            try:
                return bytes(part.read_bytes())
            except pikepdf.PdfError:
                continue
    return b""


def _refuse_scans(kinds: dict[PageContent, list[int]], pages: int) -> None:
    scans, texts = kinds[PageContent.SCAN], kinds[PageContent.TEXT]
    if not scans or len(scans) < SCAN_SHARE * (len(scans) + len(texts)):
        return
    what = "no page has text" if not texts else f"only {len(texts)} of {pages} pages have text"
    raise PdfError(
        Code.NEEDS_OCR,
        f"The file is a scan: {_pages(scans)} {'is' if len(scans) == 1 else 'are'} a picture and {what}. "
        "It needs character recognition before it can be made accessible.",
    )


def _pages(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"page {numbers[0]}"
    shown = ", ".join(map(str, numbers[:10]))
    return f"pages {shown}{f' and {len(numbers) - 10} more' if len(numbers) > 10 else ''}"


def _content_lost(page: pikepdf.Object) -> str:
    """Why content that the page names cannot be had: missing (qpdf reads such an object as null), or not decodable."""
    contents = page.get("/Contents")
    if contents is None:
        return ""
    parts = list(contents) if isinstance(contents, pikepdf.Array) else [contents]
    for part in parts:
        if not isinstance(part, pikepdf.Stream):
            return "it is missing"
        try:
            read(part)
        except Undecodable as error:
            return str(error)
    return ""


def number_list(value: object, count: int) -> list[float] | None:
    """An array of exactly `count` numbers, or None."""
    if not isinstance(value, pikepdf.Array) or len(value) != count:
        return None
    try:
        return [float(v) for v in value]
    except (TypeError, ValueError):
        return None


def page_box(page: pikepdf.Object) -> tuple[float, float, float, float]:
    """The crop box inside the media box (ISO 32000-1 14.11.2), normalized; US Letter where there is none."""
    media = number_list(inherited(page, "/MediaBox"), 4) or [0.0, 0.0, 612.0, 792.0]
    crop = number_list(inherited(page, "/CropBox"), 4) or media
    m = min(media[0], media[2]), min(media[1], media[3]), max(media[0], media[2]), max(media[1], media[3])
    c = min(crop[0], crop[2]), min(crop[1], crop[3]), max(crop[0], crop[2]), max(crop[1], crop[3])
    box = max(m[0], c[0]), max(m[1], c[1]), min(m[2], c[2]), min(m[3], c[3])
    return box if box[2] > box[0] and box[3] > box[1] else m


def page_rotation(page: pikepdf.Object) -> int:
    """0, 90, 180 or 270 degrees clockwise; other values count as 0, as viewers have it."""
    value = inherited(page, "/Rotate")
    return value % 360 if isinstance(value, int) and value % 90 == 0 else 0


def _size(page: pikepdf.Object) -> tuple[float, float]:
    x0, y0, x1, y1 = page_box(page)
    unit = page.get("/UserUnit")
    try:
        scale = float(unit) if unit is not None else 1.0
    except (TypeError, ValueError):
        scale = 1.0
    if not 0 < scale < 1e6:
        scale = 1.0
    size = round((x1 - x0) * scale, 2), round((y1 - y0) * scale, 2)
    return size if page_rotation(page) % 180 == 0 else (size[1], size[0])


def signatures(root: pikepdf.Object, fields: list[pikepdf.Object]) -> tuple[bool, bool]:
    """(a person's or an author's signature, Adobe's usage rights), `fields` as of `walk_fields`. ISO 32000-1 12.8."""
    permissions = root.get("/Perms")
    granted = permissions if isinstance(permissions, pikepdf.Dictionary) else pikepdf.Dictionary()
    rights = "/UR3" in granted or "/UR" in granted
    signed = "/DocMDP" in granted
    if not signed:
        signed = any(
            field.get("/FT") == pikepdf.Name.Sig and isinstance(field.get("/V"), pikepdf.Dictionary) for field in fields
        )
    return signed, rights


def walk_fields(acroform: pikepdf.Object, limit: int = 100_000) -> list[pikepdf.Object]:
    """Every node of the field tree, each once, whatever loops it has."""
    fields = acroform.get("/Fields")
    todo = list(fields) if isinstance(fields, pikepdf.Array) else []
    todo.reverse()
    seen: set[tuple[int, int]] = set()
    out: list[pikepdf.Object] = []
    while todo and len(out) < limit:
        field = todo.pop()
        if not isinstance(field, pikepdf.Dictionary):
            continue
        if field.objgen != (0, 0):
            if field.objgen in seen:
                continue
            seen.add(field.objgen)
        out.append(field)
        kids = field.get("/Kids")
        if isinstance(kids, pikepdf.Array):
            todo.extend(reversed(list(kids)))
    return out


def _has_javascript(root: pikepdf.Object) -> bool:
    names = root.get("/Names")
    if isinstance(names, pikepdf.Dictionary) and "/JavaScript" in names:
        return True
    action = root.get("/OpenAction")
    return "/AA" in root or (isinstance(action, pikepdf.Dictionary) and action.get("/S") == pikepdf.Name.JavaScript)


def _attachments(pdf: pikepdf.Pdf) -> int:
    try:
        return len(pdf.attachments)
    except (pikepdf.PdfError, ValueError, RuntimeError):
        return 0


def is_true(value: object) -> bool:
    """Whether an entry is the boolean true (pikepdf gives those as Python's)."""
    return value is True


def text_of(value: object) -> str:
    """A text string's characters; of anything else none."""
    return str(value).replace("\0", "").strip() if isinstance(value, pikepdf.String) else ""


def _info(pdf: pikepdf.Pdf) -> dict[str, str]:
    info = pdf.trailer.get("/Info")
    found = info if isinstance(info, pikepdf.Dictionary) else pikepdf.Dictionary()
    return {key: text_of(found.get(key)) for key in ("/Title", "/Author", "/Producer", "/Creator")}


def _metadata_title(pdf: pikepdf.Pdf) -> str:
    """dc:title of the XMP packet; a packet that is no XML has none."""
    packet = pdf.Root.get("/Metadata")
    if not isinstance(packet, pikepdf.Stream):
        return ""
    try:
        data = packet.read_bytes()
    except pikepdf.PdfError:
        return ""
    if b"title" not in data or len(data) > 1 << 22:
        return ""
    from xml.etree import ElementTree

    start, end = data.find(b"<x:xmpmeta"), data.rfind(b"</x:xmpmeta>")
    if start < 0 or end < 0 or b"<!ENTITY" in data:
        return ""
    try:
        tree = ElementTree.fromstring(data[start : end + len(b"</x:xmpmeta>")])
    except ElementTree.ParseError:
        return ""
    found = tree.find(".//{http://purl.org/dc/elements/1.1/}title//{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li")
    return (found.text or "").strip() if found is not None else ""
