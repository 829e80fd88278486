"""What PDF/UA-1 wants of the document as a whole: metadata, title, language, outlines, layers, attached files."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pikepdf
from pikepdf import Array, Dictionary, Name, Object, String

from pdf.content.annotations import tree_entries
from pdf.streams import decoded
from pdf.tagging.tree import Element

#: A document of this many pages gets bookmarks from its headings, if it has none.
OUTLINE_PAGES = 9
UNTITLED = "Untitled document"
#: XMP as it was before it was standardized: readers of today see none of it, so it is made anew from the document's
#: information dictionary.
_OLD_XMP = re.compile(rb"<rdf:Description[^>]*\sabout\s*=")


def complete(pdf: pikepdf.Pdf, title: str, lang: str) -> None:
    """Everything but the tree and the outlines. `lang` as in BCP 47; ``und`` where nobody knows it."""
    root = pdf.Root
    root.MarkInfo = Dictionary(Marked=True)
    root.Lang = String(lang or "und")
    preferences = root.get("/ViewerPreferences")
    if not isinstance(preferences, Dictionary):
        root.ViewerPreferences = Dictionary()
    root.ViewerPreferences.DisplayDocTitle = True
    _xmp(pdf, title or UNTITLED)
    _layers(root)
    _attachments(pdf)
    for page in pdf.pages:
        if "/Annots" in page.obj:
            page.obj.Tabs = Name.S  # ISO 14289-1 7.18.3


def _xmp(pdf: pikepdf.Pdf, title: str) -> None:
    """dc:title and the PDF/UA identification (ISO 14289-1 clause 5); what is there otherwise stays."""
    present = pdf.Root.get("/Metadata")
    if present is not None and (not isinstance(present, pikepdf.Stream) or _OLD_XMP.search(decoded(present))):
        del pdf.Root["/Metadata"]
        present = None
    with pdf.open_metadata(set_pikepdf_as_editor=False, update_docinfo=False) as metadata:
        if not present:
            metadata.load_from_docinfo(pdf.docinfo)
        metadata["dc:title"] = title
        metadata["pdfuaid:part"] = "1"


def _layers(root: Object) -> None:
    """Every configuration of optional content has a name and no automatic states (ISO 14289-1 7.10)."""
    properties = root.get("/OCProperties")
    if not isinstance(properties, Dictionary):
        return
    configurations = [properties.get("/D")]
    more = properties.get("/Configs")
    if isinstance(more, Array):
        configurations += list(more)
    for number, configuration in enumerate(configurations):
        if isinstance(configuration, Dictionary):
            if not str(configuration.get("/Name") or "").strip():
                configuration.Name = String("Layers" if number == 0 else f"Layers {number + 1}")
            if "/AS" in configuration:
                del configuration["/AS"]


def _attachments(pdf: pikepdf.Pdf) -> None:
    """File specifications of embedded files have /F and /UF (ISO 14289-1 7.11)."""
    names = pdf.Root.get("/Names")
    tree = names.get("/EmbeddedFiles") if isinstance(names, Dictionary) else None
    found = [value for _, value in tree_entries(tree, "/Names")] if isinstance(tree, Dictionary) else []
    for page in pdf.pages:
        annots = page.obj.get("/Annots")
        if isinstance(annots, Array):
            found += [a.FS for a in annots if isinstance(a, Dictionary) and "/FS" in a]
    for specification in found:
        if isinstance(specification, Dictionary) and "/EF" in specification:
            name = specification.get("/UF") or specification.get("/F") or String("attachment")
            for key in ("/F", "/UF"):
                if not str(specification.get(key) or "").strip():
                    specification[key] = name


def outlines(pdf: pikepdf.Pdf, headings: Sequence[tuple[Element, int]]) -> int:
    """Bookmarks from headings (element, page) for a long document without any; returns how many were made."""
    if len(pdf.pages) < OUTLINE_PAGES or _has_outlines(pdf.Root):
        return 0
    shown = [(element, page) for element, page in headings if element.title]
    if not shown:
        return 0
    top = pdf.make_indirect(Dictionary(Type=Name.Outlines))
    path: list[tuple[int, Object]] = [(0, top)]
    for element, page in shown:
        level = int(element.role[1:] or 1)
        while path[-1][0] >= level:
            path.pop()
        parent = path[-1][1]
        destination = Array([pdf.pages[page].obj, Name.XYZ, None, None, None])
        item = pdf.make_indirect(Dictionary(Title=String(element.title), Parent=parent, Dest=destination))
        if "/Last" in parent:
            item.Prev = parent.Last
            parent.Last.Next = item
        else:
            parent.First = item
        parent.Last = item
        path.append((level, item))
    # A positive count is what is shown when the document opens (ISO 32000-1 table 152): the first level only.
    _count(top, True)
    pdf.Root.Outlines = top
    return len(shown)


def _has_outlines(root: Object) -> bool:
    present = root.get("/Outlines")
    return isinstance(present, Dictionary) and "/First" in present


def _count(item: Object, opened: bool) -> None:
    kids = 0
    kid = item.get("/First")
    while kid is not None:
        kids += 1
        _count(kid, False)
        kid = kid.get("/Next")
    if kids:
        item.Count = kids if opened else -kids
