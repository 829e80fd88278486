"""What the parsers we own may be given, and what they may then do: answer, or refuse in the one way they say they do.

A target takes bytes and raises for a finding. `SEEDS` are what each understands, `WORDS` what its language is made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from pathlib import Path

import pikepdf
from pikepdf import Dictionary, Name

from assets.stage import title_of
from jobs.intake import job_of
from pdf import header
from pdf.content import painting, scanner
from pdf.errors import Code, PdfError
from pdf.fonts import cmaps
from pdf.fonts.repair import repair_fonts
from pdf.fonts.subset import subset_fonts
from pdf.fonts.usage import used_fonts
from pdf.layout import labels
from pdf.tagging import marks, ops
from pdf.tagging.tree import Tree, check
from pdf.tools.verapdf import VeraFailed, read_report
from resources.queues import ObjectCreated, parse_s3_event, parse_verify_message
from resources.values import document_id
from tests.pdf.fonts import made

Target = Callable[[bytes], None]
BASE = "0" * 64


def content(data: bytes) -> None:
    """Content streams: operators lie in order inside the data; any stream can be marked anew."""
    end = 0
    for op in scanner.operators(data, fonts=True):
        assert end <= op.start <= op.at < op.end <= len(data)
        end = op.end
    stream = painting.scan(data)

    def begin(label: Hashable) -> bytes:
        return b"/P <</MCID %d>>" % (label if isinstance(label, int) else 0)

    parts: list[marks.Parts] = [((0, 1, n % 3),) if n % 4 else () for n in range(len(stream.paints))]
    painting.scan(marks.marked(stream, parts, begin))


def shown(data: bytes) -> None:
    """Content streams: which fonts show what."""
    with pikepdf.new() as pdf:
        page = pdf.add_blank_page()
        page.obj.Resources = Dictionary(Font=Dictionary(F1=made.standard("Helvetica")(pdf)))
        page.obj.Contents = pdf.make_stream(data)
        for use in used_fonts(pdf):
            assert use.strings


def cmap(data: bytes) -> None:
    """CMaps: what was read is read again from what is written of it."""
    found = cmaps.parse(data)
    for code, size in found.split(data[:64]):
        assert 0 <= code < 256**size
    texts = {key: text for key, text in found.texts.items() if text and key[1] in (1, 2)}
    if texts and len({size for _, size in texts}) == 1:
        assert cmaps.parse(cmaps.to_unicode(texts)).texts == texts


def program(data: bytes) -> None:
    """Font programs of every kind, repaired and subset: what cannot be read stays as it is."""
    kinds = (("FontFile2", "TrueType", ""), ("FontFile3", "Type1", "Type1C"), ("FontFile", "Type1", ""))
    for key, subtype, kind in kinds:
        with pikepdf.new() as pdf:
            page = pdf.add_blank_page()
            font = made.embedded("F", data, key, subtype=subtype, kind=kind)(pdf)
            page.obj.Resources = Dictionary(Font=Dictionary(F1=font))
            page.obj.Contents = pdf.make_stream(b"BT /F1 9 Tf (AB) Tj ET")
            subset_fonts(pdf)
            repair_fonts(pdf)


def log(data: bytes) -> None:
    """Op logs: applied, or refused with a code; a tree that has taken ops is still a tree."""
    tree = Tree(2, lambda _: (6, 2))
    for number, line in enumerate(data.splitlines()):
        try:
            tree.apply(ops.parse(line, f"line {number}").op)
        except PdfError as error:
            assert error.message and len(error.message) < 1000
            if error.code is Code.OP_REFUSED:
                return  # replay ends at the first op that is refused, and its tree with it
    try:
        check(tree)
    except PdfError:
        return
    for element in tree.byid.values():
        assert element is tree.root or element in list(element.parent.elements())  # type: ignore[union-attr]


def s3_event(data: bytes) -> None:
    """S3's events, and the keys in them."""
    try:
        text = data.decode()
        events = parse_s3_event(text)
    except ValueError:
        return
    for event in events:
        assert isinstance(event, ObjectCreated)
        key(event.key.encode())


def key(data: bytes) -> None:
    """S3 keys: every key has a document, a job and a title, and the store can hold them."""
    text = data.decode(errors="replace")
    assert len(document_id("bucket", text)) == 36
    for depth in (0, 1, 3):
        job = job_of(f"incoming/{text}", depth)
        job.encode()
    title_of(text).encode()


def verify_message(data: bytes) -> None:
    """What asks for a verification."""
    try:
        found = parse_verify_message(data.decode())
    except ValueError:
        return
    assert found.docId and found.version > 0


def head(data: bytes) -> None:
    """The first bytes of an upload: a sentence, or nothing."""
    assert isinstance(header.problem(data), str)


def report(data: bytes) -> None:
    """veraPDF's XML."""
    for code in (0, 1):
        try:
            assert read_report(data, code).compliant == (code == 0)
        except VeraFailed:
            continue


def label(data: bytes) -> None:
    """What a line of text begins with."""
    found = labels.find(data.decode(errors="replace"))
    if found is not None:
        labels.numbering(found)
        assert found.text


def xmp(data: bytes) -> None:
    """A metadata packet in a file that is inspected."""
    from pdf.inspect import _metadata_title

    with pikepdf.new() as pdf:
        pdf.Root.Metadata = pdf.make_stream(data, Type=Name.Metadata, Subtype=Name.XML)
        assert isinstance(_metadata_title(pdf), str)


