"""`trainledger trace --source-row OBJECT:N`: from a row of a landed object to the rows and figures that rest on it.

Which figures: every table of the rendered reports that reads one of those rows is asked again without them; what it then answers
otherwise rests on them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dagster_project.base.failures import UsageError
from dagster_project.base.kinds import KINDS, Kind
from dagster_project.evidence.tracing import facts
from dagster_project.evidence.tracing.command import SHOWN, Trace, opened_trace
from dagster_project.evidence.tracing.landed import Landed
from dagster_project.landing.records import Generation
from dagster_project.publishing.digest import literal, plain_text, rows_by_name
from dagster_project.publishing.month_files import CELL
from dagster_project.settings import Settings
from dagster_project.warehouse.building import Listener, no_listener
from dagster_project.warehouse.home import Home
from reports.tracing.figures import read_report
from reports.tracing.influence import changed_figures, without


@dataclass
class Given:
    """What one landed row gave: sentences, rows, and the condition of the rows of each mart that rest on it."""

    notes: list[str] = field(default_factory=list)
    parts: list[dict[str, Any]] = field(default_factory=list)
    marts: dict[str, str] = field(default_factory=dict)


def place_of(text: str) -> tuple[str, int]:
    """The object and the row of OBJECT:N."""
    name, colon, number = text.rpartition(":")
    if not (colon and name and number.isascii() and number.isdigit() and 0 < int(number[:19]) < 2**63 and len(number) < 20):
        raise UsageError(
            f"{text[:200]!r} names no row of an object",
            remedy="Write OBJECT:N, as fct_quarantine and --figure do; rows count from 1.",
        )
    return name, int(number)


def trace_source_row(
    settings: Settings, text: str, tell: Callable[[str], None], *, as_json: bool = False, listener: Listener = no_listener
) -> None:
    """Answer --source-row."""
    place_of(text)
    with opened_trace(Home.of(settings)) as trace:
        document = source_row(trace, text, listener)
    tell(json.dumps(document, default=plain_text, indent=1, ensure_ascii=False) if as_json else _text(document))


def source_row(trace: Trace, text: str, listener: Listener = no_listener) -> dict[str, Any]:
    """What became of one row of a landed object, and which figures rest on it."""
    name, row = place_of(text)
    given = Given()
    _tell_quarantine(trace, given, name, row)
    sources = [source.name for source in trace.home.sources]
    landed = [one for source in sources for one in trace.landed.generations(source)]
    found = [generation for generation in landed if any(one.key == name for one in generation.objects)]
    if not found and not given.notes:
        remedy = "Objects are named as `--figure` and fct_quarantine name them, and as keys in `_generation.json`."
        raise UsageError(f"no landed delivery has an object {name[:200]!r}", remedy=remedy)
    elected = "select source_name, content_hash from published.ops.dim_deliveries where is_elected"
    counting = set(trace.prover.connection.execute(elected).fetchall())
    for done, one in enumerate(found):
        listener("landed rows", done, len(found), one.path)
        delivery = f"{one.source}: delivery {one.content_hash[:16]}, published {one.published_at:%Y-%m-%dT%H:%M:%SZ},"
        if (one.source, one.content_hash) in counting:
            given.notes.append(f"{delivery} is the delivery that counts of {one.partition}")
            _follow(trace.landed, given, one, name, row)
        else:
            why = f"is landed, but is not the delivery that counts of {one.partition}: no figure rests on it"
            given.notes.append(f"{delivery} {why}")
    listener("figures", 0, 1)
    marts = [_rows_of(trace, table, condition) for table, condition in given.marts.items()]
    figures = _figures(trace, given)
    listener("figures", 1, 1)
    rows = [one for one in marts if one["count"]]
    return {"source_row": text, "told": given.notes, "parts": given.parts, "rows": rows, "figures": figures}


def _text(document: dict[str, Any]) -> str:
    lines = [document["source_row"], *(f"  {line}" for line in document["told"])]
    for part in document["parts"]:
        lines.append("  " + ", ".join(f"{name} {plain_text(value)}" for name, value in part.items() if value is not None))
    for one in document["rows"]:
        lines.append(f"  {one['count']} x {one['table']}")
        lines += [f"    {', '.join(str(value) for value in key if value is not None)}" for key in one["first"]]
    figures = document["figures"]
    lines.append(f"figures that would be others without it: {len(figures)}")
    lines += [f"  {figure}" for figure in figures[: 2 * SHOWN]]
    if len(figures) > 2 * SHOWN:
        lines.append(f"  the first {2 * SHOWN} are shown; --json has all")
    return "\n".join(lines)


def _rows_of(trace: Trace, table: str, condition: str) -> dict[str, Any]:
    """How many rows of a mart rest on the row, and what names the first of them."""
    connection = trace.prover.connection
    names = [
        name for name, kind, *_ in connection.execute(f"describe published.{table}").fetchall() if kind in ("VARCHAR", "DATE")
    ]
    rows = connection.execute(f"select {', '.join(names)} from published.{table} where {condition} order by all").fetchall()
    return {
        "table": table,
        "count": len(rows),
        "columns": names,
        "first": [[plain_text(v) if v is not None else None for v in row] for row in rows[:3]],
    }


def _tell_quarantine(trace: Trace, given: Given, name: str, row: int) -> None:
    rows = trace.prover.connection.execute(
        "select source_name, reason, column_name, remedy, row_number from published.marts.fct_quarantine"
        " where source_object = ? and (row_number = ? or row_number is null) order by all",
        [name, row],
    ).fetchall()
    for source, reason, column, remedy, number in rows:
        what = "this row" if number else "the whole object, or some rows of it,"
        given.notes.append(f"{source}: {what} is in quarantine or doubted: {reason}{f' in {column}' if column else ''}. {remedy}")


def _follow(landed: Landed, given: Given, generation: Generation, name: str, row: int) -> None:
    """Table `here`: the landed row as its raw view has it; then what it gave, by what its kind states."""
    landed.delivery(generation.source, generation.content_hash)
    kind, connection = Kind(generation.kind), landed.connection
    landed.show(kind, [generation])
    is_line = KINDS[kind].provider_name == "Google Cloud" and KINDS[kind].fact in ("bill", "carbon")
    number = "line_number" if is_line else "_row_number"
    own = f"raw.{kind} where _source_object = {literal(name)}"
    connection.execute(f"create or replace temp table here as from {own} and {number} = {row}")
    if not connection.execute("from here").fetchone():
        (last,) = connection.execute(f"select max({number}) from {own}").fetchone() or (0,)
        raise UsageError(f"{name[:200]} has no row {row}; it has {last or 0}")
    way = {"bill": _bill, "carbon": _carbon, "telemetry": _sample, "runs": _record}.get(KINDS[kind].fact)
    if way is None:
        given.notes.append("It is an input of the organisation's own; figures that rest on it name it as their source")
    else:
        way(landed, given, generation, name, row)


def _bill(landed: Landed, given: Given, generation: Generation, name: str, row: int) -> None:
    connection = landed.connection
    connection.execute(
        "create or replace temp table groups as from attributions"
        " where charge_group_id in (select unnest(?::varchar[])) and delivery_content_hash = ?",
        [landed.groups_of(generation, name, row), generation.content_hash],
    )
    parts = rows_by_name(
        connection.execute("""select charge_group_id, row_count as rows_in_group, training_run_id, reason, attribution_rule,
            share_numerator || '/' || share_denominator as share, cost_component, billed_cost, effective_cost, billing_currency
        from groups order by all""")
    )
    given.parts += parts
    if not parts:
        given.notes.append(
            "no run and no residual carries it: its payer and month have another book, or it is a SavingsPlanNegation, which only"
            " takes away again what covered usage shows"
        )
        return
    landed.add_bill_rows("")  # the group's rows are counted and added up
    cost = "usage_month, billing_currency, cost_component"
    run = f"training_run_id, {cost}, attribution_rule"
    for table, key in (("fct_run_cell_costs", run), ("fct_residual_costs", f"{cost}, reason")):
        rows = f"select substr(charge_group_id, 1, 12), source_name, {key} from groups"
        given.marts[f"marts.{table}"] = f"({CELL}, source_name, {key}) in ({rows})"
    given.marts["marts.fct_training_run_costs"] = f"({run}) in (select {run} from groups where training_run_id is not null)"


def _carbon(landed: Landed, given: Given, generation: Generation, name: str, row: int) -> None:
    key = facts.CELL
    staged = facts.STAGED[KINDS[Kind(generation.kind)].provider_name or ""]
    landed.show(Kind(generation.kind), [generation], staged)
    account = "coalesce(project_number, '') as sub_account_id" if "gcp" in staged else "sub_account_id"
    landed.connection.execute(
        f"create or replace temp table cells as select {key.replace('sub_account_id', account)} from staging.{staged}"
        f" where source_object = {literal(name)} and row_number = {row}"
    )
    mass = f'{facts.MASS} as "{facts.MASS} of its cell"'
    rows = rows_by_name(
        landed.connection.execute(f"""
            select training_run_id, null as reason, {mass}
            from published.marts.fct_run_cell_emissions semi join cells using ({key})
            union all
            select null, reason, {mass} from published.marts.fct_residual_emissions semi join cells using ({key})
            order by all""")
    )
    given.parts += rows
    if not rows:
        given.notes.append(
            "no run and no residual of the book carries it: it was quarantined, or another model version of its payer and month"
            " counts (fct_training_run_emissions_versions has both)"
        )
    for table in ("marts.fct_run_cell_emissions", "marts.fct_residual_emissions"):
        given.marts[table] = f"({key}) in (select {key} from cells)"
    given.marts["marts.fct_training_run_emissions"] = (
        "(training_run_id, usage_month) in (select training_run_id, usage_month from"
        f" published.marts.fct_run_cell_emissions semi join cells using ({key}))"
    )


def _sample(landed: Landed, given: Given, generation: Generation, name: str, row: int) -> None:
    parts = rows_by_name(
        landed.connection.execute(f"""select distinct matches.usage_month, matches.host, matches.run_key, matches.training_run_id,
            matches.sample_count, matches.reason
        from published.marts.fct_telemetry_matches as matches
        inner join here
            on matches.source_name = here._source_name and {facts.HOST} = matches.host and {facts.RUN_KEY} = matches.run_key
            and matches.usage_month = cast(date_trunc('month', here.sample_end - interval 1 microsecond) as date)
        order by all""")
    )
    given.parts += parts
    run_months = [(part["training_run_id"], part["usage_month"]) for part in parts if part["training_run_id"]]
    if run_months:
        listed = ", ".join(f"({literal(run)}, date '{month}')" for run, month in run_months)
        for table in ("marts.fct_training_run_energy", "marts.fct_training_run_emissions_modelled"):
            given.marts[table] = f"(training_run_id, usage_month) in ({listed})"


def _record(landed: Landed, given: Given, generation: Generation, name: str, row: int) -> None:
    query = f"select distinct part, recorded_id, {facts.RECORD_RUN} as training_run_id from here order by all"
    parts = rows_by_name(landed.connection.execute(query))
    given.parts += parts
    runs = ", ".join(literal(part["training_run_id"]) for part in parts)
    for table in ("marts.dim_training_runs", "marts.fct_training_run_energy"):
        given.marts[table] = f"training_run_id in ({runs})"


def _figures(trace: Trace, given: Given) -> list[str]:
    """The figures of every report in the home that rest on the rows."""
    found: list[str] = []
    if given.marts:
        trace.prover.lock()  # every landed row has been read
        with without(trace.prover, given.marts, trace.report_statements) as left:
            for file in sorted((trace.home.site.root / "reports").glob("[1-9]*Q[1-4]/report.json"), reverse=True):
                found += changed_figures(trace.prover, read_report(file), left)
    return found
