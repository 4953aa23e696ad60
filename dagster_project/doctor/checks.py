"""What doctor states: one finding, with its remedy for people and its facts for programs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from reports.runs.advice import UNKNOWN_FIGURES

Outcome = Literal["ok", "warning", "problem"]
SHOWN = 5  # names in one message; the facts have more
KEPT = 100
REMEDIES: dict[str, dict[str, str]] = {
    **yaml.safe_load(Path(__file__).with_name("remedies.yml").read_bytes()),
    "unknown_figures": UNKNOWN_FIGURES,
}


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: about what, how bad, in words, and what to do; for programs the question it answers and its facts."""

    about: str
    outcome: Outcome
    message: str
    remedy: str = ""
    is_source: bool = False
    question: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def answered(about: str, question: str, message: str, remedy: str = "", facts: dict[str, Any] | None = None) -> Check:
    """What sources show of a question: a warning where there is something to do about it."""
    return Check(about, "warning" if remedy else "ok", message, remedy, True, question, facts or {})


def some(names: Sequence[str], of: int | None = None) -> str:
    """The first names, and how many more there are; `of` them where not all were asked for."""
    rest = (of or len(names)) - min(SHOWN, len(names))
    more = f" and {rest:,} more" if rest else ""
    return ", ".join(names[:SHOWN]) + more


def counted(number: int, what: str) -> str:
    """A number with its noun: 1 file, 2,000 files."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def share(part: Any, whole: Any) -> float | None:
    """A part of a whole at four digits; 1 only if nothing is missing, 0 only if nothing is there, None without a whole."""
    if not whole:
        return None
    ratio = round(float(part / whole), 4)
    if part != whole and ratio == 1:
        return 0.9999
    return 0.0001 if part and ratio == 0 else ratio


def percent(ratio: float | None) -> str:
    """A share for people: 83.2 %, 100 %."""
    return "no" if ratio is None else f"{ratio * 100:.4g} %"


def size(number: int) -> str:
    """Bytes for people."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}" if unit != "bytes" else f"{number} bytes"
        number = number / 1000  # type: ignore[assignment]
    return f"{number:,.1f} GB"
