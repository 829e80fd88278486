"""Which fonts a document uses, and which character codes it shows with each (ISO 32000-1 9.4.3).

One regular expression runs over each content stream and stops only at what changes the font, the text rendering mode
or the graphics state stack, and at strings. Pages, form XObjects, tiling patterns, Type 3 glyphs and the appearances of
annotations are all looked into, each stream once for each set of resources.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pikepdf

from pdf.content import scanner
from pdf.content.painting import inherited
from pdf.streams import content, decoded

_W = rb"[\x00\t\n\x0c\r ]"
_R = rb"[^\x00\t\n\x0c\r ()<>\[\]{}/%]"
_STRING = rb"\(((?:[^()\\]++|\\.|\((?:[^()\\]++|\\.|\((?:[^()\\]++|\\.)*\))*\))*)\)"
_HEXED = rb"<[0-9A-Fa-f\x00\t\n\x0c\r ]*+>"
# Every alternative begins with a character of its own, so that the search runs over numbers and paths at full speed.
_TOKEN = re.compile(
    rb"\[((?:[^()\[\]<>%]++|" + _STRING.replace(rb"\(((", rb"\((?:(", 1) + rb"|" + _HEXED + rb")*)\]"  # 1
    + rb"|" + _STRING  # 2
    + rb"|<<"
    + rb"|<([0-9A-Fa-f\x00\t\n\x0c\r ]*+)>"  # 3
    + rb"|/(" + _R + rb"*+)(?:" + _W + rb"*+[-+.0-9]++" + _W + rb"*+(Tf)(?!" + _R + rb"))?"  # 4, 5
    + rb"|%[^\r\n]*+"
    + rb"".join(rb"|" + word + rb"(?!" + _R + rb")" for word in b"q Q BI Tr gs Do scn SCN".split()),
    re.DOTALL,
)  # fmt: skip
_PART = re.compile(_STRING + rb"|<([0-9A-Fa-f\x00\t\n\x0c\r ]*+)>", re.DOTALL)
_FLAT_PART = re.compile(rb"\(([^()]*)\)")
_DELIMITERS = b"\x00\t\n\x0c\r ()<>[]{}/%"
_DICT_PART = re.compile(rb"<<|>>|" + _STRING + rb"|<[0-9A-Fa-f\x00\t\n\x0c\r ]*+>|%[^\r\n]*+", re.DOTALL)
_ESCAPE = re.compile(rb"\\(\r\n|[0-7]{1,3}|.)", re.DOTALL)
_PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"\n": b"", b"\r": b"", b"\r\n": b""}
_MAX_DEPTH = 24
_INVISIBLE = 3


@dataclass
class FontUse:
    """A font and what is shown with it: the byte strings of the text-showing operators whose text is seen, and of those
    whose is not (text rendering mode 3), each once."""

    font: pikepdf.Object
    name: str
    seen: set[bytes] = field(default_factory=set)
    unseen: set[bytes] = field(default_factory=set)

    @property
    def strings(self) -> set[bytes]:
        return self.seen | self.unseen


def used_fonts(pdf: pikepdf.Pdf) -> list[FontUse]:
    """The fonts that show at least one character anywhere in the document, in the order of their first use."""
    return _Walk(pdf).run()


@dataclass
class _State:
    font: FontUse | None = None
    mode: int = 0


class _Walk:
    def __init__(self, pdf: pikepdf.Pdf) -> None:
        self.pdf = pdf
        self.uses: dict[tuple[int, int], FontUse] = {}
        self.done: set[tuple[tuple[int, int], tuple[int, int]]] = set()

    def run(self) -> list[FontUse]:
        for page in self.pdf.pages:
            resources = inherited(page.obj, "/Resources")
            resources = resources if isinstance(resources, pikepdf.Dictionary) else pikepdf.Dictionary()
            self.stream(content(page), resources, 0)
            self.annotations(page.obj)
        return [use for use in self.uses.values() if use.seen or use.unseen]

    def annotations(self, page: pikepdf.Object) -> None:
        annots = page.get("/Annots")
        if not isinstance(annots, pikepdf.Array):
            return
        for annot in annots:
            appearances = annot.get("/AP") if isinstance(annot, pikepdf.Dictionary) else None
            if not isinstance(appearances, pikepdf.Dictionary):
                continue
            for look in appearances.values():
                if isinstance(look, pikepdf.Stream):
                    self.form(look, pikepdf.Dictionary(), 1)
                elif isinstance(look, pikepdf.Dictionary):
                    for state in look.values():
                        if isinstance(state, pikepdf.Stream):
                            self.form(state, pikepdf.Dictionary(), 1)

    def form(self, form: pikepdf.Object, outer: pikepdf.Object, depth: int, state: _State | None = None) -> None:
        own = form.get("/Resources")
        resources = own if isinstance(own, pikepdf.Dictionary) else outer
        key = (form.objgen, resources.objgen if resources is outer else (0, 0))
        if key in self.done or depth > _MAX_DEPTH:
            return
        self.done.add(key)
        self.stream(decoded(form), resources, depth, state)

    def stream(self, data: bytes, resources: pikepdf.Object, depth: int, start: _State | None = None) -> None:
        fonts: dict[bytes, FontUse | None] = {}
        current = start.font if start else None
        mode = start.mode if start else 0
        shown = self.sink(current, mode)
        stack: list[tuple[FontUse | None, int]] = []
        name = b""
        at = 0
        search = _TOKEN.search
        while (found := search(data, at)) is not None:
            at = found.end()
            group = found.lastindex
            if group == 1:
                if shown is not None and (text := _array_text(found[1])):
                    shown.add(text)
            elif group == 2:
                if shown is not None and (text := found[2]):
                    shown.add(_unescape(text) if b"\\" in text or b"\r" in text else text)
            elif group == 3:
                if shown is not None and (text := _from_hex(found[3])):
                    shown.add(text)
            elif group == 4:
                name = found[4]
            elif group == 5:
                name = found[4]
                if name not in fonts:
                    fonts[name] = self.font(resources, name)
                current = fonts[name]
                shown = self.sink(current, mode)
            else:
                word = found[0]
                if word == b"<<":
                    at = _dictionary_end(data, at)
                    continue
                start_at = found.start()
                if word[0] == 0x25 or (start_at and data[start_at - 1] not in _DELIMITERS):
                    continue
                if word == b"q":
                    stack.append((current, mode))
                elif word == b"Q":
                    if stack:
                        current, mode = stack.pop()
                        shown = self.sink(current, mode)
                elif word == b"Tr":
                    before = data[max(start_at - 12, 0) : start_at].split()
                    mode = int(before[-1]) if before and before[-1].isdigit() else mode
                    shown = self.sink(current, mode)
                elif word == b"BI":
                    at = scanner.inline_image_end(data, at)
                elif word == b"Do":
                    self.xobject(resources, name, depth, _State(current, mode))
                elif word == b"gs":
                    changed = self.graphics_state(resources, name)
                    if changed is not None:
                        current = changed
                        shown = self.sink(current, mode)
                else:
                    self.pattern(resources, name, depth)

    def sink(self, use: FontUse | None, mode: int) -> set[bytes] | None:
        if use is None:
            return None
        return use.unseen if mode == _INVISIBLE else use.seen

    def font(self, resources: pikepdf.Object, raw: bytes) -> FontUse | None:
        fonts = resources.get("/Font")
        name = "/" + scanner.decode_name(raw)
        if not isinstance(fonts, pikepdf.Dictionary) or len(name) < 2:
            return None
        font = fonts.get(name)
        if not isinstance(font, pikepdf.Dictionary):
            return None
        if font.objgen == (0, 0):
            font = fonts[name] = self.pdf.make_indirect(font)
            font = fonts[name]
        return self.use(font)

    def use(self, font: pikepdf.Object) -> FontUse:
        key = font.objgen
        if key not in self.uses:
            self.uses[key] = FontUse(font, _font_name(font))
            if font.get("/Subtype") == pikepdf.Name.Type3:
                self.glyphs(font)
        return self.uses[key]

    def glyphs(self, font: pikepdf.Object) -> None:
        procedures = font.get("/CharProcs")
        if not isinstance(procedures, pikepdf.Dictionary):
            return
        resources = font.get("/Resources")
        if not isinstance(resources, pikepdf.Dictionary) or not ("/Font" in resources or "/XObject" in resources):
            return
        for procedure in procedures.values():
            self.stream(decoded(procedure), resources, 2)

    def xobject(self, resources: pikepdf.Object, name: bytes, depth: int, state: _State) -> None:
        xobjects = resources.get("/XObject")
        target = (
            xobjects.get("/" + scanner.decode_name(name)) if name and isinstance(xobjects, pikepdf.Dictionary) else None
        )
        if isinstance(target, pikepdf.Stream) and target.get("/Subtype") == pikepdf.Name.Form:
            self.form(target, resources, depth + 1, state)

    def pattern(self, resources: pikepdf.Object, name: bytes, depth: int) -> None:
        patterns = resources.get("/Pattern")
        target = (
            patterns.get("/" + scanner.decode_name(name)) if name and isinstance(patterns, pikepdf.Dictionary) else None
        )
        if isinstance(target, pikepdf.Stream):
            self.form(target, resources, depth + 1)

    def graphics_state(self, resources: pikepdf.Object, name: bytes) -> FontUse | None:
        states = resources.get("/ExtGState")
        state = states.get("/" + scanner.decode_name(name)) if name and isinstance(states, pikepdf.Dictionary) else None
        chosen = state.get("/Font") if isinstance(state, pikepdf.Dictionary) else None
        if isinstance(chosen, pikepdf.Array) and len(chosen) and isinstance(chosen[0], pikepdf.Dictionary):
            return self.use(chosen[0]) if chosen[0].objgen != (0, 0) else None
        return None


def _dictionary_end(data: bytes, at: int) -> int:
    """After the `>>` that closes the `<<` before `at`; strings inside are no text shown."""
    depth = 1
    while (found := _DICT_PART.search(data, at)) is not None:
        at = found.end()
        if found[0] == b"<<":
            depth += 1
        elif found[0] == b">>":
            depth -= 1
            if depth == 0:
                return at
    return len(data)


def _array_text(body: bytes) -> bytes:
    """The strings of a `TJ` array joined."""
    if b"\\" not in body and b"<" not in body and b"\r" not in body:
        flat = _FLAT_PART.findall(body)
        if len(flat) == body.count(b"("):
            return b"".join(flat)
    out = b""
    for part in _PART.finditer(body):
        out += _unescape(part[1]) if part.lastindex == 1 else _from_hex(part[2])
    return out


def _from_hex(digits: bytes) -> bytes:
    digits = digits.translate(None, b"\x00\t\n\x0c\r ")
    return bytes.fromhex((digits + b"0" if len(digits) % 2 else digits).decode("ascii"))


def _unescape(text: bytes) -> bytes:
    text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text
    return _ESCAPE.sub(_escaped, text)


def _escaped(found: re.Match[bytes]) -> bytes:
    what = found[1]
    if what in _PLAIN:
        return _PLAIN[what]
    if what[0] in b"01234567":
        return bytes([int(what, 8) & 255])
    return what


def _font_name(font: pikepdf.Object) -> str:
    base = font.get("/BaseFont")
    if not isinstance(base, pikepdf.Name):
        base = font.get("/Name")
    return str(base)[1:] if isinstance(base, pikepdf.Name) else "(no name)"
