"""What is configured or decided about a report and is in no published file: the restatement policy, and who issued it.

Issuing is an act of two people. This module keeps its words; the act itself, its evidence pack and its chain are the line's.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, Self

RESTATEMENT, METHOD = "restatement", "method"
RESTATES = {  # by cause: what moves a published figure is a reason to restate it, or another way of working it out
    "code": METHOD,
    "bill": RESTATEMENT,
    "run_record": RESTATEMENT,
    "late_log": RESTATEMENT,
    "provider_model_version": METHOD,
    "factor_or_seed": RESTATEMENT,
}


@dataclass(frozen=True)
class Policy:
    """From which cumulative change a published figure is restated, by which causes, against which year; who answers for it."""

    restatement_threshold: Decimal = Decimal("0.05")
    base_year: int | None = None
    prepared_by: str | None = None
    approved_by: tuple[str, ...] = ()
    restates: Mapping[str, str] = field(default_factory=lambda: dict(RESTATES))  # RESTATEMENT or METHOD by cause

    def record(self) -> dict[str, object]:
        return {**asdict(self), "restatement_threshold": str(self.restatement_threshold)}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """The policy that `record` wrote."""
        return cls(
            Decimal(record["restatement_threshold"]),
            record["base_year"],
            record["prepared_by"],
            tuple(record["approved_by"]),
            RESTATES | record.get("restates", {}),
        )


@dataclass(frozen=True)
class Issue:
    """The act of issuing: which report, when, by whom, and the report it takes the place of."""

    report_id: str
    issued_at: str  # ISO 8601 in UTC
    approver: str
    prepared_by: str
    supersedes: str | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})
