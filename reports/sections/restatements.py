"""What issued reports stated, what is known now, and why it differs; and the policy that decides whether to restate.

The rows are marts.fct_restatements, worked out by `trainledger restatements`; they are added up here and nothing else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from reports.issue import METHOD, RESTATEMENT, Issue, Policy
from reports.model import Section, Sentence, Span, Table
from reports.page.numbers import amount, grouped
from reports.pages import answer, answered, rows
from reports.publication import Publication
from reports.quarter import listed

CAUSES = {
    "code": "Code",
    "bill": "Bill",
    "run_record": "Run record",
    "late_log": "Late log",
    "provider_model_version": "Provider model version",
    "factor_or_seed": "Factor or seed",
}

TREATMENTS = {RESTATEMENT: "restatement", METHOD: "change of method"}
MAIN = {  # headline figures that a line of a cause names
    "effective_cost": "cost",
    "facility_energy": "energy",
    "provider_total_location_based": "LBM",
    "provider_total_market_based": "MBM",
}
COLUMNS = {  # of restated_by_cause: each with its unit, or the column that has it
    "effective_cost": ("moved_effective_cost", "billing_currency"),
    "facility_energy": ("moved_facility_energy_kwh", "kWh"),
    "provider_total_location_based": ("moved_location_based_kgco2e", "kgCO2e"),
    "provider_total_market_based": ("moved_market_based_kgco2e", "kgCO2e"),
}


def policy_words(policy: Policy | None) -> str:
    """The policy in sentences, for readers who decide by it."""
    if policy is None:
        return "No restatement policy is configured."
    threshold = f"{grouped(policy.restatement_threshold * 100, 1)} %"
    named = [CAUSES[cause].lower() for cause, treatment in policy.restates.items() if treatment == METHOD]
    methods = f" What is moved by {listed(named)} is a change of method: shown as one, and not counted there." if named else ""
    base = f" Base year: {policy.base_year}." if policy.base_year else " No base year is configured."
    prepared = f" Prepared by {policy.prepared_by}." if policy.prepared_by else " Nobody is named as preparer."
    approved = (
        f" May be approved by {', '.join(policy.approved_by)}." if policy.approved_by else " Nobody may approve reports yet."
    )
    return (
        f"Policy: a published figure is restated when its cumulative change against the published value reaches {threshold}; "
        f"below that the change is disclosed here.{methods}{base}{prepared}{approved}"
    )


def decision(was: Decimal | None, known_now: Decimal | None, policy: Policy, steps: Mapping[str, Decimal | None]) -> str:
    """restate, disclose, method or unchanged: by the cumulative change against what was published, without changes of method.

    `steps` is what each cause moved, null where a side of it is unknown.
    """
    if was == known_now:
        return "unchanged"
    by_method = [delta for cause, delta in steps.items() if policy.restates[cause] == METHOD]
    if not any(delta != 0 for cause, delta in steps.items() if policy.restates[cause] != METHOD):
        return "method"
    if was is None or known_now is None or None in by_method or was == 0:
        return "restate"  # what was published as a number and is unknown now, or the other way, has no small change
    rest = known_now - was - sum((delta for delta in by_method if delta), Decimal(0))
    return "restate" if abs(rest) >= policy.restatement_threshold * abs(was) else "disclose"


def cause_line(cause: str, policy: Policy, moved: Mapping[str, tuple[Decimal, str]], figures: int, texts: int) -> str:
    """Provider model version (change of method): LBM -0.18 t, 34 figures, 2 texts. `moved`: headline figures with units."""
    main = [
        f"{words} {'-' if moved[name][0] < 0 else '+'}{amount(abs(moved[name][0]), moved[name][1])}"
        for name, words in MAIN.items()
        if name in moved and moved[name][0]
    ]
    counted = [f"{count} {word}{'' if count == 1 else 's'}" for count, word in ((figures, "figure"), (texts, "text")) if count]
    return f"{CAUSES[cause]} ({TREATMENTS[policy.restates[cause]]}): {', '.join([*main, *counted])}"


def _lines(table: Table, policy: Policy) -> Iterator[Sentence]:
    """A line per report and cause, before the figures."""
    for row in table.rows:
        moved = {
            name: (row[column], str(row.get(unit, unit))) for name, (column, unit) in COLUMNS.items() if row[column] is not None
        }
        words = cause_line(str(row["cause"]), policy, moved, row["figure_count"], row["text_count"])
        yield Sentence(f"restated,{row['report_id']},{row['cause']}", (f"{row['report_id']}, {words}.",))


def _breaks(publication: Publication) -> str:
    """Reports whose figures moved because the provider changed its model or the code changed: no trend crosses that."""
    words = {"provider_model_version": "emissions delivered again by the provider", "code": "another version of the code"}
    named = [f"{row['report_id']} ({words[row['cause']]})" for row in rows(publication, "breaks_in_series", {})]
    return f" Breaks in series: {', '.join(named)}." if named else " No break in series."


def section(publication: Publication, span: Span, policy: Policy | None = None, issue: Issue | None = None) -> Section:
    """Policy, preparer and approver, breaks in series, and the figures that moved with their decision."""
    table = answer(publication, span, "restated")
    lead = policy_words(policy)
    if issue:
        lead += f" This report was prepared by {issue.prepared_by} and approved by {issue.approver}."
        lead += f" It takes the place of {issue.supersedes}." if issue.supersedes else ""
    if table.absent:
        return Section(
            "restatements", "Restatements", lead=lead, absent="No issued report has been compared with what is known now."
        )
    policy = policy or Policy()
    decided = [
        decision(row["was"], row["known_now"], policy, {cause: row[f"{cause}_delta"] for cause in CAUSES}) for row in table.rows
    ]
    if decided:
        counts = {word: decided.count(word) for word in ("restate", "disclose", "method")}
        lead += (
            f" Of the figures below {counts['restate']} are to be restated, {counts['disclose']} disclosed, and "
            f"{counts['method']} moved by a change of method alone."
        )
    others = answered(publication, span, "restated_by_cause", "restated_texts")
    lines = tuple(_lines(others["restated_by_cause"], policy)) if "restated_by_cause" in others else ()
    shown = tuple(
        column for column in table.spec.columns if not column.key.endswith("_delta") or any(row[column.key] for row in table.rows)
    )
    table = replace(table, spec=replace(table.spec, columns=shown)) if table.rows else table
    by_id = {**others, table.id: table}
    tables = tuple(by_id[id] for id in ("restated_by_cause", table.id, "restated_texts") if id in by_id)
    return Section("restatements", "Restatements", lead=lead + _breaks(publication), tables=tables, sentences=lines)
