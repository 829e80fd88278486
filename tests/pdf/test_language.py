"""Language: by script, by frequent words, by the model; of a document and of runs in it."""

from __future__ import annotations

import pytest

from pdf import language

ENGLISH = (
    "The reading room opens at nine and closes when the last reader has left the building, and it is used more than "
    "was thought by those who have to wait for a book that is on loan to another branch of the library."
)
GERMAN = (
    "Der Lesesaal wird um neun geöffnet und geschlossen, wenn der letzte Leser das Haus verlassen hat, und er wird "
    "mehr genutzt als man dachte, auch von denen, die auf ein Buch warten, das nicht im Haus ist."
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ENGLISH, "en"),
        (GERMAN, "de"),
        ("Бібліотека біля каналу відчиняється о дев'ятій і зачиняється, коли піде останній читач.", "uk"),
        ("Библиотека у канала открывается в девять и закрывается, когда уходит последний читатель.", "ru"),
        ("図書館は九時に開き、最後の読者が帰ると閉まります。", "ja"),
        ("运河边的分馆上午九点开门，等最后一位读者离开后才关门。", "zh"),
        ("도서관은 아홉 시에 문을 엽니다.", "ko"),
        ("הספרייה נפתחת בתשע", "he"),
        ("تفتح المكتبة أبوابها في التاسعة صباحا وتغلق عندما يغادر آخر قارئ", "ar"),
        ("Η βιβλιοθήκη ανοίγει στις εννέα", "el"),
        ("Pustaka ini dibuka pada pukul sembilan pagi dan ditutup ketika pembaca terakhir pulang.", "id"),
    ],
)
def test_detect(text: str, code: str) -> None:
    assert language.detect(text)[0] == code


def test_a_declared_region_is_kept_when_it_agrees_and_dropped_when_it_does_not() -> None:
    assert language.of_document([ENGLISH], "en-GB") == "en-GB"
    assert language.of_document([GERMAN] * 2, "en-US") == "de"
    assert language.of_document(["42"], "fr") == "fr"
    assert language.of_document([ENGLISH], "not a language!") == "en"
    assert language.of_document([], "") == "und"


def test_a_foreign_front_page_does_not_decide() -> None:
    assert language.of_document([GERMAN, *[ENGLISH] * 9]) == "en"


def test_runs() -> None:
    assert language.of_run(GERMAN, "en") == "de"
    assert language.of_run(ENGLISH, "en-GB") is None
    assert language.of_run("Zürich, Genève, São Paulo", "en") is None
    assert language.of_run("運河圖書館", "en") == "zh"
    assert language.of_run("12.5 %", "en") is None


def test_only_a_bounded_sample_is_read() -> None:
    assert len(language.spread([ENGLISH] * 1000, 500)) <= 500
    assert language.spread(["short"], 500) == "short"


def test_a_text_without_spaces_is_gone_through_once() -> None:
    """Six hundred thousand letters in one word: looked through from each of them, this would take minutes."""
    assert language.of_document(["ab" * 300_000])
