"""The page of the ledger: made of what is new, bounded, shown whole; in a browser its figures are those of the marts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import axe_playwright_python
import duckdb
import pytest

from dagster_project.publishing.digest import TableDigest
from dagster_project.publishing.ledger_page import FOLDER, show_page, write_data
from dagster_project.publishing.totals import write_totals
from reports.ledger import months, page
from reports.ledger.page import Page, page_of
from reports.publication import open_publication
from tests.browser import open_page
from tests.reports.published_fixture import HOSTILE, PAYERS, TWO_RUNS, write_published

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
RUNS = (TWO_RUNS[0], replace(TWO_RUNS[1], payer=PAYERS[1], currency="EUR"), *HOSTILE)
TELEMETRY = """create table marts.fct_telemetry_matches (source_name varchar, usage_month date, host varchar, run_key varchar,
training_run_id varchar, sample_count bigint, matched_sample_count bigint, observed_chip_hours decimal(38, 9), reason varchar)"""
DRAWN = "#runs .listed > *, #run h1"


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A published file of four runs, in two currencies, with names that mean harm."""
    path = write_published(tmp_path_factory.mktemp("ledger") / "p.duckdb", RUNS)
    with duckdb.connect(str(path)) as connection:
        connection.execute(TELEMETRY)
    return path.read_bytes()


