"""The canonical digest: it follows the rows and nothing else."""

import hashlib

import duckdb
import pytest

from dagster_project.publishing.digest import table_digest


def table(
    rows: str, columns: str = "name varchar, usage_month date, cost decimal(38, 12), ratio double, seen_at timestamp, ok boolean"
):
    """A table marts.t with these rows in memory."""
    connection = duckdb.connect()
    connection.execute(f"create schema marts; create table marts.t ({columns})")
    connection.execute(f"insert into marts.t values {rows}")
    return connection


ONE = "('a', date '2026-04-01', 1.5, 0.1, timestamp '2026-04-01 00:00:00.000001', true)"
TWO = "('b', date '2026-04-01', -0.000000000001, null, null, false)"
THREE = "('c', date '2026-05-01', 7, 2e300, null, null)"


def test_row_order_does_not_count() -> None:
    assert table_digest(table(f"{ONE}, {TWO}, {THREE}"), "marts", "t") == table_digest(
        table(f"{THREE}, {TWO}, {ONE}"), "marts", "t"
    )


def test_a_digit_at_the_twelfth_decimal_counts() -> None:
    changed = TWO.replace("-0.000000000001", "-0.000000000002")
    assert table_digest(table(TWO), "marts", "t").digest != table_digest(table(changed), "marts", "t").digest


def test_null_and_the_text_that_means_it_differ() -> None:
    null = table_digest(table("(null)", "name varchar"), "marts", "t")
    text = table_digest(table(r"('\N')", "name varchar"), "marts", "t")
    assert null.digest != text.digest


def test_a_tab_inside_a_text_is_no_column_border() -> None:
    one = table_digest(table("('a' || chr(9) || 'b', 'c')", "x varchar, y varchar"), "marts", "t")
    other = table_digest(table("('a', 'b' || chr(9) || 'c')", "x varchar, y varchar"), "marts", "t")
    assert one.digest != other.digest


def test_doubles_agree_to_nine_digits_and_minus_zero_is_zero() -> None:
    def of(value: str) -> str:
        return table_digest(table(f"({value}::double)", "x double"), "marts", "t").digest

    assert of("0.1") == of("0.1000000000001") != of("0.100000001")
    assert of("0.0") == of("-0.0")


def test_the_digest_is_what_sort_and_sha256_make_of_the_lines() -> None:
    found = table_digest(table(f"{THREE}, {TWO}, {ONE}"), "marts", "t")
    april = "a\t2026-04-01\t1.500000000000\t1.00000000e-01\t2026-04-01T00:00:00.000001\ttrue\n"
    april += "b\t2026-04-01\t-0.000000000001\t\\N\t\\N\tfalse"
    may = "c\t2026-05-01\t7.000000000000\t2.00000000e+300\t\\N\t\\N"
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in (april, may)]
    assert found.partitions == {"2026-04": (2, hashes[0]), "2026-05": (1, hashes[1])}
    head = "name\tusage_month\tcost\tratio\tseen_at\tok"
    whole = f"{head}\n2026-04\t2\t{hashes[0]}\n2026-05\t1\t{hashes[1]}"
    assert found.digest == hashlib.sha256(whole.encode()).hexdigest()


def test_an_empty_table_has_a_digest_of_its_columns() -> None:
    one = duckdb.connect()
    one.execute("create schema marts; create table marts.t (x varchar); create table marts.u (y varchar)")
    assert table_digest(one, "marts", "t").rows == 0
    assert table_digest(one, "marts", "t").digest != table_digest(one, "marts", "u").digest


def test_a_type_without_canonical_text_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="column m has type MAP"):
        table_digest(table("(map {'a': 1})", "m map(varchar, integer)"), "marts", "t")
