"""What belongs together: notes and callers, captions, the parts of a chart, letters set apart, rows of a frame."""

from __future__ import annotations

from pathlib import Path

import pikepdf
from pikepdf import Array, Dictionary, Name

from pdf.layout.figures import Figure, united
from pdf.page import PageReader
from pdf.tagging.compose import compose
from tests.pdf.layout.paper import PROSE, Page, analyses, outline, show, write


def test_a_note_is_read_behind_the_paragraph_that_calls_it(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE[:2]).text(72, 740, "The lock is old", 11).text(143, 745, "1", 7)
    page.text(147, 740, " and its keeper is young, so that each of them needs the other.", 11)
    page.lines(72, 700, PROSE).lines(72, 640, PROSE)
    page.line(72, 120, 180, 120).text(72, 112, "1", 5).text(76, 108, "It was built by the town, as its papers say.", 8)
    made = outline(write(tmp_path / "a.pdf", page))
    at = next(i for i, line in enumerate(made) if line.startswith("Note"))
    assert "The lock is old" in made[at - 2] and made[at - 1].strip() == "Reference 1"
    assert made[at + 1].strip() == "Lbl 1" and made[at + 2].startswith("P The reading room")


def test_a_note_nobody_calls_stays_at_the_foot(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE).lines(72, 700, PROSE).line(72, 120, 180, 120)
    page.text(72, 112, "1", 5).text(76, 108, "It was built by the town, as its papers say.", 8)
    made = [line for line in outline(write(tmp_path / "a.pdf", page)) if not line.startswith(" ")]
    assert [line.split()[0] for line in made] == ["P", "P", "Note"]


def table(page: Page, x: float, top: float, rows: list[list[str]], rules: list[int], wide: float = 90) -> Page:
    """A framed table with a horizontal line above each row of `rules` and below the last."""
    columns = len(rows[0])
    for r in rules:
        page.line(x, top - 16 * r, x + wide * columns, top - 16 * r)
    for c in range(columns + 1):
        page.line(x + wide * c, top, x + wide * c, top - 16 * rules[-1])
    for r, row in enumerate(rows):
        for c, text in enumerate(row):
            if text:
                page.text(x + wide * c + 6, top - 16 * r - 12, text, 10)
    return page


def test_a_caption_below_its_table_is_its_last_child(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE)
    table(page, 72, 700, [["Year", "Visits", "Loans"], ["2019", "12", "4"], ["2020", "15", "7"]], [0, 1, 2, 3])
    page.text(72, 640, "Table 1. Visits and loans in two years.", 10).lines(72, 600, PROSE)
    made = outline(write(tmp_path / "a.pdf", page))
    inside = [line for line in made if line.startswith("  ") and not line.startswith("    ")]
    assert [line.split()[0] for line in inside] == ["TR", "TR", "TR", "Caption"]


def test_rows_that_no_line_parts_are_told_apart_by_their_figures(tmp_path: Path) -> None:
    rows = [["Year", "Visits", "Loans"], ["2019", "12", "4"], ["2020", "15", "7"], ["2021", "18", "9"]]
    page = table(Page().lines(72, 780, PROSE), 72, 700, rows, [0, 1, 4])
    page.text(110, 700 - 16 - 12, "*", 10)  # two pieces on one baseline of a cell
    made = outline(write(tmp_path / "a.pdf", page))
    assert [line for line in made if line.strip() == "TR"] == ["  TR"] * 4


def test_names_above_a_frame_are_its_first_row_and_an_empty_corner_makes_row_headers(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE)
    for c, name in enumerate(["Lift", "Loop", "Rail"]):
        page.text(72 + 90 * (c + 1) + 6, 703, name, 10)
    table(page, 72, 700, [["Place", "north", "south", "east"], ["Kind", "slow", "fast", "slow"]], [0, 1, 2])
    made = outline(write(tmp_path / "a.pdf", page))
    cells = [line.strip() for line in made if line.startswith("    ")]
    assert cells[:5] == ["TH", "TH Lift", "TH Loop", "TH Rail", "TH Place"]
    assert cells[5:] == ["TD north", "TD south", "TD east", "TH Kind", "TD slow", "TD fast", "TD slow"]


