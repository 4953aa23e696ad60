"""Forgeries of an issued pack, each as a change of its folder; and the forger's tools, which make again all that follows.

A forger has our code, so what can be worked out from the pack alone is worked out again after a change: report tables by their
own SELECTs, documents, answers of queries, digests, lists, the manifest, the zip. What that cannot repair is what binds a pack.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.evidence import crate, layout, pack
from dagster_project.evidence.manifest import MANIFEST, canonical, manifest_bytes
from dagster_project.publishing.digest import literal, quoted, table_digest
from reports.issue import Issue, Policy
from reports.publication import copied_tables, open_folder
from reports.quarterly import render
from reports.statements import report_statements

Forgery = Callable[[Path], None]


def changed_json(file: Path, change: Callable[[Any], None]) -> None:
    document = json.loads(file.read_bytes())
    change(document)
    file.write_bytes(canonical(document))


def changed_table(folder: Path, table: str, *statements: str) -> None:
    """Change the rows of a table of the pack by SQL, in which it is called `forged`."""
    file = literal(str(folder / "data" / f"{table}.parquet"))
    with duckdb.connect() as connection:
        connection.execute(f"create table forged as from read_parquet({file})")
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"copy (from forged order by all) to {file} {pack.PARQUET}")


def listed_again(folder: Path) -> None:
    """The lists of files, made again."""
    (folder / crate.FILE).write_bytes(crate.crate_bytes(folder, json.loads((folder / layout.ISSUE).read_bytes())))
    (folder / MANIFEST).write_bytes(manifest_bytes(folder))


def made_again(folder: Path, *, with_digests: bool = True) -> None:
    """Everything that follows from the tables of data/: report tables, documents, queries and answers, digests, lists."""
    _report_tables(folder / "data")
    issued = json.loads((folder / layout.ISSUE).read_bytes())
    again = folder.parent / "rendered again"
    render(
        folder / "data",
        issued["quarter"],
        again,
        organisation=issued["organisation"],
        status_note=issued["status_note"],
        policy=Policy.of(issued["policy"]),
        issue=Issue.of(issued),
    )
    for name in ("report", "sql", "rows"):
        shutil.rmtree(folder / name)
    (again / issued["quarter"]).rename(folder / "report")
    shutil.rmtree(again)
    with open_folder(folder / "data") as publication:
        pack.write_queries(folder, json.loads((folder / "report" / layout.REPORT).read_bytes()), publication)
        (folder / "gates.json").write_bytes(canonical(publication.rows(layout.GATES)))
    if with_digests:
        with copied_tables(folder / "data") as file, duckdb.connect(str(file), read_only=True) as connection:
            tables = {name: table_digest(connection, "marts", name).digest for name in issued["build"]["tables"]}
        ops = pack.ops_digests(folder / "data")
        changed_json(folder / layout.ISSUE, lambda issue: issue["build"].update(tables=tables, ops=ops))
    (folder / "README.md").write_text(layout.README.format(**json.loads((folder / layout.ISSUE).read_bytes())))
    listed_again(folder)


def _report_tables(data: Path) -> None:
    with copied_tables(data) as file, duckdb.connect(str(file)) as connection:
        connection.execute("set TimeZone = 'UTC'")
        from reports.publication import Publication

        left = report_statements(Publication(connection))
        while left:  # one may read another, which then comes first
            for name in [name for name in left if not any(f'marts."{other}"' in left[name] for other in left if other != name)]:
                connection.execute(f"create or replace table marts.{quoted(name)} as {left.pop(name)}")
                target = literal(str(data / "marts" / f"{name}.parquet"))
                connection.execute(f"copy (from marts.{quoted(name)} order by all) to {target} {pack.PARQUET}")


def halved_emissions(folder: Path) -> None:
    """All emissions of the marts, halved."""
    for table in ("fct_training_run_emissions", "fct_run_cell_emissions", "fct_residual_emissions", "fct_reconciliation"):
        with duckdb.connect() as connection:
            file = literal(str(folder / "data" / "marts" / f"{table}.parquet"))
            masses = [
                name
                for name, kind, *_ in connection.execute(f"describe from read_parquet({file})").fetchall()
                if kind.startswith("DECIMAL") and (name.endswith("kgco2e") or name.endswith("_total"))
            ]
        which = " where measure like 'provider%'" if table == "fct_reconciliation" else ""
        changed_table(
            folder, f"marts/{table}", f"update forged set {', '.join(f'{name} = {name} / 2' for name in masses)}{which}"
        )


def another_answer(folder: Path) -> None:
    changed_rows = literal(str(folder / "rows" / "figure-effective_cost.parquet"))
    with duckdb.connect() as connection:
        connection.execute(f"create table forged as from read_parquet({changed_rows})")
        connection.execute("update forged set value = 1")
        connection.execute(f"copy forged to {changed_rows} {pack.PARQUET}")


def another_model(folder: Path) -> None:
    (folder / "sql" / "model-rpt_coverage.sql").write_text("select 1\n;\n")


def lost_attributions(folder: Path) -> None:
    changed_table(folder, "marts/fct_charge_attributions", "delete from forged where rowid < 3")


def invented_use_of_a_commitment(folder: Path) -> None:
    use = "'plan' as commitment_id, 'used' as commitment_part, 0 as billed_cost, 5 as effective_cost"
    changed_table(folder, "marts/fct_commitment_attributions", f"insert into forged by name select {use}")


def no_gates(folder: Path) -> None:
    (folder / "gates.json").write_bytes(canonical([]))


def assured(folder: Path) -> None:
    readme = folder / "README.md"
    readme.write_text(readme.read_text() + "\nLimited assurance was given by an auditor.\n")


def another_code(folder: Path) -> None:
    changed_json(folder / "code" / "version.json", lambda version: version.update(code_version="0" * 64))


def another_build(folder: Path) -> None:
    changed_json(folder / layout.ISSUE, lambda issue: issue["build"].update(build_id="another"))


def another_crate(folder: Path) -> None:
    changed_json(folder / crate.FILE, lambda document: document["@graph"][1].update(description="Assured."))


def _first_validation(folder: Path) -> Path:
    return min((folder / layout.FOLDER_OF_VALIDATIONS).rglob("*.json"))


def unjudged(folder: Path) -> None:
    """How a delivery was judged, left out."""
    _first_validation(folder).unlink()


def judged_better(folder: Path) -> None:
    """A rule as met whose value does not meet it."""
    changed_json(_first_validation(folder), lambda one: one["results"][0].update(observed_value=3.0))


def judged_a_little_better(folder: Path) -> None:
    """Another value of a rule, which meets it too: nothing else of the pack has it."""
    changed_json(_first_validation(folder), lambda one: one.update(previous_content_hash="0" * 64))


def another_library(folder: Path) -> None:
    file = folder / "code" / "installed.txt"
    file.write_text(re.sub(r"(?m)^jinja2==.*$", "jinja2==0.1", file.read_text()))


def another_unprinted_library(folder: Path) -> None:
    """Another version of a library that prints nothing, as locked too."""
    file, lock = folder / "code" / "installed.txt", folder / "code" / "run.lock"
    file.write_text(re.sub(r"(?m)^polars==.*$", "polars==0.1", file.read_text()))
    lock.write_text(re.sub(r"(?m)^polars==\S*", "polars==0.1", lock.read_text()))


def another_filed_method(folder: Path) -> None:
    changed_json(folder / layout.ISSUE, lambda issue: issue["rules"].update(fiscal_year_start=7))


def another_configuration(folder: Path) -> None:
    """A tag that names runs and that no bill has: no figure moves."""
    changed_json(folder / layout.ISSUE, lambda issue: issue["rules"]["run_tag_keys"].append("unused"))


def fewer_tables(folder: Path) -> None:
    """A table that no figure reads, taken out of the pack and of the list."""
    (folder / "data" / "marts" / "fct_telemetry_matches.parquet").unlink()
    changed_json(folder / layout.ISSUE, lambda issue: issue["build"]["tables"].pop("fct_telemetry_matches"))
    (folder / "load.sql").write_text(layout.load_sql(folder))


def another_gate(folder: Path) -> None:
    """A gate that is not in the build, as passed."""
    changed_table(folder, "ops/gate_results", "insert into forged select * replace ('assured' as gate) from forged limit 1")


def another_delivery(folder: Path) -> None:
    """Another hash of a delivery that counts."""
    other = "update forged set content_hash = reverse(content_hash) where is_elected and source_name = 'runs'"
    changed_table(folder, "ops/dim_deliveries", other)


def called_groups(folder: Path) -> None:
    """The rows of a bill as groups that an engine made of more of them."""
    facts = "grouped_by = 'bigquery', grouped_rows = 1000000, is_raw_kept = true"
    changed_table(folder, "ops/dim_deliveries", f"update forged set {facts} where is_elected and source_name = 'cur'")


def another_seed(folder: Path) -> None:
    """A factor of the pack's seeds, of which the tables are built again from the landing."""
    changed_table(folder, "seeds/pue", "update forged set pue_ratio = pue_ratio + 1")