def _font(key: str) -> bytes:
    for path in sorted(Path("/usr/share/fonts").rglob(key)):
        return path.read_bytes()[:60_000]
    return b""


def _record(seq: int, op: object) -> bytes:
    row = {"v": 1, "seq": seq, "opId": f"op{seq}", "author": "engine/1", "baseHash": BASE, "op": op}
    return json.dumps(row).encode()


_EVENT = {
    "Records": [
        {
            "eventName": "ObjectCreated:Put",
            "s3": {"bucket": {"name": "b"}, "object": {"key": "incoming/a+b.pdf", "size": 5, "versionId": "v"}},
        }
    ]
}
_LOG = b"\n".join(
    (
        _record(1, {"type": "document", "title": "T", "lang": "en"}),
        _record(2, {"type": "add", "nodes": [{"id": "a", "role": "P", "kids": [{"p": 0, "o": [0, 2]}]}]}),
        _record(3, {"type": "add", "nodes": [{"id": "b", "role": "Sect", "kids": [{"id": "c", "role": "H1"}]}]}),
        _record(4, {"type": "move", "node": "a", "parent": "b"}),
        _record(5, {"type": "merge", "nodes": ["a", "c"]}),
        _record(6, {"type": "remove", "node": "b"}),
    )
)
_XML = (
    b'<report><jobs><job><validationReport profileName="PDF/UA-1 validation profile" isCompliant="false"><details>'
    b'<rule clause="7.1" testNumber="8" status="failed" failedChecks="2"><description>x</description><check><context>'
    b"root/pages[3]</context></check></rule></details></validationReport></job></jobs></report>"
)
_CONTENT = (
    b"q 1 0 0 1 9 9 cm /P <</MCID 0>> BDC BT /F1 9 Tf (a\\)b) Tj [(c) -20 <64>] TJ ET EMC Q 0 0 9 9 re f /X Do\n"
    b"BI /W 2 /H 2 /BPC 8 /CS /G ID abcd EI /Span /MC0 BDC (x) ' 1 2 (y) \" EMC BX /Sh sh EX % comment\n",
    b"BT 3 Tr /F1 1 Tf <0001> Tj ET /Artifact BMC 1 1 m 2 2 l S EMC BI /F /Fl /W 9 /H 9 ID x\x9c EI\nEI Q ((())) Tj",
)

TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        *(content, shown, cmap, program, log, s3_event, key),
        *(verify_message, head, report, label, xmp),
    )
}
SEEDS: dict[str, tuple[bytes, ...]] = {
    "content": _CONTENT,
    "shown": _CONTENT,
    "cmap": (made.unicode_map(("0001", "0041"), ("0002", "D83DDE00")), b"1 begincidrange <00> <ff> 3 endcidrange"),
    "program": tuple(filter(None, (_font("*Mono-Regular.ttf"), _font("*.pfb"), _font("*.t1"), _font("*.otf")))),
    "log": (_LOG,),
    "s3_event": (json.dumps(_EVENT).encode(), b'{"Event": "s3:TestEvent"}'),
    "key": (b"incoming/a/b/c.pdf", "incoming/ü/名.PDF".encode(), b"incoming//.pdf", b"../../x.pdf"),
    "verify_message": (b'{"type": "tags-verify", "docId": "d", "version": 1}',),
    "head": (b"%PDF-1.7\n%\xe2\xe3", b"\x00" * 1024 + b"%PDF-", b"PK\x03\x04", b"<!DOCTYPE html>"),
    "report": (_XML,),
    "label": (b"1.2.3 Title", "• item".encode(), b"iv) text", b"(a) text", b"[12] Ref"),
    "xmp": (b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><title>t</title></x:xmpmeta>',),
}


def _words(text: str) -> tuple[bytes, ...]:
    return tuple(word.encode() for word in text.split())


_CONTENT_WORDS = """q Q BT ET BI ID EI Tj TJ ' " Do sh f S B* n re BDC BMC EMC DP MP ( ) < > << >> [ ] / % \\ Tf Tr
    /MCID /F /Fl /A85 BX EX 3 \0"""
_CMAP_WORDS = """begincodespacerange endcodespacerange beginbfchar endbfchar beginbfrange endbfrange begincidrange
    endcidrange usecmap /WMode < > [ ] <00> <ffff> 1 def"""
_LOG_WORDS = """"type":"add" "type":[] "type":"split" "node":"root" "id":"a" "kids":[] "at":3 "v":2 null true 1e999 -1
    { } [ ] ,"""
_EVENT_WORDS = """"key":5 "size":1e999 "size":"x" "version":true "Records":{} "\\ud800" null { } [ ] , %FF %00 +"""
WORDS: dict[str, tuple[bytes, ...]] = {
    "content": _words(_CONTENT_WORDS),
    "shown": _words(_CONTENT_WORDS),
    "cmap": _words(_CMAP_WORDS),
    "log": _words(_LOG_WORDS),
    "s3_event": _words(_EVENT_WORDS),
    "verify_message": _words(_EVENT_WORDS),
    "key": (b"/", b"//", b"..", b"\0", b"\xff", b".pdf", b" ", "\u202e".encode()),
    "report": (b"<!ENTITY a 'b'>", b"&a;", b'failedChecks="x"', b'testNumber="x"', b"<rule/>", b"pages[999999999999]"),
    "xmp": (b"<!ENTITY a 'b'>", b"&a;", b"</x:xmpmeta>", b"<x:xmpmeta>", b"\0"),
}
