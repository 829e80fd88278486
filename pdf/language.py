"""The language of a document and of its runs: the script decides first, then a model between languages of one script.

The model (py3langid, offline) is loaded once a process, and only when a script leaves the choice open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

#: Scripts of one living language (or one that is by far the likeliest): first code point, last, language.
_SCRIPTS: tuple[tuple[int, int, str], ...] = (
    (0x0370, 0x03FF, "el"),
    (0x1F00, 0x1FFF, "el"),
    (0x0400, 0x052F, "Cyrl"),
    (0x0530, 0x058F, "hy"),
    (0x0590, 0x05FF, "he"),
    (0x0600, 0x06FF, "Arab"),
    (0x0750, 0x077F, "Arab"),
    (0xFB1D, 0xFB4F, "he"),
    (0xFB50, 0xFDFF, "Arab"),
    (0xFE70, 0xFEFF, "Arab"),
    (0x0900, 0x097F, "Deva"),
    (0x0980, 0x09FF, "Beng"),
    (0x0A00, 0x0A7F, "pa"),
    (0x0A80, 0x0AFF, "gu"),
    (0x0B00, 0x0B7F, "or"),
    (0x0B80, 0x0BFF, "ta"),
    (0x0C00, 0x0C7F, "te"),
    (0x0C80, 0x0CFF, "kn"),
    (0x0D00, 0x0D7F, "ml"),
    (0x0D80, 0x0DFF, "si"),
    (0x0E00, 0x0E7F, "th"),
    (0x0E80, 0x0EFF, "lo"),
    (0x1000, 0x109F, "my"),
    (0x10A0, 0x10FF, "ka"),
    (0x1100, 0x11FF, "ko"),
    (0x1200, 0x137F, "am"),
    (0x1780, 0x17FF, "km"),
    (0x3040, 0x30FF, "ja"),
    (0x3130, 0x318F, "ko"),
    (0x3400, 0x9FFF, "Hani"),
    (0xAC00, 0xD7AF, "ko"),
    (0xF900, 0xFAFF, "Hani"),
)

#: Where a script serves several languages: those the model may choose between.
_CHOICES: dict[str, tuple[str, ...]] = {
    "Cyrl": ("ru", "uk", "bg", "sr", "mk", "be", "kk", "ky", "mn"),
    "Arab": ("ar", "fa", "ur", "ps", "ug"),
    "Deva": ("hi", "mr", "ne"),
    "Beng": ("bn", "as"),
    "Latn": (
        "af", "az", "br", "bs", "ca", "cs", "cy", "da", "de", "en", "eo", "es", "et", "eu", "fi", "fo", "fr", "ga",
        "gl", "hr", "ht", "hu", "id", "is", "it", "jv", "ku", "la", "lb", "lt", "lv", "mg", "ms", "mt", "nb", "nl",
        "nn", "no", "oc", "pl", "pt", "qu", "ro", "rw", "se", "sk", "sl", "sq", "sv", "sw", "tl", "tr", "uz", "vi",
        "vo", "wa", "xh", "zu",
    ),
}  # fmt: skip
#: What the model answers to lists of names and numbers: believed of long texts only.
_RARE = frozenset(
    ("br", "eo", "fo", "ht", "jv", "ku", "la", "lb", "mg", "oc", "qu", "rw", "se", "tl", "vo", "wa", "xh", "zu")
)
_LIKELIEST = {"Cyrl": "ru", "Arab": "ar", "Deva": "hi", "Beng": "bn", "Hani": "zh"}

#: Words that stand in every text of a language and seldom in others: they settle most documents without the model.
_FREQUENT: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": "the of and to is that for with are this by be was not from which have or as it you will their",
        "de": "der die und den von zu das mit sich des auf ist im dem nicht ein eine für werden als auch es wird bei",
        "fr": "le les des et la du une est dans qui que pour pas sur au par avec sont ce il plus ou aux cette",
        "es": "el los las y del que por para una con su al lo como más pero sus este está se es entre sobre",
        "it": "il di che è per un della dei con non sono le alla nel più gli anche dal delle questo si dell'",
        "pt": "o os do da em não uma para com ao dos das que por mais como pelo pela são à também ou ser",
        "nl": "de het een van en dat niet zijn op te voor met aan er om ook als bij worden naar wordt deze of uit",
        "sv": "och att det som en på är av för med den till inte om ett har de kan från vi eller vid",
        "pl": "i w na z się nie do to jest że o jak przez od po dla które oraz może są lub być",
        "cs": "a v se na je že s z do to ve pro jako by jsou nebo které od které k při podle",
        "fi": "ja on ei että se oli hän myös mutta ovat kun tai joka mukaan olla sekä voi niin",
        "hu": "a az és hogy nem egy is ez van meg csak mint vagy volt lehet kell azt minden",
        "tr": "ve bir bu için ile olarak da de olan daha çok gibi en kadar sonra ya her veya",
    }.items()
}

#: No more than this many characters are asked about at once.
SAMPLE = 4000
#: A run shorter than this many letters keeps the document's language unless its script differs.
RUN = 60
_NOISE = re.compile(r"https?://\S+|(?<!\S)\S+@\S+|[\d\W_]+")


def scripts(text: str) -> dict[str, int]:
    """How many letters of a text belong to which script (a language code where a script has one; Latn; Hani)."""
    counts: dict[str, int] = {}
    if text.isascii():
        n = sum(map(str.isalpha, text))
        return {"Latn": n} if n else {}
    for char in text:
        if not char.isalpha():
            continue
        code = ord(char)
        found = "Latn"
        if code >= 0x370:
            found = next((name for low, high, name in _SCRIPTS if low <= code <= high), "Latn")
        counts[found] = counts.get(found, 0) + 1
    return counts


def main_script(text: str) -> str:
    """The script of most letters; Japanese as soon as kana are a twentieth of them. Empty without letters."""
    counts = scripts(text)
    if not counts:
        return ""
    total = sum(counts.values())
    if counts.get("ja", 0) > 0.05 * total and counts.get("ja", 0) + counts.get("Hani", 0) > 0.4 * total:
        return "ja"
    if counts.get("ko", 0) > 0.2 * total and counts.get("ko", 0) + counts.get("Hani", 0) > 0.4 * total:
        return "ko"
    return max(counts, key=lambda k: (counts[k], k))


@lru_cache(maxsize=1)
def model() -> Any:
    """The statistical model; loading it takes most of the time it ever takes. Call once where processes are forked."""
    from py3langid.langid import LanguageIdentifier

    return LanguageIdentifier.from_model_file("data/model.npz.xz", norm_probs=True)


@lru_cache(maxsize=8)
def _columns(script: str) -> tuple[tuple[int, str], ...]:
    wanted = set(_CHOICES.get(script, ()))
    return tuple((i, name) for i, name in enumerate(model().nb_classes) if name in wanted)


def detect(text: str) -> tuple[str, float]:
    """(language, confidence 0 to 1) of a text; ("", 0) when it has no letters. Looks at `SAMPLE` characters at most."""
    text = text[:SAMPLE]
    script = main_script(text)
    if not script:
        return "", 0.0
    if script not in _CHOICES:
        return _LIKELIEST.get(script, script), 1.0
    words = _NOISE.sub(" ", text).strip()
    if words.isupper():
        words = words.lower()
    if script == "Latn":
        known = frequent(words)
        if known:
            return known, 1.0
    if len(words) < 3:
        return _LIKELIEST.get(script, ""), 0.0
    columns = _columns(script)
    scores = model()._decide(words)
    if script == "Latn" and len(words) < 600:
        columns = tuple(c for c in columns if c[1] not in _RARE)
    best = max(columns, key=lambda c: float(scores[c[0]]))
    total = sum(float(scores[i]) for i, _ in columns)
    return _norwegian(best[1]), float(scores[best[0]]) / total if total > 0 else 0.0


def frequent(words: str) -> str:
    """The language whose frequent words a text is full of, where there is no doubt; else ""."""
    counts = Counter(words.lower().split())
    total = counts.total()
    if total < 25:
        return ""
    hits = sorted(((sum(counts[w] for w in known), code) for code, known in _FREQUENT.items()), reverse=True)
    (best, code), (second, _) = hits[0], hits[1]
    distinct = sum(1 for w in _FREQUENT[code] if counts[w])
    return code if best >= 0.14 * total and distinct >= 5 and best > 2 * second else ""


def _norwegian(code: str) -> str:
    return "nb" if code == "no" else code


def of_document(texts: Sequence[str], declared: str = "") -> str:
    """The language of a document from its texts, evenly sampled.

    A declared language (a BCP 47 tag) is kept when it agrees with the text (with its region), or when the text is too
    little to contradict it. "und" only when nothing is known."""
    sample = spread(texts, SAMPLE)
    found, sure = detect(sample)
    declared = declared if re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*", declared) else ""
    base = declared.split("-")[0].lower()
    if declared and (base == found or {base, found} <= {"no", "nb", "nn"}):
        return declared
    letters = sum(scripts(sample).values())
    if declared and (not found or sure < 0.6 or letters < 200):
        return declared
    few = len(set(_NOISE.sub(" ", sample).lower().split())) < 15 and main_script(sample) == "Latn"
    if not found or few or (sure < 0.8 and letters < 200):
        # too little to tell: what most documents are in, rather than a guess that is read aloud in a strange voice
        return declared or ("en" if found or letters else "und")
    return found


def of_run(text: str, document: str) -> str | None:
    """The language of a stretch of text where it is another than the document's, else None.

    A foreign script is enough; in Latin letters the stretch must be long and full of another language's frequent words,
    since a wrong language read aloud is worse than none.
    """
    base = document.split("-")[0].lower()
    if text.isascii() and len(text) < RUN and base not in _NOT_LATIN:
        return None
    counts = scripts(text)
    letters = sum(counts.values())
    if letters < 3:
        return None
    script = main_script(text)
    if script not in _CHOICES:
        found = _LIKELIEST.get(script, script)
        if found == base or (found == "zh" and base in ("ja", "ko") and letters < 40):
            return None
        return found
    if script == "Latn" and letters < RUN:
        # names and abbreviations in a text of another script say little
        return "en" if base in _NOT_LATIN and letters >= 12 and counts["Latn"] > 0.9 * letters else None
    if script == "Latn":
        found = frequent(_NOISE.sub(" ", text))
        return found if found and found != base else None
    return detect(text)[0] or None if base not in _CHOICES[script] else None


#: Languages of documents in which Latin letters are foreign.
_NOT_LATIN = frozenset(
    re.findall(
        r"\w+",
        "el hy he ar fa ur ps ug hi mr ne bn as pa gu or ta te kn ml si th lo my ka ko am km ja zh "
        "ru uk bg sr mk be kk ky mn",
    )
)


def spread(texts: Iterable[str], size: int) -> str:
    """About `size` characters of texts, taken evenly over all of them, so that a foreign front page does not decide."""
    kept = [t for t in texts if t]
    total = sum(map(len, kept))
    if total <= size:
        return " ".join(kept)
    share = size / total
    out: list[str] = []
    debt = 0.0
    for text in kept:
        debt += len(text) * share
        if debt >= 40:
            out.append(text[: int(debt) + 1])
            debt -= len(out[-1])
    return " ".join(out)[:size]
