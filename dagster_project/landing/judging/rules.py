"""What is asked of a delivery of a bill or of carbon before it may count, as expectations over one row of numbers per delivery.

The numbers are worked out in judge.py; null means that a question does not apply, and meets every expectation. What the connector
refuses (a missing column, a wrong type, a required value that is null) is not asked again. Three of these rules hold a delivery
back: the bill of another payer must not replace this one's, nor a tenth of a bill the whole. The others are warnings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dagster_project.base.dbt_project import files_hash
from dagster_project.landing.deriving.contents import JUDGED, Contents
from dagster_project.settings import SourceSettings

SUITE = "deliveries"
FEW = 1000  # rows of a delivery that may well halve in the next one
EVERY_ONE_JUDGED = f"gx.{SUITE}.every_delivery_was_judged"  # the one gate about the judging itself, which a build must pass


@dataclass(frozen=True, slots=True)
class Rule:
    """One expectation: its name, the measure it looks at, the Great Expectations type and its arguments."""

    name: str
    measure: str
    expectation: str
    arguments: Mapping[str, Any]

    @property
    def gate(self) -> str:
        """The gate that shows it."""
        return f"gx.{SUITE}.{self.name}"

    @property
    def in_words(self) -> str:
        """The rule as people read it."""
        what = "Until it is accepted, such a delivery does not count" if self.name in HOLDING else "A warning: it blocks nothing"
        return f"{self.name.replace('_', ' ').capitalize()}. {what}."

    def is_met(self, measure: float | None) -> bool:
        """The expectation as a predicate: which delivery the next of one batch follows is known before the batch is validated."""
        if measure is None:
            return True
        return measure in self.arguments["value_set"] if "value_set" in self.arguments else measure >= self.arguments["min_value"]


NONE = "ExpectColumnValuesToBeInSet", {"value_set": [0]}
HALF = "ExpectColumnValuesToBeBetween", {"min_value": 0.5}
RULES = (
    # its shape
    Rule("every_line_is_of_a_known_type", "unknown_line_types", *NONE),
    Rule("every_required_column_has_a_value", "empty_columns", *NONE),
    Rule("every_currency_is_a_code", "odd_currencies", *NONE),
    Rule("most_use_is_of_the_time_of_the_delivery", "timely_lines_ratio", *HALF),
    # its history: against the delivery before it in its partition
    Rule("rows_do_not_collapse_against_the_previous_delivery", "rows_ratio_to_previous", *HALF),
    Rule("accounts_do_not_collapse_against_the_previous_delivery", "accounts_ratio_to_previous", *HALF),
    Rule("payers_of_the_previous_delivery_are_there", "lost_payers", *NONE),
    Rule("currencies_of_the_previous_delivery_are_there", "lost_currencies", *NONE),
    Rule("columns_are_those_of_the_previous_delivery", "changed_columns", *NONE),
    Rule("columns_keep_their_values_against_the_previous_delivery", "emptied_columns", *NONE),
)
HOLDING = {rule.name for rule in RULES if rule.measure in ("rows_ratio_to_previous", "accounts_ratio_to_previous", "lost_payers")}


def unlike(contents: Contents) -> dict[str, str]:
    """The holding rules that a delivery does not meet, with what was found; empty where it may follow the one before it."""
    found = contents.verdict.failed if contents.verdict else {}
    return {name: words for name, words in found.items() if name in HOLDING}


@cache
def rules_version() -> str:
    """Twelve hex digits that change with what is asked and with how it is worked out."""
    here = Path(__file__).resolve().parent
    return files_hash(here, sorted(here.glob("*.py")))[:12]


def lacks_verdict(source: SourceSettings, contents: Contents) -> bool:
    """Whether a delivery is still to be judged."""
    if source.facts.fact not in JUDGED or not contents.is_taken:
        return False
    return contents.verdict is None or contents.verdict.version != rules_version()
