"""trainledger.yaml, the clock and the failures: what a person gets wrong is named."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from dagster_project.base import clock
from dagster_project.base.failures import GateError, LockHeldError, SourceError, UsageError
from dagster_project.base.kinds import built_kinds
from dagster_project.landing.deriving.controls import asked_of
from dagster_project.settings import load_settings, settings_of

SOURCE = {"name": "cur", "kind": "aws_cur", "location": "./exports"}
METRICS = {"name": "metrics", "kind": "prometheus", "location": "prom://prometheus.example.com"}
TABLE = {"name": "bill", "kind": "gcp_billing", "location": "bq://acme-billing.exports.gcp_billing_export_resource_v1_1"}
DOCUMENT = {"organisation": {"name": "Example"}, "sources": [SOURCE]}


def checked(tmp_path: Path, **more: Any):
    return settings_of({**DOCUMENT, **more}, tmp_path / "trainledger.yaml")


def test_a_bill_that_is_never_paid_is_never_the_book(tmp_path: Path) -> None:
    [source] = checked(tmp_path, sources=[{**SOURCE, "is_pro_forma": True}]).sources
    assert source.book is False
    with pytest.raises(UsageError, match="a bill that is never paid"):
        checked(tmp_path, sources=[{**SOURCE, "is_pro_forma": True, "book": True}])


def test_relative_paths_start_at_the_file(tmp_path: Path) -> None:
    settings = checked(tmp_path, home="./h")
    assert settings.home == tmp_path / "h"
    assert settings.landing == str(tmp_path / "h" / "landing")
    assert settings.sources[0].location == str(tmp_path / "exports")
    assert checked(tmp_path, landing="s3://bucket/prefix").landing == "s3://bucket/prefix"
    assert checked(tmp_path, sources=[{**SOURCE, "location": "s3://b/p"}]).sources[0].location == "s3://b/p"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"homee": "x"}, "'homee': unknown key; did you mean 'home'"),
        ({"sources": [{"name": "cur", "kind": "aws_cur", "locaton": "x"}]}, "unknown key; did you mean 'location'"),
        ({"sources": [{**SOURCE, "retention": {"open_month_day": 1}}]}, "did you mean 'open_month_days'"),
        ({"organisation": {"nam": "x"}}, "'organisation.nam': unknown key; did you mean 'name'"),
        ({"delivery_limits": {"walls": 9}}, "did you mean 'wall_s'"),
        ({"organisation": {"name": "x", "currency": "USD"}}, "'organisation.currency': unknown key"),
        ({"sources": [{**SOURCE, "rol_arn": "x"}]}, r"'sources\[cur\].rol_arn': unknown key"),
        ({"path": "x"}, "'path': unknown key"),
        ({"sources": [{**SOURCE, "kind": "aws_curr"}]}, r"'sources\[cur\].kind'"),
        ({"sources": [SOURCE, SOURCE]}, "cur is there more than once"),
        ({"sources": [{**SOURCE, "name": "../x"}]}, "name has lower-case letters"),
        ({"sources": [{**SOURCE, "name": "_x"}]}, "name has lower-case letters"),
        ({"sources": []}, "'sources'"),
        ({"carbon_weights": "watts"}, "'carbon_weights'"),
        ({"memory_limit": "a lot"}, "'memory_limit'"),
        ({"memory_limit": "80%"}, "'memory_limit'"),
        ({"carbon_weights": "energy"}, "cannot be chosen yet"),
        ({"least_difference": 5}, "'least_difference'"),
        ({"scope3_electricity": "market"}, "'scope3_electricity': market-based electricity is filed for a reason"),
        ({"scope3_electricity": "both"}, "'scope3_electricity"),
        ({"scope3_electricity": {"method": "market", "reason": ""}}, "'scope3_electricity': market-based"),
        ({"fiscal_year_start": 13}, "'fiscal_year_start'"),
        ({"run_tag_keys": []}, "'run_tag_keys'"),
        ({"meters": {"rack-7": []}}, "'meters.rack-7'"),
        ({"meters": {"rack-7": "i-1"}}, "'meters.rack-7': this is no list"),
        ({"meters": {"rack-7": ["i-1"], "rack-8": ["i-1"]}}, "'meters': i-1 is there twice.*\n  meters: {rack-7"),
        ({"sources": [{**SOURCE, "months": 3}]}, r"'sources\[cur\].months': write months as"),
        ({"organisation": {"name": "x", "reporting_currency": "dollars"}}, "'organisation.reporting_currency'"),
        ({"organisation": {"name": "x", "owners": ["finance"]}}, "'organisation.owners': .*'finance' is neither.*\n  owners: {"),
        ({"organisation": {"name": "x", "owners": {"mart": ["a@b.de"]}}}, "'mart' is none; did you mean 'marts'"),
        ({"organisation": {"name": "x", "owners": {"marts": "a@b.de"}}}, "neither a list nor a list for each group"),
        ({"repository_url": "git@example.com:a/b"}, "'repository_url'"),
        ({"expected_missing": "cur"}, "'expected_missing': this is no list"),
        ({"expected_missing": ["curr"]}, "no source 'curr'; did you mean 'cur'.*\n  expected_missing: \\[my-bill\\]"),
        ({"sources": [{**TABLE, "maximum_bytes_billed": 1}]}, r"'sources\[bill\].maximum_bytes_billed'.* 10485760"),
        ({"sources": [{**TABLE, "role_arn": "arn"}]}, r"'sources\[bill\]': role_arn changes nothing for bq://"),
        ({"sources": [{**TABLE, "location": "gs://b/p", "look_back_days": 9}]}, "look_back_days changes nothing for gs://"),
        ({"sources": [{**METRICS, "endpoint_url": "x"}]}, "endpoint_url changes nothing for prom://"),
        ({"sources": [{**METRICS, "location": "prom+aws://r", "impersonate": "a@b"}]}, "impersonate changes nothing for prom"),
        ({"hosts": ["n-1"]}, "'hosts': .*\n  hosts: {"),
        ({"hosts": {"n-1": 7}}, "'hosts.n-1'"),
        ({"sources": [{**SOURCE, "location": "s3://b/p", "impersonate": "a@b"}]}, "impersonate changes nothing for s3://"),
        ({"sources": [{**SOURCE, "location": "wandb://a/b", "role_arn": "arn"}]}, "role_arn changes nothing for wandb://"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        checked(tmp_path, **change)


def test_an_unknown_name_in_expected_missing_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "trainledger.yaml"
    path.write_text(yaml.safe_dump(DOCUMENT, sort_keys=False) + "expected_missing:\n- cur\n- curr\n")
    with pytest.raises(UsageError, match=f"no source 'curr'.*line {len(path.read_text().splitlines())}"):
        load_settings(path)


def test_every_kind_has_control_totals() -> None:
    assert all(asked_of(kind).read for kind in built_kinds())


def test_months_let_in_a_range(tmp_path: Path) -> None:
    def let_in(months: str | None) -> list[str]:
        source = checked(tmp_path, sources=[{**SOURCE, "months": months}]).sources[0]
        return [month for month in ("2026-03", "2026-04", "2026-05", "2026-06") if source.reads_month(month)]

    assert let_in(None) == ["2026-03", "2026-04", "2026-05", "2026-06"]
    assert let_in("2026-04") == ["2026-04"]
    assert let_in("2026-05..") == ["2026-05", "2026-06"]
    assert let_in("2026-04..2026-05") == ["2026-04", "2026-05"]


def test_months_let_in_every_day_that_can_hold_their_use(tmp_path: Path) -> None:
    def let_in(months: str | None) -> list[str]:
        source = checked(tmp_path, sources=[{**SOURCE, "months": months}]).sources[0]
        days = ("2026-03-30", "2026-03-31", "2026-04-15", "2026-06-01")
        return [day for day in days if source.reads_day(date.fromisoformat(day))]

    assert let_in(None) == ["2026-03-30", "2026-03-31", "2026-04-15", "2026-06-01"]
    assert let_in("2026-04") == ["2026-03-31", "2026-04-15", "2026-06-01"], "late rows of April come in June"


def test_a_file_that_is_missing_or_no_yaml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trainledger.yaml"
    with pytest.raises(UsageError, match="cannot be read"):
        load_settings(path)
    for text, what in (("a: [", "is not YAML"), ("", "is empty"), ("- a", "is empty")):
        path.write_text(text)
        with pytest.raises(UsageError, match=what):
            load_settings(path)


def test_an_unknown_source_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no source 'x'.*Sources: cur"):
        checked(tmp_path).source("x")


def test_the_clock_is_the_environment_or_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-10-10T02:00:00+02:00")
    assert clock.now() == dt.datetime(2026, 10, 10, tzinfo=dt.UTC)
    monkeypatch.setenv("TRAINLEDGER_NOW", "soon")
    with pytest.raises(UsageError, match="TRAINLEDGER_NOW"):
        clock.now()
    monkeypatch.delenv("TRAINLEDGER_NOW")
    assert clock.now().tzinfo is dt.UTC


def test_each_failure_has_its_exit_code_and_shows_what_where_and_what_to_do() -> None:
    assert [error.exit_code for error in (GateError, UsageError, SourceError, LockHeldError)] == [1, 2, 3, 4]
    assert str(UsageError("it is wrong", where="file.yaml", remedy="Mend it.")) == "it is wrong (file.yaml). Mend it."


def test_importing_the_package_imports_no_dagster() -> None:
    script = "import sys, dagster_project, dagster_project.settings; print('dagster' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root).stdout == "False\n"
    )


GOOD = b"organisation: {name: Test}\nhome: ./home\n"
ONE_SOURCE = b"sources:\n- {name: cur, kind: aws_cur, location: ./cur}\n"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        pytest.param(GOOD + b"sources: 5\n", 3, "'sources'", id="sources-a-number"),
        pytest.param(GOOD + b"sources: {cur: aws_cur}\n", 3, "'sources'", id="sources-a-mapping"),
        pytest.param(GOOD + b"sources:\n- 5\n", 4, "'sources[0]'", id="source-a-number"),
        pytest.param(GOOD + b"sources:\n- name: cur\n  kind: [1]\n  location: ./x\n", 5, "'sources[cur].kind'", id="kind-a-list"),
        pytest.param(b"organisation: 5\n" + ONE_SOURCE, 1, "'organisation'", id="organisation-a-number"),
        pytest.param(GOOD + ONE_SOURCE + b"1: 2\n", 5, "", id="key-a-number"),
        pytest.param(GOOD + ONE_SOURCE + b"\x00", 5, "not YAML", id="nul"),
        pytest.param(b'organisation: {name: Test}\nhome: "a\\0b"\n' + ONE_SOURCE, 2, "'home'", id="nul-in-a-path"),
        pytest.param(b"# caf\xe9\n" + GOOD + ONE_SOURCE, 1, "not UTF-8", id="latin-1"),
        pytest.param(GOOD + b"a: " + b"[" * 5000, 3, "", id="brackets"),
        pytest.param(GOOD + b"a: " + b"[" * 5000 + b"]" * 5000, 3, "", id="closed-brackets"),
        pytest.param(GOOD + b"a: 2026-13-45\n", 1, "not YAML", id="no-date"),
        pytest.param(GOOD + b"a: [\n", 4, "not YAML", id="never-closed"),
        pytest.param(b"", 1, "is empty", id="empty"),
        pytest.param(b"- a\n- b\n", 1, "is empty", id="a-list"),
    ],
)
def test_a_broken_configuration_is_reported_with_its_line(tmp_path: Path, text: bytes, line: int, what: str) -> None:
    path = tmp_path / "trainledger.yaml"
    path.write_bytes(text)
    with pytest.raises(UsageError) as raised:
        load_settings(path)
    assert f"({path}, line {line})" in str(raised.value)
    assert what in str(raised.value)


EXAMPLE = "sources:\n  - {name: my-bill, kind: aws_cur, location: ./exports/my-bill}"
TWICE = b"""sources:
- {name: cur, kind: aws_cur, location: ./a}
- name: fx
  kind: fx_rates
  location: ./fx
