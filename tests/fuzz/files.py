"""Whole files with something in them changed, through the tag engine: a code and a sentence, never an error of ours."""

from __future__ import annotations

import random
import re
import tempfile
import time
from pathlib import Path

import pikepdf

from pdf.base import Base, make_base
from pdf.errors import Code, PdfError
from pdf.sandbox import Limits, Sandbox
from pdf.tag import Tagged, tag
from tests.corpus.samples import compiled
from tests.pdf.test_inventory import rich

LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=1024)
_TOKEN = re.compile(rb"/[A-Za-z]\w*|-?\d+(?:\.\d+)?|\d+ \d+ R|<[0-9a-f]*>|\([^()]*\)|<<|>>|\[|\]|endobj|stream")
_INSTEAD = (
    b"null", b"0", b"-1", b"99999999999", b"1e9", b"<<>>", b"[]", b"(x)", b"<>", b"true", b"/X", b"1 0 R", b"2 0 R",
    b"3 0 R", b"9999 0 R", b"[1 0 R]", b"<</Kids [1 0 R]>>", b"<", b">>", b"", b"/Name/Name", b"0.0000000000000001",
)  # fmt: skip


def seeds(folder: Path) -> list[bytes]:
    """Files in a form where a token is a token: no object streams, nothing deflated."""
    out = []
    for name in ("article", "form", "report"):
        for tagged in (False, True):
            compiled(name, folder / "seed.pdf", tagged=tagged)
            out.append(_plain(folder / "seed.pdf"))
    out.append(_plain(rich(folder / "rich.pdf")))
    return out


def _plain(path: Path) -> bytes:
    target = path.with_name("plain.pdf")
    with pikepdf.open(path) as pdf:
        pdf.save(
            target,
            object_stream_mode=pikepdf.ObjectStreamMode.disable,
            stream_decode_level=pikepdf.StreamDecodeLevel.generalized,
            compress_streams=False,
            static_id=True,
        )
    return target.read_bytes()


def damaged(data: bytes, dice: random.Random) -> bytes:
    """One to six tokens replaced by others, of the file or of none; now and then a stretch cut or written twice."""
    for _ in range(dice.randint(1, 6)):
        tokens = list(_TOKEN.finditer(data))
        if not tokens:
            return data
        found = dice.choice(tokens)
        if dice.random() < 0.15:
            end = min(len(data), found.start() + dice.randint(1, 3000))
            data = data[: found.start()] + dice.choice((b"", 2 * data[found.start() : end])) + data[end:]
        else:
            other = dice.choice((dice.choice(_INSTEAD), dice.choice(tokens)[0]))
            data = data[: found.start()] + other + data[found.end() :]
    return data


def damaged_files(number: int, keep: Path, seconds: float) -> tuple[int, str]:
    """Damaged files for some seconds: (how many, what was found)."""
    dice = random.Random(number)
    until = time.monotonic() + seconds
    count, found = 0, ""
    with tempfile.TemporaryDirectory() as name, Sandbox(LIMITS) as sandbox:
        folder = Path(name)
        plain = seeds(folder)
        while time.monotonic() < until:
            data = damaged(dice.choice(plain), dice)
            path = folder / "damaged.pdf"
            path.write_bytes(data)
            count += 1
            problem = trouble(path, folder, sandbox, thorough=count % 4 == 0)
            if problem:
                kept = keep / f"files-{number}-{count}.pdf"
                kept.write_bytes(data)
                found += f"files: {kept}\n{problem}\n"
    return count, found


def trouble(path: Path, folder: Path, sandbox: Sandbox, *, thorough: bool) -> str:
    """What is wrong with how a file is taken: an error of ours, or one that took all it may; empty for none."""
    try:
        made: Tagged | Base
        if thorough:
            made = sandbox.call(make_base, path, folder / "base.pdf", thorough=True).value
        else:
            made = sandbox.call(tag, path, folder / "out").value
    except PdfError as error:
        if error.code in (Code.TOOL_TIMEOUT, Code.OUT_OF_MEMORY, Code.CHILD_KILLED):
            return f"{error.code}: {error.message}"
        if error.code is Code.TOOL_FAILED and "program itself" in error.message:
            return error.message
        return "" if error.message else f"{error.code} without a sentence"
    return "" if made else "nothing was made"
