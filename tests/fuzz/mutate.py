"""Inputs near to what a parser understands: seeds with a few things in them changed, and words of its language."""

from __future__ import annotations

from hypothesis import strategies as st

_NUMBERS = (b"0", b"-1", b"1", b"65536", b"2147483648", b"-99999999999999999999", b"1e999", b"0.0000001", b".", b"--5")
#: A cut, a copy or an insertion is at most this long.
_LONGEST = 400


@st.composite
def changed(draw: st.DrawFn, seeds: tuple[bytes, ...], words: tuple[bytes, ...]) -> bytes:
    """A seed, or none, changed in up to eight places: flipped, cut, copied over and over, words and numbers put in."""
    data = draw(st.sampled_from((*seeds, b"")))
    for _ in range(draw(st.integers(0, 8))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, _LONGEST)))
        match draw(st.integers(0, 5)):
            case 0:
                data = data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
            case 1:
                data = data[:at] + data[end:]
            case 2:
                data = data[:at] + data[at:end] * draw(st.sampled_from((2, 3, 50))) + data[end:]
            case 3 if words:
                data = (
                    data[:at] + b" " + draw(st.sampled_from(words)) * draw(st.sampled_from((1, 1, 2, 500))) + data[at:]
                )
            case 4:
                data = data[:at] + draw(st.sampled_from(_NUMBERS)) + data[at:]
            case _:
                data = data[:at] + draw(st.binary(max_size=20)) + data[at:]
    return data
