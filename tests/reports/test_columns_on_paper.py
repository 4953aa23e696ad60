"""How wide columns are on paper: numbers whole, long texts with few lines, small letters measured as small."""

from math import ceil
from typing import Any

from reports.page.columns import WIDTH, ems, measure

REASON = "Each side with the grid and PUE of its own region: describes the places, never a verdict. " * 2


def table(*rows: tuple[str, ...], heads: tuple[str, ...]) -> dict[str, Any]:
    """A table of texts; a head that ends with # is of numbers, and its unit is in the small letters that units have."""

    def cell(text: str, *, is_head: bool = False) -> dict[str, Any]:
        runs = [{"text": text.rstrip("#"), "style": ""}]
        if is_head and text.endswith("#"):
            runs.append({"text": " number", "style": "quiet"})
        return {"runs": runs, "is_number": text.endswith("#"), "span": 1}

    return {
        "head": [{"cells": [cell(head, is_head=True) for head in heads]}],
        "body": [{"cells": [cell(text) for text in row]} for row in rows],
    }


def lines_of(measured: dict[str, Any], row: tuple[str, ...]) -> int:
    """How many lines a row takes at the widths that were given."""
    rooms = [(width - measured["gap"]) / measured["size"] for width in measured["columns"]]
    return max(ceil(ems(text) / room) for text, room in zip(row, rooms, strict=True))


def test_a_long_reason_gets_the_room_that_a_name_beside_it_saves_no_line_with() -> None:
    rows = [("Location-based per 1M useful tokens", "chip", "0.846 (0.816-0.876)", REASON)] * 9
    measured = measure(table(*rows, heads=("Figure", "View", "Ratio#", "Reason")))
    assert sum(measured["columns"]) <= WIDTH + 1
    name, _, ratio, reason = measured["columns"]
    assert reason > 3 * name and ratio >= ems("0.846 (0.816-0.876)") * measured["size"]
    assert lines_of(measured, rows[0]) <= 4


def test_a_unit_in_small_letters_takes_less_room_than_the_same_word_in_the_size_of_the_table() -> None:
    small = measure(table(("1",), heads=("Pairs#",)))["columns"]
    plain = table(("1",), heads=("Pairs#",))
    plain["head"][0]["cells"][0]["runs"][1]["style"] = ""
    assert small < measure(plain)["columns"]


def test_a_table_that_has_room_gives_each_column_what_it_wants() -> None:
    measured = measure(table(("Trainium", "881"), heads=("Platform", "Cost#")))
    assert measured["size"] == 7.6 and sum(measured["columns"]) < WIDTH / 2
