"""Inline images whose data could be taken for their end become images of their own.

Where an inline image ends is a guess (ISO 32000-1 8.9.7 gives no length): its data may hold an ` EI ` that one reader
stops at and another does not. What follows is content to one and data to the other. As an XObject its end is known.
"""

from __future__ import annotations

import pikepdf
from pikepdf import Dictionary, Name

from pdf import streams
from pdf.content import scanner
from pdf.content.painting import inherited

#: Abbreviations in inline images (ISO 32000-1 tables 93 and 94).
_KEYS = {
    "/BPC": "/BitsPerComponent",
    "/CS": "/ColorSpace",
    "/D": "/Decode",
    "/DP": "/DecodeParms",
    "/F": "/Filter",
    "/H": "/Height",
    "/IM": "/ImageMask",
    "/I": "/Interpolate",
    "/W": "/Width",
}
_SPACES = {"/G": "/DeviceGray", "/RGB": "/DeviceRGB", "/CMYK": "/DeviceCMYK", "/I": "/Indexed"}
_FILTERS = {
    "/AHx": "/ASCIIHexDecode",
    "/A85": "/ASCII85Decode",
    "/LZW": "/LZWDecode",
    "/Fl": "/FlateDecode",
    "/RL": "/RunLengthDecode",
    "/CCF": "/CCITTFaxDecode",
    "/DCT": "/DCTDecode",
}


def mend_inline_images(pdf: pikepdf.Pdf) -> int:
    """Take such images out of the content of pages; returns how many."""
    count = 0
    for page in pdf.pages:
        data = streams.content(page)
        if data.count(b"EI") < 2:
            continue
        out: list[bytes] = []
        done = 0
        for op in scanner.operators(data):
            if op.name != b"BI" or not scanner.ends_early(data, op):
                continue
            image = _image(pdf, page, data, op)
            if image is not None:
                count += 1
                name = page.add_resource(image, Name.XObject, _free_name(page, count))
                out += [data[done : op.at], bytes(name.unparse()), b" Do"]
                done = op.end
        if out:
            page.obj.Contents = pdf.make_stream(b"".join([*out, data[done:]]))
    return count


def _free_name(page: pikepdf.Page, number: int) -> Name:
    """A name that no XObject of the page has; the same for the same file."""
    resources = inherited(page.obj, "/Resources")
    taken = resources.get("/XObject") if isinstance(resources, Dictionary) else None
    name = f"/Inline{number}"
    while isinstance(taken, Dictionary) and name in taken:
        name += "x"
    return Name(name)


def _image(pdf: pikepdf.Pdf, page: pikepdf.Page, data: bytes, op: scanner.Operator) -> pikepdf.Object | None:
    """The image as a stream; None for one that does not say what it is."""
    head, body = scanner.inline_image(data, op)
    try:
        said = pikepdf.Object.parse(b"<<" + head + b">>")
    except (pikepdf.PdfError, ValueError):
        return None
    if not isinstance(said, Dictionary):
        return None
    image = pdf.make_stream(body, Type=Name.XObject, Subtype=Name.Image)
    for key, value in said.items():
        name = _KEYS.get(key, key)
        if name == "/ColorSpace":
            value = _space(page, value)
        elif name == "/Filter":
            value = _each(value, _FILTERS)
        image[name] = value
    return image if "/Width" in image and "/Height" in image else None


def _each(value: pikepdf.Object, names: dict[str, str]) -> pikepdf.Object:
    """A name, or the names of an array, in full."""
    if isinstance(value, Name):
        return Name(names.get(str(value), str(value)))
    if isinstance(value, pikepdf.Array):
        return pikepdf.Array([_each(one, names) for one in value])
    return value


def _space(page: pikepdf.Page, value: pikepdf.Object) -> pikepdf.Object:
    """A colour space: one of the page's resources by its name, else in full."""
    resources = inherited(page.obj, "/Resources")
    listed = resources.get("/ColorSpace") if isinstance(resources, Dictionary) else None
    if isinstance(value, Name) and isinstance(listed, Dictionary) and str(value) in listed:
        found = listed.get(str(value))
        return value if found is None else found
    return _each(value, _SPACES)
