"""Looking links up by place finds what asking each of them finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pdf.layout.links import Links, meets
from pdf.layout.model import Box

EDGE = st.floats(-50, 3000, allow_nan=False)
SIDE = st.one_of(st.floats(0, 60), st.floats(60, 2500))


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    x, y, w, h = draw(EDGE), draw(EDGE), draw(SIDE), draw(SIDE)
    return (x, y, x + w, y + h)


@given(st.lists(st.lists(boxes(), max_size=3), max_size=12), boxes())
def test_every_link_over_a_text_is_found_in_its_order(quads: list[list[Box]], text: Box) -> None:
    areas = list(enumerate(quads))
    assert Links(areas).over(text) == [a for a in areas if any(meets(text, q) for q in a[1])]
