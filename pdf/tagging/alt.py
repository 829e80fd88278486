"""The alternative text of a figure nobody has described yet: it says that it is a placeholder, and is known as one."""

from __future__ import annotations

from collections.abc import Iterable

#: Every placeholder begins with this, so that a check can count the figures that wait for a description.
PLACEHOLDER_PREFIX = "Figure without a description"

FORMULA_PREFIX = "Formula without a description"

#: Words painted inside a figure are kept in its placeholder up to this many characters: they are all a listener gets.
WORDS = 600


def placeholder(page: int, words: str = "") -> str:
    """The placeholder for a figure on page `page` (from 0); `words` are painted inside the figure."""
    words = " ".join(words.split())
    if len(words) > WORDS:
        words = words[:WORDS].rsplit(" ", 1)[0] + " …"
    text = f"{PLACEHOLDER_PREFIX}, page {page + 1}"
    return f"{text}. Words in it: {words}" if words else text


def formula(page: int) -> str:
    """The placeholder for a formula on page `page` (from 0) whose signs have no Unicode."""
    return f"{FORMULA_PREFIX}, page {page + 1}"


def is_placeholder(text: str) -> bool:
    """Whether an alternative text is a placeholder of ours: a person still has to describe the figure."""
    return text.startswith((PLACEHOLDER_PREFIX, FORMULA_PREFIX))


def waiting(texts: Iterable[str]) -> int:
    """How many of these alternative texts are placeholders."""
    return sum(map(is_placeholder, texts))
