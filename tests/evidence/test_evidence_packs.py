"""An evidence pack: what is in it, that any change of it is found, and that stock DuckDB gives its figures."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import duckdb
import pytest

from dagster_project.base.durable import sha256_of
from dagster_project.base.failures import UsageError
from dagster_project.evidence import crate, signatures
from dagster_project.evidence.checking import Findings, verify_pack
from dagster_project.evidence.manifest import MANIFEST, files_below, manifest_bytes, write_zip
from reports.publication import open_folder

pytestmark = pytest.mark.slow
STOCK = """
import decimal, duckdb, json, pathlib
def text_of(value):
    return None if value is None else f"{value:f}" if isinstance(value, decimal.Decimal) else str(value)
connection = duckdb.connect()
connection.execute(pathlib.Path("load.sql").read_text())
answers = {}
for file in sorted(pathlib.Path("sql").glob("*.sql")):
    cursor = connection.execute(file.read_text())
    names = [column[0] for column in cursor.description]
    texts = [[text_of(value) for value in row] for row in cursor.fetchall()]
    answers[file.stem] = [dict(zip(names, row)) for row in texts]
print(json.dumps(answers))
"""


def found_in(path: Path) -> Findings:
    return verify_pack(path)


def flip(path: Path, place: int | None = None) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if place is None else place] ^= 1
    path.write_bytes(data)


def seal(pack: Path) -> None:
    """What somebody would do who changes a pack: its list of files and its manifest are made again."""
    (pack / crate.FILE).write_bytes(crate.crate_bytes(pack, json.loads((pack / "issue.json").read_bytes())))
    (pack / MANIFEST).write_bytes(manifest_bytes(pack))


def test_a_pack_holds_rows_sql_marts_seeds_hashes_versions_and_gates(pack: Path) -> None:
    names = files_below(pack)
    wanted = ("report/report.html", "report/tables/totals_twice.csv", "sql/totals_twice.sql", "rows/totals_twice.parquet")
    more = ("data/marts/fct_training_run_costs.parquet", "data/ops/dim_deliveries.parquet", "data/seeds/emission_factors.parquet")
    last = ("code/version.json", "code/installed.txt", "code/run.lock", "gates.json", "issue.json", "README.md")
    assert not {*wanted, *more, *last} - set(names)
    gates = json.loads((pack / "gates.json").read_bytes())
    assert len(gates) > 20 and all(gate["passed"] for gate in gates)
    validations = [json.loads(path.read_bytes()) for path in pack.glob("validations/*/*.json")]
    with open_folder(pack / "data") as opened:
        [elected] = opened.rows("select count(*) as n from ops.dim_deliveries where is_elected and kind ~ 'aws_c.*|gcp_.*'")
    assert len(validations) == elected["n"] > 0
    assert all(result["success"] for validation in validations for result in validation["results"])
    crate = json.loads((pack / "ro-crate-metadata.json").read_bytes())
    files = {entity["@id"]: entity for entity in crate["@graph"] if entity["@type"] == "File"}
    assert set(files) == set(names) - {MANIFEST, "ro-crate-metadata.json"}
    assert files["issue.json"]["sha256"] == sha256_of(pack / "issue.json")


@pytest.mark.parametrize("ending", ["", pytest.param(".zip", marks=pytest.mark.in_turn)])
def test_a_pack_and_its_zip_are_verified_and_an_unsigned_one_is_marked_integrity_only(pack: Path, ending: str) -> None:
    found = found_in(pack.with_suffix(ending))
    assert found.differences == [] and found.counts["figures"] > 500
    assert found.counts["documents"] > 20 and found.counts["texts"] > 10_000 and found.counts["rendered"] == 4
    assert found.signed == [signatures.UNSIGNED] and "integrity only" in signatures.UNSIGNED


def test_stock_duckdb_gives_every_figure_without_our_code(pack: Path) -> None:
    done = subprocess.run([sys.executable, "-I", "-c", STOCK], cwd=pack, capture_output=True, text=True, check=True)
    answers = json.loads(done.stdout)
    record = json.loads((pack / "report" / "report.json").read_bytes())
    for figure in record["figures"]:
        (row,) = answers[f"figure-{figure['id'].rpartition('/')[2]}"]
        assert row["value"] == figure["value"], figure["id"]
    for section in record["sections"]:
        for table in section["tables"]:
            if "rows" in table:
                assert len(answers[table["id"]]) == len(table["rows"])


@pytest.mark.in_turn
def test_a_flipped_byte_in_any_file_is_found_by_its_name(copied_pack: Path) -> None:
    names = files_below(copied_pack)
    alone = {Path(name).suffix: name for name in names}  # one of each kind
    for flipped in ([*{*names} - {MANIFEST}], *([name] for name in alone.values() if name != MANIFEST)):
        before = {copied_pack / name: (copied_pack / name).read_bytes() for name in flipped}
        for path in before:
            flip(path)
        assert {*flipped} <= named_in(copied_pack)
        for path, data in before.items():
            path.write_bytes(data)
    assert found_in(copied_pack).differences == []


def test_a_flipped_byte_of_the_manifest_is_found_by_the_file_whose_entry_it_is_in(copied_pack: Path) -> None:
    manifest = copied_pack / MANIFEST
    before = manifest.read_bytes()
    places = {MANIFEST: 0, "issue.json": before.index(sha256_of(copied_pack / "issue.json").encode())}
    for name, place in places.items():
        flip(manifest, place)
        assert named_in(copied_pack) == {name}
        manifest.write_bytes(before)


def named_in(pack: Path) -> set[str]:
    """The files of a pack that differ, by name."""
    return {text.partition(":")[0] for text in found_in(pack).differences}


@pytest.mark.in_turn
def test_a_flipped_byte_anywhere_in_the_zip_is_found(pack: Path, tmp_path: Path) -> None:
    whole = pack.with_suffix(".zip").read_bytes()
    archive = tmp_path / "2026Q2-1.zip"
    for place in [0, 10, 35, *range(100, len(whole) - 200, len(whole) // 12), len(whole) - 150, len(whole) - 1]:
        archive.write_bytes(whole)
        flip(archive, place)
        try:
            assert found_in(archive).differences, place
        except UsageError as error:
            assert "zip" in str(error) and "2026Q2-1.zip" in str(error)


def test_a_file_too_many_or_too_few_is_named(copied_pack: Path) -> None:
    (copied_pack / "extra.txt").write_text("more")
    (copied_pack / "gates.json").unlink()
    assert [text.partition(":")[0] for text in found_in(copied_pack).differences] == ["extra.txt", "gates.json"]


@pytest.mark.in_turn
def test_a_figure_that_was_changed_with_its_manifest_is_named_with_both_values(copied_pack: Path) -> None:
    report = copied_pack / "report" / "report.json"
    record = json.loads(report.read_bytes())
    record["figures"][0]["value"] = "1.000000000000"
    report.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    seal(copied_pack)
    differences = found_in(copied_pack).differences
    wanted = "2026Q2/glance/effective_cost, value: the report has 1.000000000000, its SQL gives 129."
    assert any(text.startswith(wanted) for text in differences)
    assert any(text.startswith("report/report.json: trainledger ") for text in differences)


@pytest.mark.in_turn
def test_a_row_that_was_changed_with_its_manifest_is_found(copied_pack: Path) -> None:
    costs = copied_pack / "data" / "marts" / "fct_training_run_costs.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"create table costs as from '{costs}'; update costs set effective_cost = effective_cost * 2")
        connection.execute(f"copy costs to '{costs}'")
    seal(copied_pack)
    differences = found_in(copied_pack).differences
    assert any(text.startswith("data/marts/rpt_quarterly_figures.parquet: its SQL gives other rows") for text in differences)
    assert any(text.startswith("2026Q2/cost_by_month/") for text in differences)


@pytest.mark.in_turn
def test_sql_of_a_pack_reads_nothing_but_its_tables(copied_pack: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    report = copied_pack / "report" / "report.json"
    record = json.loads(report.read_bytes())
    name = record["vintage"]["id"]
    record["vintage"]["sql"] = f"select * from read_csv('{secret}')"
    report.write_text(json.dumps(record))
    (copied_pack / "sql" / f"{name}.sql").write_text(f"{record['vintage']['sql']}\n;\n")
    seal(copied_pack)
    assert any(text.startswith(f"{name}: its SQL cannot be run") for text in found_in(copied_pack).differences)


@pytest.mark.parametrize(
    "name", ["../out.txt", "/out.txt", "2026Q2-1/../../out.txt", "2026Q2-1\\out.txt", "C:/out.txt", "other/out.txt"]
)
def test_a_zip_that_leads_elsewhere_is_not_unpacked(pack: Path, tmp_path: Path, name: str) -> None:
    archive = tmp_path / "2026Q2-1.zip"
    write_zip(pack / "code", archive, "2026Q2-1")
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr(zipfile.ZipInfo(name), "out")
    with pytest.raises(UsageError, match="not one that trainledger wrote"):
        found_in(archive)
    assert [path.name for path in tmp_path.iterdir()] == ["2026Q2-1.zip"]


def test_links_and_compressed_entries_of_a_zip_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("a/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    for number, (entry, how) in enumerate([(link, zipfile.ZIP_STORED), (zipfile.ZipInfo("a/b"), zipfile.ZIP_DEFLATED)]):
        archive = tmp_path / f"{number}.zip"
        with zipfile.ZipFile(archive, "w") as opened:
            opened.writestr(entry, "0" * 10_000_000, how)
        with pytest.raises(UsageError, match="not one that trainledger wrote"):
            found_in(archive)


def test_a_link_in_a_pack_is_named_and_not_followed(copied_pack: Path, tmp_path: Path) -> None:
    (copied_pack / "gates.json").rename(tmp_path / "gates.json")
    (copied_pack / "gates.json").symlink_to(tmp_path / "gates.json")
    assert found_in(copied_pack).differences == ["gates.json: it is a link"]


@pytest.mark.in_turn
def test_another_version_of_a_renderer_is_reported_and_is_no_difference(copied_pack: Path) -> None:
    issue = copied_pack / "issue.json"
    stated = json.loads(issue.read_bytes())
    stated["renderers"]["typst"] = "0.1"
    issue.write_text(json.dumps(stated))
    installed = copied_pack / "code" / "installed.txt"
    installed.write_text(re.sub("typst==.*", "typst==0.1", installed.read_text()))
    seal(copied_pack)
    found = found_in(copied_pack)
    assert found.differences == [] and any("The PDFs are not rendered again: typst" in text for text in found.remarks)
