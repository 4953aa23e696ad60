"""How a section of the contract that is done changes what is in force, on small invented contracts and on the real ones."""

from typing import Any

import pytest

from tests.contract import flat, in_force, read, sections_of
from tests.shared import SHARED, SHARED_REASON

BASE = {
    "enumerations": {"status": ["final"]},
    "tables": {"fct_a": {"key": ["x"], "columns": [["x text", "y money"], "z hours?"]}, "dim_b": {"key": ["b"]}},
}
MORE: dict[str, Any] = {
    "enumerations": {"status": ["final", "preliminary"], "verdict": ["yes"]},
    "words": {"note": "nothing changes"},
    "first": {
        "fct_a": {"key": ["x", "w"], "adds": ["w text", "v text"], "nullable": ["y"]},
        "dim_c": {"key": ["c"], "columns": ["c text"]},
    },
    "second": {"fct_a": {"note": "more rows"}},
    "third": {"enumerations": {"status": ["final", "preliminary", "void"]}},
}


def test_without_a_section_the_contract_is_what_it_was() -> None:
    assert in_force(BASE, MORE, []) == BASE


def test_a_section_that_is_done_brings_keys_columns_nulls_tables_and_enumerations() -> None:
    merged = in_force(BASE, MORE, ["words", "first", "second"])
    assert merged["tables"]["fct_a"] == {"key": ["x", "w"], "columns": ["x text", "w text", "y money?", "z hours?", "v text"]}
    assert merged["tables"]["dim_b"] == {"key": ["b"]}
    assert merged["tables"]["dim_c"] == {"key": ["c"], "columns": ["c text"]}
    assert merged["enumerations"] == {"status": ["final", "preliminary"], "verdict": ["yes"]}
    assert in_force(BASE, MORE, ["third"])["enumerations"]["status"] == ["final", "preliminary", "void"]
    assert BASE["tables"]["fct_a"]["key"] == ["x"]  # the file as it was read is left alone


def test_added_columns_of_the_key_have_its_order_and_others_come_last() -> None:
    change = {"adds": ["c text", "e text", "b text"], "key": ["a", "b", "c"]}
    base = {"enumerations": {}, "tables": {"t": {"key": ["a"], "columns": ["a text", "d text"]}}}
    merged = in_force(base, {"enumerations": {}, "one": {"t": change}}, ["one"])
    assert merged["tables"]["t"]["columns"] == ["a text", "b text", "c text", "d text", "e text"]


@pytest.mark.parametrize("change", [{"removes": ["y"]}, {"nullable": ["nobody"]}])
def test_a_word_that_would_be_passed_over_is_an_error(change: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=r"odd\.fct_a"):
        in_force(BASE, {"enumerations": {}, "odd": {"fct_a": change}}, ["odd"])


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_every_section_of_the_real_contract_can_be_merged() -> None:
    assert SHARED is not None
    base, more = read(SHARED)
    assert {"house", "door"} <= {*sections_of(more)}
    merged = in_force(base, more, sections_of(more))
    tables = merged["tables"]
    assert "no_record" in merged["enumerations"]["residual_reason"]
    assert "accelerator_type text" in flat(tables["fct_residual_costs"]["columns"])
    assert "payer_account_id text" in flat(tables["fct_prepaid"]["columns"])
    assert "opening_cost money?" in flat(tables["fct_prepaid"]["columns"])
    assert all(table["key"] for table in tables.values())
