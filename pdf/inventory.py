"""What a reader relies on in a file, listed, so that two files can be compared: nothing may be lost on the way.

Structure is read with pikepdf, text with PDFium. Both files are read by the same code, so what it cannot see in one it
does not miss in the other.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pikepdf
import pypdfium2 as pdfium

from pdf.content.annotations import Annots, field_name, field_value, tree_entries
from pdf.content.painting import inherited
from pdf.errors import Code, PdfError
from pdf.inspect import number_list, open_source, page_rotation, signatures, text_of, walk_fields

Box = tuple[float, ...]
#: What `lost` lists of one kind before it only counts.
_SHOWN = 5


@dataclass(frozen=True)
class PageFacts:
    """One page: boxes in points of user space, rotation, text without white space (hashed, with its length), and its
    annotations as (subtype, rectangle in whole points, where it leads)."""

    media: Box
    crop: Box
    rotation: int
    unit: float
    text: str
    characters: int
    annotations: list[tuple[str, Box, str]]


@dataclass(frozen=True)
class Inventory:
    """A file's features. Counters are dictionaries from a description to how often it occurs."""

    pages: list[PageFacts]
    outlines: list[tuple[int, str, int]]
    destinations: dict[str, int]
    fields: dict[str, str]
    attachments: dict[str, str]
    page_labels: list[tuple[int, str]]
    metadata: dict[str, str]
    language: str
    tagged: bool
    elements: int
    layers: list[str]
    signed: bool
    javascript: int
    viewer: dict[str, str] = field(default_factory=dict)


def take(path: Path, *, texts: bool = True) -> Inventory:
    """List the features of a file. With `texts` each page's text is read as well (about 2 ms a page).

    Raises PdfError as `open_source` does, and SOURCE_DAMAGED when PDFium cannot read a file whose text is wanted.
    """
    with open_source(path) as pdf:
        read = _texts(path) if texts else {}
        annots = Annots(pdf)
        pages = [_page(pdf, annots, number, read) for number in range(len(pdf.pages))]
        root = pdf.Root
        acroform = root.get("/AcroForm")
        fields = walk_fields(acroform) if isinstance(acroform, pikepdf.Dictionary) else []
        return Inventory(
            pages=pages,
            outlines=_outlines(root, annots),
            destinations=_destinations(annots),
            fields=_fields(fields),
            attachments=_attachments(pdf),
            page_labels=_labels(root),
            metadata=_metadata(pdf),
            language=text_of(root.get("/Lang")),
            tagged=isinstance(root.get("/StructTreeRoot"), pikepdf.Dictionary),
            elements=_elements(root),
            layers=_layers(root),
            signed=signatures(root, fields)[0],
            javascript=_scripts(root),
            viewer=_viewer(root),
        )


def lost(before: Inventory, after: Inventory) -> list[str]:
    """What the second file lacks of the first, a sentence each; nothing when nothing is lost."""
    out: list[str] = []
    if len(before.pages) != len(after.pages):
        return [f"{len(before.pages)} pages became {len(after.pages)}"]
    for what, differ in (
        ("the page boxes", lambda a, b: not (_near(a.media, b.media) and _near(a.crop, b.crop) and a.unit == b.unit)),
        ("the rotation", lambda a, b: a.rotation != b.rotation),
        ("the text", lambda a, b: a.text != b.text),
    ):
        pages = [n for n, (a, b) in enumerate(zip(before.pages, after.pages, strict=True), 1) if differ(a, b)]
        if pages:
            out.append(f"{what} of page {', '.join(map(str, pages[:_SHOWN]))} differ{'s' if len(pages) == 1 else ''}")
    missing: Counter[str] = Counter()
    for a, b in zip(before.pages, after.pages, strict=True):
        for kind, count in (Counter(_links(a)) - Counter(_links(b))).items():
            missing[kind[0]] += count
    out += [f"{count} {kind} annotations are lost or lead elsewhere" for kind, count in sorted(missing.items())]
    listed: tuple[tuple[str, Counter[object], Counter[object]], ...] = (
        ("outline entries", Counter(before.outlines), Counter(after.outlines)),
        ("named destinations", Counter(before.destinations.items()), Counter(after.destinations.items())),
        ("form fields", Counter(before.fields.items()), Counter(after.fields.items())),
        ("attachments", Counter(before.attachments.items()), Counter(after.attachments.items())),
        ("page labels", Counter(before.page_labels), Counter(after.page_labels)),
        ("layers", Counter(before.layers), Counter(after.layers)),
        ("metadata entries", Counter(before.metadata.items()), Counter(after.metadata.items())),
        ("viewer preferences", Counter(before.viewer.items()), Counter(after.viewer.items())),
    )
    for what, first, second in listed:
        gone = first - second
        if gone:
            out.append(f"{sum(gone.values())} {what} are lost, such as {next(iter(gone))!r}"[:200])
    if before.language and before.language != after.language:
        out.append("the language is lost")
    if before.tagged and (not after.tagged or after.elements < before.elements):
        out.append(f"structure is lost: {before.elements} elements became {after.elements}")
    if before.javascript > after.javascript:
        out.append("scripts are lost")
    if before.signed and not after.signed:
        out.append("the signature is lost")
    return out