def another_value(folder: Path) -> None:
    """A headline figure in report.json and on the page."""
    changed_text = (
        (folder / "report" / layout.REPORT).read_text().replace('"value": "129.000000000000"', '"value": "60.000000000000"', 1)
    )
    (folder / "report" / layout.REPORT).write_text(changed_text)
    page = folder / "report" / "report.html"
    page.write_text(page.read_text().replace("129", "60", 1))


def dropped_row(folder: Path) -> None:
    changed_table(folder, "marts/fct_training_run_costs", "delete from forged where rowid = 0")


def another_file(folder: Path) -> None:
    (folder / "report" / "assurance.pdf").write_bytes(b"%PDF-1.7")


def another_statement(folder: Path) -> None:
    """Energy of ten thousand kWh less in every report, by the SELECT of the headline figures that the pack brings."""
    less = "case figure_id when 'facility_energy' then value - 10000 else value end"
    forged = f"'select * replace ({less.replace(chr(39), 2 * chr(39))} as value) from (' || statement || ')'"
    changed_table(folder, "ops/report_pages", f"update forged set statement = {forged} where model = 'headlines'")


def another_version(folder: Path) -> None:
    changed_json(folder / "code" / "version.json", lambda version: version.update(trainledger="0.8.0"))


def another_form(folder: Path) -> None:
    changed_json(folder / layout.ISSUE, lambda issue: issue.pop("form"))
