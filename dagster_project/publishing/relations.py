"""Which published table points to which: columns that hold another table's key. For the page of entities and the catalogue.

Only keys of small tables are declared to DuckDB (ADR 0001): this is for people, and a test asks the rows whether it is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# a table of which others hold the key: under which names they hold it, and a column that a table must have for them to mean it
REFERENCES: tuple[tuple[str, Mapping[str, str], str], ...] = (
    ("dim_training_runs", {"training_run_id": "training_run_id"}, ""),
    ("dim_accounts", {"provider_name": "provider_name", "sub_account_id": "account_id"}, "service_code"),
    ("dim_accounts", {"provider_name": "provider_name", "payer_account_id": "account_id"}, ""),
    # emission tables name services as carbon data do, where AWS knows four
    ("dim_services", {"provider_name": "provider_name", "service_code": "service_code"}, "billing_currency"),
    ("dim_regions", {"provider_name": "provider_name", "region_id": "region_id"}, "service_code"),
    ("dim_accelerators", {"accelerator_type": "accelerator_type"}, "source"),
    ("dim_emission_factors", {"factor_id": "factor_id"}, "training_run_id"),
)


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows of `child` point to one row of `parent`, by columns of the child and the parent's own."""

    child: str
    parent: str
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]


def relations(columns_of: Mapping[str, Sequence[str]]) -> Iterator[Relation]:
    """The relations of these tables, by the names of their columns."""
    for parent, names, needed in REFERENCES:
        for child, columns in sorted(columns_of.items()):
            own = set(columns)
            if parent in columns_of and child != parent and own >= names.keys() and (not needed or needed in own):
                yield Relation(child, parent, tuple(names), tuple(names.values()))