def _near(a: Box, b: Box) -> bool:
    return len(a) == len(b) and all(abs(x - y) < 0.01 for x, y in zip(a, b, strict=True))


def _links(page: PageFacts) -> list[tuple[str, Box, str]]:
    return page.annotations


def _texts(path: Path) -> dict[int, tuple[str, int]]:
    """Page → (digest of its text without white space, its length)."""
    try:
        document = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        raise PdfError(Code.SOURCE_DAMAGED, f"PDFium cannot read the file: {error}.") from error
    out = {}
    with document:
        for number in range(len(document)):
            try:
                page = document[number]
            except pdfium.PdfiumError:
                out[number] = ("unreadable", 0)
                continue
            text_page = page.get_textpage()
            text = "".join(text_page.get_text_bounded().split())
            text_page.close()
            page.close()
            out[number] = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16], len(text))
    return out


def _page(pdf: pikepdf.Pdf, annots: Annots, number: int, texts: dict[int, tuple[str, int]]) -> PageFacts:
    page = pdf.pages[number]
    media = number_list(inherited(page.obj, "/MediaBox"), 4) or []
    crop = number_list(inherited(page.obj, "/CropBox"), 4) or media
    unit = page.obj.get("/UserUnit")
    try:
        scale = float(unit) if unit is not None else 1.0
    except (TypeError, ValueError):
        scale = 1.0
    found = []
    for annot in annots.read(page, lambda a, b, c, d: (a, b, c, d)):
        where = annot.uri or (f"page {annot.target + 1}" if annot.target >= 0 else "")
        what = f"{where}|{annot.contents}|{annot.name}" if annot.contents or annot.name else where
        found.append((annot.subtype, tuple(float(round(v)) for v in annot.box), what))
    text, characters = texts.get(number, ("", 0))
    return PageFacts(tuple(media), tuple(crop), page_rotation(page.obj), scale, text, characters, found)


def _outlines(root: pikepdf.Object, annots: Annots, most: int = 50_000) -> list[tuple[int, str, int]]:
    """(depth, title, page it leads to or -1) in reading order."""
    top = root.get("/Outlines")
    out: list[tuple[int, str, int]] = []
    seen: set[tuple[int, int]] = set()
    stack = [(0, top.get("/First"))] if isinstance(top, pikepdf.Dictionary) else []
    while stack and len(out) < most:
        depth, item = stack.pop()
        if not isinstance(item, pikepdf.Dictionary) or item.objgen in seen:
            continue
        seen.add(item.objgen)
        dest = item.get("/Dest")
        action = item.get("/A")
        if dest is None and isinstance(action, pikepdf.Dictionary):
            dest = action.get("/D")
        out.append((depth, text_of(item.get("/Title")), annots.resolve(dest)[0]))
        stack.append((depth, item.get("/Next")))
        stack.append((depth + 1, item.get("/First")))
    return out