def test_the_upright_name_of_an_axis_is_in_its_figure(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE)
    for y in (570, 590, 610):
        page.raw(f"110 {y} m 140 {y + 20} l 170 {y + 5} l 200 {y + 40} l 230 {y + 10} l 260 {y + 30} l 290 {y} l S")
    page.turned(104, 580, "Visits a year", 9, 0, 1)
    made = outline(write(tmp_path / "a.pdf", page.lines(72, 480, PROSE)))
    assert [line for line in made if line.startswith("Figure")] == ["Figure <path> <path> <path> Visits a year"]


def test_figures_that_lie_over_one_another_are_one() -> None:
    chain = [Figure((0, 0, 50, 50), [1]), Figure((90, 0, 150, 50), [3]), Figure((40, 10, 100, 40), [2], images=1)]
    (one, alone) = united([*chain, Figure((151, 0, 160, 50), [4])])
    assert (one.box, sorted(one.items), one.images) == ((0, 0, 150, 50), [1, 2, 3], 1)
    assert alone.items == [4]


def test_the_lines_around_form_fields_are_no_figure(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE)
    page.raw("80 600 m 80 650 l 300 650 l 296 600 l S 190 600 m 192 650 l S").text(86, 638, "Name", 9)
    page.text(200, 638, "Town", 9)
    path = write(tmp_path / "a.pdf", page)
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        field = Dictionary(
            Type=Name.Annot, Subtype=Name.Widget, FT=Name.Tx, T=pikepdf.String("name"), Rect=Array([84, 604, 180, 630])
        )
        made = pdf.make_indirect(field)
        pdf.pages[0].obj.Annots = Array([made])
        pdf.Root.AcroForm = Dictionary(Fields=Array([made]))
        pdf.save(path)
    text = outline(path)
    assert not any(line.startswith("Figure") for line in text)
    assert any("Name" in line for line in text) and any("Town" in line for line in text)


def test_one_pointing_sign_is_a_remark_and_two_are_a_list(tmp_path: Path) -> None:
    def page(count: int) -> list[str]:
        made = Page().lines(72, 780, PROSE)
        for i in range(count):
            made.text(80, 720 - 16 * i, "\u2022", 11, "i").text(92, 720 - 16 * i, f"Please show paper number {i}", 11)
        path = write(tmp_path / "a.pdf", made.lines(72, 640, PROSE))
        with pikepdf.open(path, allow_overwriting_input=True) as pdf:
            sign = b"1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar <95> <25ba> endbfchar"
            pdf.pages[0].obj.Resources.Font.i.ToUnicode = pdf.make_stream(sign)  # it is read as "►"
            pdf.save(path)
        return outline(path)

    assert not any(line.startswith("L") for line in page(1))
    assert any(line == "L" for line in page(2))


def test_letters_set_apart_are_words(tmp_path: Path) -> None:
    tracked = " ".join(
        f"({c}) -200" if c != " " else "( ) -200" for c in "visits to the house in the year that was dry"
    )
    page = Page().raw(f"BT /b 9 Tf 72 760 Td [{tracked}] TJ ET").lines(72, 740, PROSE)
    path = write(tmp_path / "a.pdf", page)
    with PageReader(path) as reader:
        assert reader.read(0).items[0].text == "visits to the house in the year that was dry"
    assert outline(path)[0] == "P visits to the house in the year that was dry"


def test_letters_of_an_axis_stay_apart(tmp_path: Path) -> None:
    marks = " ".join(f"({n}) -900" for n in "123456789")
    path = write(tmp_path / "a.pdf", Page().raw(f"BT /r 9 Tf 72 760 Td [{marks}] TJ ET"))
    with PageReader(path) as reader:
        assert reader.read(0).items[0].text.split() == list("123456789")


def test_a_minus_of_a_formula_is_no_bullet(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE)
    for i in range(2):
        page.text(150, 720 - 20 * i, "\u2013", 11, "i").text(162, 720 - 20 * i, "alpha beta", 11)
    path = write(tmp_path / "a.pdf", page.lines(72, 660, PROSE))
    assert any("Lbl" in line for line in outline(path))
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        pdf.pages[0].obj.Resources.Font.i.BaseFont = Name("/ABCDEF+CMSY10")
        pdf.save(path)
    assert not any("Lbl" in line for line in show(path, compose(analyses(path))))