@pytest.fixture
def file(usual: bytes, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    (tmp_path / "p.duckdb").write_bytes(usual)
    return tmp_path / "p.duckdb"


def made(file: Path, versions: dict[str, dict[str, Any]], before: Page | None = None) -> Page:
    """The page of a file, where the files of an earlier one lie."""
    with open_publication(file) as publication:
        return page_of(publication, versions, before.names if before else ())


def data(text: str) -> Any:
    """What a data file hands to the page."""
    return json.loads(text[text.index("{" if text.startswith("takeMonth") else "[") :].rstrip(")\n"))


def test_a_changed_month_makes_its_own_file_and_those_of_runs_that_were_at_work_in_it(file: Path) -> None:
    before = made(file, {"fct_training_run_costs": {"2026-05": "a", "2026-06": "a"}})
    after = made(file, {"fct_training_run_costs": {"2026-05": "b", "2026-06": "a"}}, before)
    # run-a was at work from April to June, run-b in May, the others from April to September
    assert sorted(name[:13] for name in after.new) == ["month-2026-05", "runs-2026-05-", "runs-2026-06-", "runs-2026-09-"]
    assert made(file, {"fct_training_run_costs": {"2026-05": "b", "2026-06": "a"}}, after).new == {}


def test_a_changed_record_makes_the_files_of_its_run_and_of_its_months(file: Path) -> None:
    before = made(file, {})
    with duckdb.connect(str(file)) as connection:
        connection.execute("update marts.dim_training_runs set team = 'other' where training_run_id = 'run-b'")
    after = made(file, {}, before)
    assert sorted(name[:13] for name in after.new) == ["month-2026-05", "runs-2026-05-"]
    assert '"other"' in "".join(after.new.values())


def test_a_changed_statement_of_a_part_of_the_months_makes_the_files_anew(file: Path) -> None:
    before = made(file, {})
    with duckdb.connect(str(file)) as connection:
        connection.execute("update ops.report_pages set statement = statement || ' ' where model = 'ledger_costs'")
    assert not before.names & made(file, {}, before).names


def test_many_runs_and_many_teams_stay_small_and_sums_stay_those_of_the_marts(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "MOST_RUNS", 1)
    monkeypatch.setattr(months, "MOST_CELLS", 1)
    found = made(file, {})
    with duckdb.connect(str(file)) as connection:
        sql = """select strftime(usage_month, '%Y-%m'), billing_currency, sum(effective_cost)
            from marts.fct_training_run_costs group by all"""
        expected = {(month, currency): cost for month, currency, cost in connection.execute(sql).fetchall()}
    added: dict[tuple[str, str], Decimal] = {}
    for name, text in found.new.items():
        if name.startswith("runs"):
            assert len(data(text)) == 1
            continue
        document = data(text)
        assert len(document["cells"]) <= 2
        for _, currency, effective, _ in document["costs"]:
            key = document["month"], currency
            added[key] = added.get(key, Decimal(0)) + Decimal(effective)
    assert added == expected and {currency for _, currency in expected} == {"USD", "EUR"}


def test_until_the_new_page_is_shown_the_old_one_has_all_its_files(file: Path, tmp_path: Path) -> None:
    published = tmp_path / "published"
    (published / FOLDER).mkdir(parents=True)

    def publish(digest: str, *, is_killed: bool = False) -> Page:
        with duckdb.connect(str(file)) as connection:
            written = write_data(connection, published, [TableDigest("fct_lost_work", 1, digest, {"2026-05": (1, digest)})])
        if not is_killed:
            show_page(published, written)
        return written

    def there() -> set[str]:
        return {path.name for path in (published / FOLDER).iterdir()}

    first = publish("a")
    assert there() == {*first.names, "index.html"}
    index = (published / FOLDER / "index.html").read_text()
    killed = publish("b", is_killed=True)
    assert (published / FOLDER / "index.html").read_text() == index and there() == {*first.names, *killed.names, "index.html"}
    third = publish("c")
    assert there() == {*third.names, "index.html"} and third.names != killed.names
    assert all(name in (published / FOLDER / "index.html").read_text() for name in third.names)


# in a browser


@contextmanager
def opened(index: Path, **options: Any) -> Iterator[Any]:
    """The page in a browser, drawn; an error of its scripts or a request for anything but its own files fails the test."""
    problems: list[str] = []
    with open_page(**options) as tab:
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        own = index.parent.as_uri()
        tab.on("request", lambda request: None if request.url.startswith(own) else problems.append(request.url))
        tab.goto(index.as_uri())
        tab.wait_for_selector(DRAWN, state="attached")
        yield tab
    assert problems == []


def written(value: Decimal | None, places: int) -> str:
    """As the page writes it: half away from zero, thousands apart; a dash for what is not known."""
    if value is None:
        return "–"
    text = f"{value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):,.{places}f}"
    return text.replace(",", "\u2009").replace("-", "−")


def spaced(text: str) -> str:
    """With plain spaces, wherever a line may or may not break."""
    return text.replace("\u00a0", " ").replace("\u2009", " ")


def cells(tab: Any, table: str) -> list[list[str]]:
    """The first line of each cell of a table's rows."""
    rows = "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.split('\\n')[0]))"
    return tab.eval_on_selector_all(f"#{table} tbody tr", rows)


@pytest.mark.slow
def test_figures_of_the_demo_are_those_of_the_marts_to_the_cent_and_the_gram(demo_home: Path) -> None:
    published = demo_home / "trainledger-home" / "published"
    connection = duckdb.connect(str(published / "trainledger.duckdb"), read_only=True)

    def expected(key: str, where: str = "true") -> dict[str, list[str]]:
        """Cost, energy and Scope 2 by both methods, by a column of the summaries; unknown as soon as a part is."""
        whole = "case when count(*) = count({0}) then sum({0}) end"
        # two versions of a provider's model are not added
        is_one = """not exists (select provider_name from marts.fct_training_run_emissions join marts.dim_training_runs as dim
            using (training_run_id, provider_name) where {key} is not distinct from own.key and {where}
            group by provider_name having count(distinct provider_model_version) > 1)"""
        sql = f"""with own as (select {key} as key,
                {whole.format("effective_cost")} as cost, {whole.format("facility_energy_kwh")} as energy,
                {whole.format("provider_scope_2_location_based_kgco2e")} as location,
                {whole.format("provider_scope_2_market_based_kgco2e")} as market
            from marts.run_month_summary where {where} group by all)
            select key, cost, energy, location, market, {is_one.format(key=key, where=where)} from own"""
        found = connection.execute(sql).fetchall()
        return {
            name or "(not recorded)": [
                written(cost, 2),
                written(energy, 3),
                *(written(mass if is_one else None, 3) for mass in (location, market)),
            ]
            for name, cost, energy, location, market, is_one in found
        }

    with opened(published / FOLDER / "index.html", viewport={"width": 1280, "height": 900}) as tab:
        by_month = {row[0]: [row[1], row[2], row[4], row[5]] for row in cells(tab, "by-month")}
        assert by_month == expected("strftime(usage_month, '%b %Y')") and len(by_month) == 11
        assert by_month["Sep 2026"][2:] == ["–", "–"] and "–" not in by_month["Aug 2026"]
        assert "emissions: a month is not published: Sep 2026" in tab.inner_text("#months")
        for button, column in (("Team", "team"), ("Model", "model_name"), ("Accelerator", "accelerator_type")):
            tab.get_by_role("button", name=button, exact=True).click()
            assert {row[0]: [row[1], row[3], row[5], row[6]] for row in cells(tab, "by-group")} == expected(column)
        bill = {row[0]: row[1] for row in cells(tab, "bill-USD")}
        sql = "select sum(provider_total), sum(runs_total) from ops.reconciled_months where measure = 'effective_cost'"
        assert (bill["the whole bill"], bill["runs"]) == tuple(
            written(one, 2) for one in connection.execute(sql).fetchone() or ()
        )
        # narrowed by the form, and the address keeps it
        tab.locator("#team").select_option("vision")
        tab.locator("#from").select_option("2026-06")
        tab.locator("#to").select_option("2026-08")
        tab.wait_for_function("location.hash.includes('team=vision') && location.hash.includes('to=2026-08')")
        tab.reload()
        tab.wait_for_selector(DRAWN, state="attached")
        where = "team = 'vision' and usage_month between date '2026-06-01' and date '2026-08-01'"
        by_month = {row[0]: [row[1], row[2], row[4], row[5]] for row in cells(tab, "by-month")}
        assert by_month == expected("strftime(usage_month, '%b %Y')", where) and len(by_month) == 3
        (cost,) = connection.execute(f"select sum(effective_cost) from marts.run_month_summary where {where}").fetchone() or ()
        assert spaced(f"exactly {written(cost, 2)} USD") in spaced(tab.inner_text("#tiles"))


@pytest.mark.nightly
@pytest.mark.slow
def test_a_run_of_the_demo_has_the_figures_of_its_summary_and_the_reason_of_what_is_unknown(demo_home: Path) -> None:
    published = demo_home / "trainledger-home" / "published"
    with duckdb.connect(str(published / "trainledger.duckdb"), read_only=True) as connection:
        sql = """select effective_cost, facility_energy_kwh, unknown_because
            from marts.run_summary where training_run_id = 'detr-sweep-12'"""
        cost, energy, why = connection.execute(sql).fetchone() or ()
    with opened(published / FOLDER / "index.html") as tab:
        tab.get_by_label("Find").fill("detr-sweep-12")
        tab.get_by_role("link", name="detr-sweep-12").click()
        tab.wait_for_selector("#run h1")
        text = spaced(tab.inner_text("#run"))
        assert spaced(f"exactly {written(cost, 2)} USD") in text
        assert spaced(f"exactly {written(energy, 3)} kWh") in text
        assert why == "emissions: a month is not published" and text.count(why) > 1
        assert "Scope 3, category 1" in text and "trainledger run detr-sweep-12 has an estimate" in text


@pytest.mark.nightly
@pytest.mark.slow
def test_axe_finds_nothing_on_the_page_of_the_demo_which_fits_a_phone_and_two_megabytes(demo_home: Path) -> None:
    folder = demo_home / "trainledger-home" / "published" / FOLDER
    assert sum(path.stat().st_size for path in folder.iterdir()) < 2_000_000
    looks = [
        (1280, "light", "", "{}"),
        (390, "light", "", None),  # the elements are those of the desk
        (1280, "dark", "#run/2026-08/vit-tpu-02", "{runOnly: ['color-contrast']}"),
        (390, "light", "#run/2026-09/detr-sweep-12", "{}"),
    ]
    found = []
    with opened(folder / "index.html") as tab:
        for width, scheme, place, rules in looks:
            tab.set_viewport_size({"width": width, "height": 900})
            tab.emulate_media(color_scheme=scheme)
            tab.goto("about:blank")
            tab.goto((folder / "index.html").as_uri() + place)
            tab.wait_for_selector(DRAWN, state="attached")
            assert tab.evaluate("document.documentElement.scrollWidth") == width
            if rules is None:
                continue
            tab.evaluate(AXE.read_text(encoding="utf-8"))
            for violation in tab.evaluate(f"axe.run(document, {rules})")["violations"]:
                found.append((width, place, violation["id"], [node["target"] for node in violation["nodes"][:3]]))
    assert found == []


@pytest.mark.slow
def test_two_currencies_are_two_totals_and_a_name_that_means_harm_is_text(file: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(file)) as connection:
        show_page(tmp_path, write_data(connection, tmp_path, []))
        costs = connection.execute(
            "select billing_currency, sum(effective_cost) from marts.fct_training_run_costs group by all order by 1"
        ).fetchall()
    with opened(tmp_path / FOLDER / "index.html") as tab:
        tiles = spaced(tab.inner_text("#tiles"))
        assert [one for one, _ in costs] == ["EUR", "USD"]
        for currency, cost in costs:
            assert spaced(f"exactly {written(cost, 2)} {currency}") in tiles
        assert '<script>alert("team")</script>' in tab.inner_text("#by-group") and "‹U+202E›" in (tmp_path / FOLDER).joinpath(
            "index.html"
        ).read_text() + "".join(path.read_text() for path in (tmp_path / FOLDER).glob("*.js"))


def shown(file: Path, published: Path, change: str = "") -> Path:
    """The page of a file, after a change and with its totals by month, in place of an earlier one."""
    with duckdb.connect(str(file)) as connection:
        connection.execute(change)
        for table in ("fct_reconciliation", "fct_residual_costs"):
            write_totals(connection, TableDigest(table, 0, "", {}), None)
        show_page(published, write_data(connection, published, []))
    return published / FOLDER / "index.html"


@pytest.mark.slow
def test_a_home_that_never_had_a_run_shows_its_bill_what_was_idle_coverage_and_how_fresh_it_is(
    file: Path, tmp_path: Path
) -> None:
    of_runs = [f"delete from marts.{table}" for table in ("fct_training_run_costs", "dim_training_runs", "fct_run_conflicts")]
    with duckdb.connect(str(file)) as connection:
        columns = [name for name, *_ in connection.execute("describe marts.fct_lost_work").fetchall()]
        idle = """insert into marts.fct_lost_work by name select
            date '2026-05-01' as usage_month, 'idle' as cause, 'USD' as billing_currency, 12.5 as effective_cost"""
        covered = "insert into marts.rpt_coverage values (date '2026-05-01', 'AWS', 'AmazonEC2', 'USD', 1000, 712, 840)"
        connection.execute("; ".join(f"alter table marts.fct_lost_work alter {name} drop not null" for name in columns))
    with opened(shown(file, tmp_path, "; ".join([*of_runs, idle, covered]))) as tab:
        assert tab.locator("#missing").is_hidden()
        assert ["idle: machines kept ready that no run held", "USD", "12.50"] in [row[:3] for row in cells(tab, "by-cause")]
        assert len(cells(tab, "bill-USD")) > 1 and "the whole bill" in tab.inner_text("#rest")
        assert "71.2\u202f%" in tab.inner_text("#coverage")
        assert tab.locator("#sources tbody tr").count() > 1
        assert "no run in what is chosen" in tab.inner_text("#tiles")
        assert "No run of these months" in tab.inner_text("#runs")


@pytest.mark.slow
def test_a_publication_without_a_summary_of_runs_replaces_the_page_by_one_that_names_what_is_missing(
    file: Path, tmp_path: Path
) -> None:
    before = shown(file, tmp_path).read_text()
    with duckdb.connect(str(file)) as connection:
        [(view,)] = connection.execute("select sql from duckdb_views() where view_name = 'run_summary'").fetchall()
    index = shown(file, tmp_path, "drop view marts.run_summary")
    assert index.read_text() != before
    with opened(index) as tab:
        assert "the published file has no marts.run_summary" in tab.inner_text("#missing")
        assert "no run in what is chosen" in tab.inner_text("#tiles") and "exactly" not in tab.inner_text("#tiles")
        assert len(cells(tab, "bill-USD")) > 1 and tab.locator("#sources tbody tr").count() > 1
    assert shown(file, tmp_path, view).read_text() == before, "with their runs, as soon as it is there"
