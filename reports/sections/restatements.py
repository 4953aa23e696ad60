"""What issued reports stated, what is known now, and why it differs; and the policy that decides whether to restate.

The rows are marts.fct_restatements, worked out by `trainledger restatements`; they are added up here and nothing else.
"""

from dataclasses import replace
from decimal import Decimal

from reports.issue import Issue, Policy
from reports.model import Section
from reports.page.numbers import grouped
from reports.pages import answer, rows
from reports.publication import Publication
from reports.quarter import Quarter

CAUSES = {
    "code": "Code",
    "bill": "Bill",
    "run_record": "Run record",
    "late_log": "Late log",
    "provider_model_version": "Provider model version",
    "factor_or_seed": "Factor or seed",
}


def policy_words(policy: Policy | None) -> str:
    """The policy in sentences, for readers who decide by it."""
    if policy is None:
        return "No restatement policy is configured."
    threshold = f"{grouped(policy.restatement_threshold * 100, 1)} %"
    base = f" Base year: {policy.base_year}." if policy.base_year else " No base year is configured."
    prepared = f" Prepared by {policy.prepared_by}." if policy.prepared_by else " Nobody is named as preparer."
    approved = (
        f" May be approved by {', '.join(policy.approved_by)}." if policy.approved_by else " Nobody may approve reports yet."
    )
    return (
        f"Policy: a published figure is restated when its cumulative change against the published value reaches {threshold}; "
        f"below that the change is disclosed here.{base}{prepared}{approved}"
    )


def decision(was: Decimal | None, known_now: Decimal | None, threshold: Decimal) -> str:
    """restate, disclose or unchanged, by the cumulative change against what was published."""
    if was == known_now:
        return "unchanged"
    if was is None or known_now is None or was == 0:
        return "restate"  # what was published as a number and is unknown now, or the other way, has no small change
    return "restate" if abs(known_now - was) >= threshold * abs(was) else "disclose"


def _breaks(publication: Publication) -> str:
    """Reports whose figures moved because the provider changed its model or the code changed: no trend crosses that."""
    words = {"provider_model_version": "emissions delivered again by the provider", "code": "another version of the code"}
    named = [f"{row['report_id']} ({words[row['cause']]})" for row in rows(publication, "breaks_in_series", {})]
    return f" Breaks in series: {', '.join(named)}." if named else " No break in series."


def section(publication: Publication, quarter: Quarter, policy: Policy | None = None, issue: Issue | None = None) -> Section:
    """Policy, preparer and approver, breaks in series, and the figures that moved with their decision."""
    table = answer(publication, quarter, "restated")
    lead = policy_words(policy)
    if issue:
        lead += f" This report was prepared by {issue.prepared_by} and approved by {issue.approver}."
        lead += f" It takes the place of {issue.supersedes}." if issue.supersedes else ""
    if table.absent:
        return Section(
            "restatements", "Restatements", lead=lead, absent="No issued report has been compared with what is known now."
        )
    threshold = (policy or Policy()).restatement_threshold
    to_restate = [row for row in table.rows if decision(row["was"], row["known_now"], threshold) == "restate"]
    if table.rows:
        lead += f" Of those that moved {len(to_restate)} are to be restated and {len(table.rows) - len(to_restate)} disclosed."
    shown = tuple(
        column for column in table.spec.columns if not column.key.endswith("_delta") or any(row[column.key] for row in table.rows)
    )
    table = replace(table, spec=replace(table.spec, columns=shown)) if table.rows else table
    return Section("restatements", "Restatements", lead=lead + _breaks(publication), tables=(table,))