- {name: cur, kind: aws_carbon, location: ./b}
"""


@pytest.mark.parametrize(
    ("text", "lines", "what", "remedy"),
    [
        pytest.param(GOOD + b"home: ./other\n" + ONE_SOURCE, "lines 2 and 3", "'home' is there twice", "Keep one", id="a key"),
        pytest.param(GOOD + ONE_SOURCE + b"\n" + ONE_SOURCE, "lines 3 and 6", "'sources' is there twice", EXAMPLE, id="sources"),
        pytest.param(
            GOOD + b"sources:\n- name: cur\n  kind: aws_cur\n  location: ./x\n  location: ./y\n",
            *("lines 6 and 7", "'location' is there twice", "location: s3://bucket/prefix"),
            id="a key of a source",
        ),
        pytest.param(GOOD + TWICE, "lines 8 and 4", "cur is there more than once", "name: my-bill", id="a name"),
        pytest.param(
            GOOD + ONE_SOURCE.replace(b"./cur", b"s3://${BUCKET}/x"), "line 4", "'${BUCKET}' is a variable", "s3://", id="${}"
        ),
        pytest.param(
            GOOD + ONE_SOURCE.replace(b"./cur", b"s3://$BUCKET/x"), "line 4", "'$BUCKET' is a variable", "s3://", id="$"
        ),
        pytest.param(
            b"organisation: {name: Test}\nhome: $HOME/t\n" + ONE_SOURCE, "line 2", "'$HOME' is a variable", "", id="home"
        ),
        pytest.param(
            GOOD + b"sources:\n  cur: {kind: aws_cur}\n", "line 3", "this is a mapping and must be a list", EXAMPLE, id="mapping"
        ),
        pytest.param(GOOD + b"sources: bill\n", "line 3", "this is no list", EXAMPLE, id="a text"),
        pytest.param(GOOD, "line 1", "'sources': this key is missing", EXAMPLE, id="no sources"),
        pytest.param(GOOD + b"sources: []\n", "line 3", "'sources': this is empty", EXAMPLE, id="empty"),
        pytest.param(GOOD + ONE_SOURCE.replace(b"./cur", b"5"), "line 4", "'location': this is no text", "s3://", id="a number"),
        pytest.param(GOOD + b"memory_limit: 5\n" + ONE_SOURCE, "line 3", "this is no text", "memory_limit: 1500MB", id="no text"),
        pytest.param(GOOD + b"engine: oracle\n" + ONE_SOURCE, "line 3", "this must be 'duckdb' or 'spark'", "", id="no engine"),
        pytest.param(
            b"organisation: Acme\n" + ONE_SOURCE, "line 1", "this is no mapping", "organisation: {name:", id="no mapping"
        ),
        pytest.param(
            GOOD + b"sources:\n- {name: cur, kind: aws_cur, location: ./x, book: 5}\n",
            *("line 4", "'sources[cur].book': this is neither true nor false nor the name", ""),
            id="book",
        ),
        pytest.param(
            GOOD + b"schedules:\n  new_deliveries: true\n  refresh: '0 6 * * *'\n" + ONE_SOURCE,
            *("line 3", "'new_deliveries' and 'refresh' both request a refresh", "schedules: {new_deliveries: true"),
            id="two that request a refresh",
        ),
        pytest.param(
            GOOD + b"schedules:\n  prune: every sunday\n" + ONE_SOURCE,
            *("line 4", "'schedules.prune': write a cron text of five fields", 'prune: "0 3 * * 0"'),
            id="no cron",
        ),
        pytest.param(
            GOOD + b"schedules: {refesh: true}\n" + ONE_SOURCE, "line 3", "did you mean 'refresh'?", "", id="no schedule"
        ),
        pytest.param(
            GOOD + b"history_megabytes: 1\n" + ONE_SOURCE, "line 3", "'history_megabytes'", "history_megabytes: 500", id="history"
        ),
    ],
)
def test_what_yaml_would_take_or_pydantic_would_word_is_named_with_its_lines_and_an_example(
    tmp_path: Path, text: bytes, lines: str, what: str, remedy: str
) -> None:
    path = tmp_path / "trainledger.yaml"
    path.write_bytes(text)
    with pytest.raises(UsageError) as raised:
        load_settings(path)
    assert f"({path}, {lines})" in str(raised.value)
    assert what in raised.value.what and remedy in (raised.value.remedy or "")
    assert "Input should be" not in str(raised.value)


def test_an_anchor_and_a_price_in_dollars_are_no_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "trainledger.yaml"
    sources = b"sources:\n- &one {name: cur, kind: aws_cur, location: ./a$b}\n- {<<: *one, name: other}\n"
    path.write_bytes(b"organisation: {name: 5 $ a day}\n" + sources)
    assert [source.name for source in load_settings(path).sources] == ["cur", "other"]


def test_which_answer_is_filed_has_its_reason_and_changes_figures(tmp_path: Path) -> None:
    plain = checked(tmp_path, scope3_electricity="location").rules
    filed = {"method": "market", "reason": "reviewed contracts"}
    chosen = checked(tmp_path, scope3_electricity=filed, fiscal_year_start=10).rules
    assert plain == checked(tmp_path).rules and plain.scope3_electricity[0] == "location" and plain.fiscal_year_start == 1
    assert (chosen.scope3_electricity, chosen.fiscal_year_start) == (("market", "reviewed contracts"), 10)
