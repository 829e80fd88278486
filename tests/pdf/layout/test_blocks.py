"""Each kind of block, on a page made for it: what the engine makes of it, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

from pdf.layout import analyze
from pdf.tagging import alt, ops
from pdf.tagging.compose import compose
from tests.pdf.layout.paper import PROSE, Page, analyses, outline, write


def test_headings_by_size_and_weight_get_levels_without_a_gap(tmp_path: Path) -> None:
    page = Page().text(72, 780, "The canal library", 22, "b")
    page.lines(72, 740, PROSE).text(72, 680, "The building", 15, "b").lines(72, 655, PROSE)
    page.text(72, 600, "Heat", 12, "b").lines(72, 580, PROSE).text(72, 520, "Access", 15, "b").lines(72, 495, PROSE)
    assert [line for line in outline(write(tmp_path / "a.pdf", page)) if line.startswith("H")] == [
        "H1 The canal library",
        "H2 The building",
        "H3 Heat",
        "H2 Access",
    ]


def test_headings_that_look_alike_have_one_level_where_a_level_is_missing(tmp_path: Path) -> None:
    page = Page().text(72, 790, "The canal library", 24, "b").lines(72, 760, PROSE)
    for i, title in enumerate(["Heat", "Water", "Access"]):
        page.text(72, 690 - 80 * i, title, 12, "b").lines(72, 670 - 80 * i, PROSE)
    page.text(72, 440, "The garden", 18, "b").lines(72, 410, PROSE).text(72, 350, "Paths", 12, "b").lines(
        72, 330, PROSE
    )
    found = [line for line in outline(write(tmp_path / "a.pdf", page)) if line.startswith("H")]
    assert found == ["H1 The canal library", "H2 Heat", "H2 Water", "H2 Access", "H2 The garden", "H3 Paths"]


def test_numbers_say_how_deep_a_heading_is_even_where_the_look_is_one(tmp_path: Path) -> None:
    page = Page().text(72, 790, "A study of water", 20, "b").lines(72, 760, PROSE)
    for i, title in enumerate(["1 Method", "1.1 Instruments", "1.2 Places", "2 Results"]):
        page.text(72, 700 - i * 80, title, 13, "b").lines(72, 680 - i * 80, PROSE)
    assert [line for line in outline(write(tmp_path / "a.pdf", page)) if line.startswith("H")] == [
        "H1 A study of water",
        "H2 1 Method",
        "H3 1.1 Instruments",
        "H3 1.2 Places",
        "H2 2 Results",
    ]


def test_a_bold_word_in_a_sentence_is_no_heading(tmp_path: Path) -> None:
    page = Page().text(72, 780, "Warning", 11, "b").text(118, 780, "never step over the rail, since the water is deep.")
    page.lines(72, 740, PROSE)
    assert outline(write(tmp_path / "a.pdf", page))[0].startswith("P Warning never step")


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    page = Page()
    for i in range(12):  # painted across, as some producers do
        page.text(72, 760 - 14 * i, f"left line {i} with some words to fill the column", 9)
        page.text(320, 753 - 14 * i, f"right line {i} with some words to fill it too", 9)
    text = " ".join(outline(write(tmp_path / "a.pdf", page)))
    places = [text.index(f"left line {i} ") for i in range(12)] + [text.index(f"right line {i} ") for i in range(12)]
    assert places == sorted(places)


def test_label_and_body_are_parted_inside_one_painted_text(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE)
    page.text(90, 720, "1. Open the lock").text(90, 704, "2. Wait for the water").lines(72, 660, PROSE)
    assert outline(write(tmp_path / "a.pdf", page))[1:8] == [
        "L",
        "  LI",
        "    Lbl 1.",
        "    LBody Open the lock",
        "  LI",
        "    Lbl 2.",
        "    LBody Wait for the water",
    ]


def test_a_list_inside_an_item(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE)
    page.text(80, 720, "\u2022").text(92, 720, "Signs").text(100, 704, "-").text(112, 704, "at the door")
    page.text(100, 688, "-").text(112, 688, "at the lift").text(80, 672, "\u2022").text(92, 672, "Loops")
    made = outline(write(tmp_path / "a.pdf", page))
    assert made[1:] == [
        "L",
        "  LI",
        "    Lbl •",
        "    LBody Signs",
        "      L",
        "        LI",
        "          Lbl -",
        "          LBody at the door",
        "        LI",
        "          Lbl -",
        "          LBody at the lift",
        "  LI",
        "    Lbl •",
        "    LBody Loops",
    ]


def test_drawn_dots_are_bullets_with_a_text_to_read(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE)
    for i, word in enumerate(["Lift", "Loop", "Rail"]):
        page.box(76, 702 - 20 * i, 79, 705 - 20 * i).text(90, 700 - 20 * i, f"{word} of the house")
    path = write(tmp_path / "a.pdf", page)
    made = outline(path)
    assert [line.strip() for line in made if "Lbl" in line] == ["Lbl <path>"] * 3
    labels = [n for n in nodes(compose(analyses(path))) if n.role == "Lbl"]
    assert [n.actual for n in labels] == ["•"] * 3


def test_a_sentence_that_begins_with_a_number_is_no_item(tmp_path: Path) -> None:
    text = [
        "Rain fell on the town for three days, and the gauge at the bridge rose to",
        "24. That is the most that was ever seen, and nobody could cross the river on",
    ]
    page = Page().lines(72, 780, text)
    assert not any("Lbl" in line for line in outline(write(tmp_path / "a.pdf", page)))


def grid(page: Page, xs: list[float], ys: list[float]) -> Page:
    for x in xs:
        page.line(x, ys[0], x, ys[-1])
    for y in ys:
        page.line(xs[0], y, xs[-1], y)
    return page


def test_a_ruled_table_with_a_header_over_two_columns(tmp_path: Path) -> None:
    page = Page().lines(72, 800, PROSE)
    grid(page, [72, 172, 272, 372], [600, 620, 640])
    page.line(72, 640, 72, 680).line(372, 640, 372, 680).line(172, 640, 172, 680)
    page.line(72, 680, 372, 680).line(172, 660, 372, 660).line(272, 640, 272, 660)
    page.text(180, 666, "Loans", 10, "b").text(76, 666, "Group", 10, "b")
    page.text(180, 646, "2023", 10, "b").text(280, 646, "2024", 10, "b")
    page.text(76, 626, "Children").text(180, 626, "1,204").text(280, 626, "1,377")
    page.text(76, 606, "Adults").text(180, 606, "9,811").text(280, 606, "9,902")
    path = write(tmp_path / "a.pdf", page)
    assert outline(path)[1:] == [
        "Table",
        "  TR",
        "    TH Group",
        "    TH Loans",
        "  TR",
        "    TH 2023",
        "    TH 2024",
        "  TR",
        "    TH Children",
        "    TD 1,204",
        "    TD 1,377",
        "  TR",
        "    TH Adults",
        "    TD 9,811",
        "    TD 9,902",
    ]
    cells = {text(path, n): n for n in nodes(compose(analyses(path))) if n.role in ("TH", "TD")}
    group, loans, adults = (cells[k].attrs for k in ("Group", "Loans", "Adults"))
    assert group is not None and group.rowSpan == 2
    assert loans is not None and (loans.colSpan, loans.scope) == (2, "Column")
    assert adults is not None and adults.scope == "Row"


def test_a_table_without_lines(tmp_path: Path) -> None:
    page = Page().lines(72, 800, PROSE)
    rows = [("Quarter", "Loans", "Visits", "Days"), ("First", "401", "87", "61"), ("Second", "388", "90", "60")]
    for i, row in enumerate([*rows, ("Third", "412", "95", "64"), ("Fourth", "430", "99", "62")]):
        for x, cell in zip((72, 190, 280, 370), row, strict=True):
            page.text(x, 720 - 16 * i, cell, 10)
    made = outline(write(tmp_path / "a.pdf", page))
    assert made.count("  TR") == 5 and made[1] == "Table" and "    TH Loans" in made and "    TD 412" in made


def test_a_box_around_prose_and_a_label_beside_its_text_are_no_tables(tmp_path: Path) -> None:
    page = Page().box(60, 690, 540, 800, "S").lines(72, 780, PROSE)
    for i, (label, value) in enumerate([("Opened", "in spring"), ("Closed", "in the autumn")]):
        page.text(72, 640 - 16 * i, label).text(200, 640 - 16 * i, value)
    assert not any(line.strip().startswith("T") for line in outline(write(tmp_path / "a.pdf", page)))


def test_a_table_goes_on_over_the_page(tmp_path: Path) -> None:
    pages = []
    for number in range(2):
        page = Page()
        grid(page, [72, 200, 330], [80 if number == 0 else 680, *(float(y) for y in range(700, 800, 20))][::-1])
        for i in range(4):
            page.text(76, 766 - 20 * i, f"Row {number}{i}").text(210, 766 - 20 * i, f"{number}{i},5")
        pages.append(page)
    made = outline(write(tmp_path / "a.pdf", *pages))
    assert made.count("Table") == 1
    assert sum(line.strip() == "TR" for line in made) >= 8


def test_a_caption_is_tied_to_its_drawing_and_describes_it(tmp_path: Path) -> None:
    page = Page().lines(72, 800, PROSE)
    for i, height in enumerate((30, 80, 55)):
        page.box(150 + 50 * i, 600, 180 + 50 * i, 600 + height)
    page.text(120, 580, "Figure 1: Water led into the cistern by quarter", 9).lines(72, 540, PROSE)
    path = write(tmp_path / "a.pdf", page)
    assert outline(path)[1:3] == [
        "Figure <path> <path> <path>",
        "  Caption Figure 1: Water led into the cistern by quarter",
    ]
    figure = next(n for n in nodes(compose(analyses(path))) if n.role == "Figure")
    assert figure.alt == "Figure 1: Water led into the cistern by quarter" and not figure.waiting


def test_a_drawing_nobody_described_waits_and_says_so(tmp_path: Path) -> None:
    page = Page().lines(72, 800, PROSE)
    for i, height in enumerate((30, 80, 55)):
        page.box(150 + 50 * i, 600, 180 + 50 * i, 600 + height)
    figure = next(n for n in nodes(compose(analyses(write(tmp_path / "a.pdf", page)))) if n.role == "Figure")
    assert figure.waiting and alt.is_placeholder(figure.alt or "") and "page 1" in (figure.alt or "")


def test_notes_at_the_foot_with_their_marks(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE * 3).line(72, 110, 200, 110)
    page.text(72, 640, "Loans to schools").text(154, 644, "1", 6).text(162, 640, "rose by 10").text(215, 644, "3", 6)
    page.text(72, 98, "1", 5).text(76, 95, "Counted once, however many pupils read the book.", 8)
    made = outline(write(tmp_path / "a.pdf", page))
    assert made[1:3] == ["P Loans to schools rose by 10 3", "  Reference 1"]
    assert made[-2:] == ["Note Counted once, however many pupils read the book.", "  Lbl 1"]


def test_contents_with_and_without_leaders(tmp_path: Path) -> None:
    page = Page().text(72, 780, "Contents", 18, "b")
    for i, (title, number) in enumerate(
        [("Foreword", 3), ("Summary", 5), ("The year", 9), ("Accounts", 14), ("Thanks", 20)]
    ):
        page.text(72, 740 - 18 * i, title).text(520 - 6.12 * len(str(number)), 740 - 18 * i, str(number))
    made = outline(write(tmp_path / "a.pdf", page, Page().lines(72, 780, PROSE)))
    assert made[:3] == ["H1 Contents", "TOC", "  TOCI"] and made.count("  TOCI") == 5
    page = Page()
    for i in range(4):
        page.text(72, 740 - 18 * i, f"Chapter {i} " + "." * 60 + f" {i + 2}")
    assert outline(write(tmp_path / "b.pdf", page)).count("  TOCI") == 4


def test_running_heads_and_page_numbers_are_not_read(tmp_path: Path) -> None:
    pages = [
        Page().text(72, 810, "Annual report", 9).lines(72, 760, PROSE).text(290, 30, str(n + 1), 9) for n in range(4)
    ]
    path = write(tmp_path / "a.pdf", *pages)
    assert all(line.startswith("P The reading room") for line in outline(path))
    artifacts = [op for op in compose(analyses(path)) if isinstance(op, ops.Artifact)]
    assert {a.subtype for a in artifacts} == {"Header", "Footer"} and len(artifacts) == 8


def test_a_chapters_title_at_the_top_of_its_page_stays(tmp_path: Path) -> None:
    pages = [Page().text(72, 780, f"{n + 1} Chapter {'ABCD'[n]}", 16, "b").lines(72, 740, PROSE) for n in range(4)]
    assert sum(line.startswith("H1") for line in outline(write(tmp_path / "a.pdf", *pages))) == 4


def test_a_watermark_is_not_read(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE * 3).turned(150, 250, "DRAFT", 90, 0.7, 0.7)
    path = write(tmp_path / "a.pdf", page)
    assert not any("DRAFT" in line for line in outline(path))
    assert any(isinstance(op, ops.Artifact) and op.subtype == "Watermark" for op in compose(analyses(path)))


def test_a_link_holds_its_words_and_its_annotation(tmp_path: Path) -> None:
    page = Page().text(72, 780, "Write to the library at any time of the year.")
    page.link(72, 776, 96, 790, "https://example.org/write")
    made = outline(write(tmp_path / "a.pdf", page))
    assert made == ["P to the library at any time of the year.", "  Link Write <link>"]


def test_a_drop_cap_belongs_to_its_word(tmp_path: Path) -> None:
    page = Page().text(72, 742, "T", 42, "t")
    page.lines(
        104, 766, ["he reading room opens at nine and closes when the", "last reader has left the building for the"]
    )
    page.lines(72, 738.5, PROSE)
    first = outline(write(tmp_path / "a.pdf", page))[0]
    assert first.startswith("P T he reading room opens")


def test_a_hyphen_at_the_end_of_a_line_is_left_out_of_the_words(tmp_path: Path) -> None:
    page = Page().lines(72, 780, ["The library keeps its most valu-", "able books behind glass."])
    [analysis] = analyses(write(tmp_path / "a.pdf", page))
    assert "valuable books" in analysis.blocks[0].text


def test_a_page_that_is_turned_and_scaled_reads_the_same(tmp_path: Path) -> None:
    def draw(page: Page) -> Page:
        return page.text(72, 500, "The canal library", 22, "b").lines(72, 460, PROSE)

    plain = outline(write(tmp_path / "a.pdf", draw(Page())))
    assert outline(write(tmp_path / "b.pdf", draw(Page(rotate=90)))) == plain
    assert outline(write(tmp_path / "c.pdf", draw(Page(unit=2.0)))) == plain


def test_a_page_set_sideways_is_read_along_its_lines(tmp_path: Path) -> None:
    page = Page(842, 595)
    for i, line in enumerate(PROSE):
        page.turned(100 + 14 * i, 60, line, 11, 0, 1)
    assert outline(write(tmp_path / "a.pdf", page)) == ["P " + " ".join(PROSE)]


def test_code_is_told_by_its_fixed_pitch_unless_all_is(tmp_path: Path) -> None:
    page = Page().lines(72, 780, PROSE).text(72, 720, "print(loans / readers)", 10, "m").lines(72, 690, PROSE)
    assert outline(write(tmp_path / "a.pdf", page))[1] == "Code print(loans / readers)"
    typed = Page().lines(72, 780, PROSE, 10, "m")
    assert outline(write(tmp_path / "b.pdf", typed))[0].startswith("P The reading room")


def test_a_formula_has_a_text(tmp_path: Path) -> None:
    page = (
        Page().lines(72, 780, PROSE).raw("BT /r 11 Tf 250 720 Td (m = n \\367 4 \\261 2) Tj ET").lines(72, 690, PROSE)
    )
    path = write(tmp_path / "a.pdf", page)
    assert outline(path)[1] == "Formula m = n ÷ 4 ± 2"
    formula = next(n for n in nodes(compose(analyses(path))) if n.role == "Formula")
    assert formula.alt == "m = n ÷ 4 ± 2" and not formula.waiting


def test_a_link_in_a_running_head_stays_in_the_tree(tmp_path: Path) -> None:
    pages = [
        Page().text(72, 812, "example.org", 9).link(72, 810, 120, 822, "https://example.org").lines(72, 760, PROSE)
        for _ in range(3)
    ]
    assert sum("Link" in line and "<link>" in line for line in outline(write(tmp_path / "a.pdf", *pages))) == 3


def test_a_heading_that_comes_back_is_no_running_head(tmp_path: Path) -> None:
    titles = ["Results", "Results", "Places", "Thanks", "Sources"]
    pages = [Page(842, 474).text(72, 440, t, 30, "b").lines(72, 340, PROSE, 16) for t in titles]
    assert sum(line.startswith("H1") for line in outline(write(tmp_path / "a.pdf", *pages))) == 5


def test_an_empty_page_has_no_blocks(tmp_path: Path) -> None:
    [analysis] = analyze(write(tmp_path / "a.pdf", Page()), 0, 1)
    assert analysis.blocks == ()


def nodes(made: list[ops.Op]) -> list[ops.Node]:
    out: list[ops.Node] = []

    def take(node: ops.Node) -> None:
        out.append(node)
        for kid in node.kids:
            if isinstance(kid, ops.Node):
                take(kid)

    for op in made:
        if isinstance(op, ops.Add):
            for node in op.nodes:
                take(node)
    return out


def text(path: Path, node: ops.Node) -> str:
    """The text a node holds itself."""
    from pdf.page import PageReader

    with PageReader(path) as reader:
        out: list[str] = []
        for ref in node.kids:
            if isinstance(ref, ops.Ref) and ref.o is not None:
                page = reader.read(ref.p)
                out.extend(page.items[i].text for i in range(*ref.o))
    return " ".join(" ".join(out).split())
