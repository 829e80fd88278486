"""The sample documents: what they are called, how each is made, and how the platform must end with each.

A sample whose source is a Typst file in ``sources/`` has a *twin*: the same pages, tagged by Typst to PDF/UA-1 from the
same source. The sample goes to the platform untagged; its twin says what the roles of its text really are.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pikepdf
import pypdfium2
import typst
from PIL import Image

from tests.corpus.fields import add_fields
from tests.corpus.plain import letter

SOURCES = Path(__file__).parent / "sources"


@dataclass(frozen=True)
class Sample:
    """One sample: the end it must come to (``status``), why where it is refused (``code``), the source of its twin."""

    name: str
    make: Callable[[Path], None]
    status: str = "published"
    code: str | None = None
    lane: str = "fast"
    source: str | None = None
    needs_fonts: tuple[str, ...] = ()


def compiled(source: str, target: Path, *, tagged: bool) -> None:
    """Typeset ``sources/<source>.typ``: tagged, to PDF/UA-1 (ISO 14289-1); untagged, without any structure."""
    typst.compile(
        SOURCES / f"{source}.typ",
        output=target,
        root=SOURCES,
        pdf_standards=["ua-1"] if tagged else [],
        pdf_tags=tagged,
        timestamp=0,
    )


def plain(source: str) -> Callable[[Path], None]:
    return lambda target: compiled(source, target, tagged=False)


def form(target: Path) -> None:
    """The application form: typeset boxes with AcroForm fields laid over them."""
    compiled("form", target, tagged=False)
    found = json.loads(typst.query(SOURCES / "form.typ", "<field>", field="value", root=SOURCES))
    add_fields(target, found)


def handout(target: Path) -> None:
    """A file that comes in already tagged, and well."""
    compiled("article", target, tagged=True)


def scan(target: Path) -> None:
    """Two pages as a scanner leaves them: a picture a page, and not one character of text."""
    source = io.BytesIO(typst.compile(SOURCES / "article.typ", root=SOURCES, timestamp=0))
    with pypdfium2.PdfDocument(source) as document:
        pages: list[Image.Image] = [
            document[i].render(scale=100 / 72, grayscale=True).to_pil() for i in range(min(2, len(document)))
        ]
    pages[0].save(target, "PDF", save_all=True, append_images=pages[1:], resolution=100)


def encrypted(target: Path) -> None:
    """A file nobody can open without its password."""
    compiled("slides", target, tagged=False)
    with pikepdf.open(target, allow_overwriting_input=True) as pdf:
        pdf.save(target, encryption=pikepdf.Encryption(user="not-told", owner="not-told-either"))


def damaged(target: Path) -> None:
    """The first half of a file, as a broken transfer leaves it: its catalog is gone."""
    compiled("article", target, tagged=False)
    target.write_bytes(target.read_bytes()[: target.stat().st_size // 2])


def text(target: Path) -> None:
    """A text file that somebody called .pdf."""
    target.write_text("Dear reader,\nthis is a letter and no PDF.\n", encoding="utf-8")


SAMPLES: tuple[Sample, ...] = (
    Sample("report.pdf", plain("report"), source="report"),
    Sample("article.pdf", plain("article"), source="article"),
    Sample("form.pdf", form, source="form"),
    Sample("slides.pdf", plain("slides"), source="slides"),
    Sample("manual.pdf", plain("manual"), lane="long", source="manual"),
    Sample("chinese.pdf", plain("chinese"), source="chinese", needs_fonts=("Noto Sans CJK SC",)),
    Sample("arabic.pdf", plain("arabic"), source="arabic", needs_fonts=("DejaVu Sans",)),
    Sample("letter.pdf", letter),
    Sample("handout.pdf", handout, source="article"),
    Sample("scan.pdf", scan, status="refused", code="NEEDS_OCR"),
    Sample("encrypted.pdf", encrypted, status="refused", code="ENCRYPTED"),
    Sample("damaged.pdf", damaged, status="refused", code="SOURCE_DAMAGED"),
    Sample("text.pdf", text, status="refused", code="NOT_A_PDF"),
)


def missing_fonts(sample: Sample, families: Iterable[str]) -> list[str]:
    """The font families a sample needs and this machine lacks; such a sample is left out, and said to be."""
    return sorted(set(sample.needs_fonts) - set(families))


def _once(target: Path, make: Callable[[Path], None]) -> None:
    """Make ``target`` unless it is there; a maker that fails half-way leaves nothing behind."""
    if target.exists():
        return
    unfinished = target.with_suffix(".unfinished")
    make(unfinished)
    unfinished.replace(target)


def write(folder: Path, *, twins: bool = True) -> dict[str, list[str]]:
    """Make every sample in ``folder``, its tagged twins in ``folder/twins``, and ``expected.json``.

    Returns the samples left out, each with the font families that it lacks. Files that are there already are kept:
    a sample is made once, so that its bytes, and so its identity to the platform, stay what they are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "twins").mkdir(exist_ok=True)
    families = set(typst.Fonts().families())
    expected: dict[str, dict[str, str | None]] = {}
    left_out: dict[str, list[str]] = {}
    for sample in SAMPLES:
        if lacking := missing_fonts(sample, families):
            left_out[sample.name] = lacking
            continue
        _once(folder / sample.name, sample.make)
        if twins and sample.source is not None:
            _once(folder / "twins" / sample.name, partial(compiled, sample.source, tagged=True))
        expected[sample.name] = {"status": sample.status, "code": sample.code, "lane": sample.lane}
    (folder / "expected.json").write_text(json.dumps(expected, indent=2) + "\n", encoding="utf-8")
    return left_out
