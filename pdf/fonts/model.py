"""What was done to the fonts of a file, and what could not be done."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class FontChange:
    """One change to one font. `kind`: embedded | unicode | widths | program | encoding | cid-map | cmap | cid-set |
    char-set | notdef. `visible`: pages may look different after it."""

    font: str
    kind: str
    detail: str
    visible: bool = False


@dataclass(frozen=True)
class FontFailure:
    """What still violates ISO 14289-1 `clause` (7.21…), and the Debian package that would mend it where one would."""

    font: str
    clause: str
    detail: str
    package: str | None = None


@dataclass(frozen=True)
class FontRepair:
    """The outcome for a file. `fonts` counts those that pages use. `pixel_changes_reason` is set when pages may look
    different (a font was put in), `text_changes_reason` when extracted text may (a character got its Unicode value)."""

    fonts: int
    changes: list[FontChange] = field(default_factory=list)
    failures: list[FontFailure] = field(default_factory=list)
    pixel_changes_reason: str | None = None
    text_changes_reason: str | None = None