def _destinations(annots: Annots) -> dict[str, int]:
    return {name: annots.resolve(pikepdf.String(name))[0] for name in annots._names()}


def _fields(fields: list[pikepdf.Object]) -> dict[str, str]:
    """Full name → type and value of every field that has a name."""
    out = {}
    for node in fields:
        if "/T" not in node:
            continue
        value = field_value(node, "/V")
        shown = "" if value is None else "(object)" if isinstance(value, pikepdf.Dictionary) else str(value)
        out[field_name(node)] = f"{field_value(node, '/FT')} {shown}"[:500]
    return out


def _attachments(pdf: pikepdf.Pdf) -> dict[str, str]:
    """File name → digest of its content."""
    out = {}
    try:
        for name, spec in pdf.attachments.items():
            out[name] = hashlib.sha256(spec.get_file().read_bytes()).hexdigest()[:16]
    except (pikepdf.PdfError, ValueError, RuntimeError, KeyError):
        out["(unreadable)"] = ""
    return out


def _labels(root: pikepdf.Object) -> list[tuple[int, str]]:
    tree = root.get("/PageLabels")
    if not isinstance(tree, pikepdf.Dictionary):
        return []
    out: list[tuple[int, str]] = []
    for first, label in tree_entries(tree, "/Nums"):
        if isinstance(first, int) and isinstance(label, pikepdf.Dictionary):
            out.append((first, f"{label.get('/S', '')} {label.get('/P', '')} {label.get('/St', 1)}"))
    return sorted(out)


def _metadata(pdf: pikepdf.Pdf) -> dict[str, str]:
    """The document information without what a writer changes by itself, and whether there is an XMP packet."""
    info = pdf.trailer.get("/Info")
    out = {}
    if isinstance(info, pikepdf.Dictionary):
        for key, value in info.items():
            if key not in ("/Producer", "/ModDate") and isinstance(value, pikepdf.String | pikepdf.Name):
                out[key] = str(value)
    packet = pdf.Root.get("/Metadata")
    if isinstance(packet, pikepdf.Stream):
        try:
            out["XMP"] = hashlib.sha256(packet.read_bytes()).hexdigest()[:16]
        except (pikepdf.PdfError, ValueError):
            out["XMP"] = "unreadable"
    return out


def _elements(root: pikepdf.Object, most: int = 2_000_000) -> int:
    """How many structure elements there are, each counted once however the tree loops."""
    tree = root.get("/StructTreeRoot")
    if not isinstance(tree, pikepdf.Dictionary):
        return 0
    seen: set[tuple[int, int]] = set()
    stack = [tree.get("/K")]
    count = 0
    while stack and count < most:
        node = stack.pop()
        if isinstance(node, pikepdf.Array):
            stack.extend(node)
        elif isinstance(node, pikepdf.Dictionary) and "/S" in node:
            if node.objgen != (0, 0):
                if node.objgen in seen:
                    continue
                seen.add(node.objgen)
            count += 1
            stack.append(node.get("/K"))
    return count


def _layers(root: pikepdf.Object) -> list[str]:
    properties = root.get("/OCProperties")
    groups = properties.get("/OCGs") if isinstance(properties, pikepdf.Dictionary) else None
    if not isinstance(groups, pikepdf.Array):
        return []
    return sorted(text_of(group.get("/Name")) for group in groups if isinstance(group, pikepdf.Dictionary))


def _scripts(root: pikepdf.Object) -> int:
    names = root.get("/Names")
    tree = names.get("/JavaScript") if isinstance(names, pikepdf.Dictionary) else None
    return len(tree_entries(tree, "/Names")) if isinstance(tree, pikepdf.Dictionary) else 0


def _viewer(root: pikepdf.Object) -> dict[str, str]:
    out = {key: str(root.get(key)) for key in ("/PageMode", "/PageLayout") if isinstance(root.get(key), pikepdf.Name)}
    preferences = root.get("/ViewerPreferences")
    if isinstance(preferences, pikepdf.Dictionary):
        out |= {key: str(value) for key, value in preferences.items() if isinstance(value, pikepdf.Name | bool)}
    return out
