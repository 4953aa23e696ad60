"""How every number of a published table and of a page is made: `meta.trace` of the dbt models, as one file.

`rules.json` is generated from the YAML beside the models (`python -m tests.evidence.known`), so that a trace needs no dbt, in a
home as in an auditor's small wheel. A rule names columns (none: all numeric ones that no other rule of the table names), in which
rows it holds (`when`), and one class:

    sum        rows of other tables add up to the figure, to the last digit
    share      the figure is a part of the sum of rows of other tables, and is divided among them in proportion
    ratio      one column over another of the same row, each with a rule of its own
    energy     integrals add up: joules or chip-seconds times their factor, divided once by `per`, for each region and pool
    statistic  its inputs are listed; the table's statement gives it again from them (`statement`: the tables that it reads), or
               where that reads more than is published `gives`, over the listed rows `p` and the row `own`
    lookup     a row of a seed, of an operation or of an input states it
    landed     rows of landed objects give it: bill, carbon, energy, samples, readings, records

A term of a sum is a table (`of`; own: the same row) with its column of the same name (`column`) in the rows that have the same
values in the columns of the own key. `by` names those that are called otherwise, by a column or an expression over the rows `p`;
null: not compared. `with` puts the columns of other tables beside the rows, by their keys. A quarter is compared with a month,
as is a fiscal year: `period: before` is the quarter before, `month_1` its first month. `where` is a further condition, `less`
takes the term away, `per` is what the unit of the rows is of the figure's (1000: kg of a tonne), `distinct` counts values
instead. A `loose` share is of rows of a whole month, of which only some hours are meant, or implied by them: it is divided, and
not followed from such a row back to the figure. `inputs` are rows that a share was reckoned with, `weighed` those by which rows
of landed objects were divided. `each` repeats a rule: `${mass}` in it is each of the listed words in turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("rules.json")
CLASSES = ("sum", "share", "ratio", "energy", "statistic", "lookup", "landed")
OWN = "own"  # the same row


@dataclass(frozen=True)
class Term:
    """Rows of a table that a figure is made of."""

    of: str
    column: str = ""
    by: Mapping[str, str | None] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    where: str = "true"
    period: str = ""
    is_less: bool = False
    is_loose: bool = False
    per: int = 1
    distinct: str = ""

    @classmethod
    def read(cls, text: Any) -> Term:
        """A table's name, or an object."""
        if isinstance(text, str):
            return cls(text)
        others = {name: value for name, value in text.items() if name not in ("with", "less", "loose")}
        beside = text.get("with", ())
        others["beside"] = (beside,) if isinstance(beside, str) else tuple(beside)
        return cls(**others, is_less=text.get("less", False), is_loose=text.get("loose", False))


@dataclass(frozen=True)
class Rule:
    """How some columns of a table are made, in the rows where it holds."""

    kind: str
    terms: tuple[Term, ...]
    columns: tuple[str, ...] = ()
    when: str = "true"
    inputs: tuple[Term, ...] = ()
    weighed: Term | None = None
    gives: str = ""

    @classmethod
    def read(cls, text: Mapping[str, Any]) -> Rule:
        """LookupError where a rule has no class, or two."""
        kinds = [kind for kind in CLASSES if kind in text]
        if len(kinds) != 1 or {*text} - {"columns", "when", "inputs", "weighed", "gives", *CLASSES}:
            raise LookupError(f"a rule of a trace has one class of {', '.join(CLASSES)}, columns and when: {text}")
        [kind] = kinds
        asked = text[kind] if isinstance(text[kind], list) else [text[kind]]
        terms = tuple(Term(OWN, one) if kind == "ratio" else Term.read(one) for one in asked)
        inputs = tuple(map(Term.read, text.get("inputs", ())))
        weighed = Term.read(text["weighed"]) if "weighed" in text else None
        return cls(kind, terms, tuple(text.get("columns", ())), text.get("when", "true"), inputs, weighed, text.get("gives", ""))


@dataclass(frozen=True)
class Traced:
    """A table or page, and how its numbers are made."""

    name: str
    schema: str
    key: tuple[str, ...]
    numbers: tuple[str, ...]
    rules: tuple[Rule, ...]

    def of(self, column: str) -> list[Rule]:
        """The rules of a column; of one that no rule names, those that name none."""
        named = [rule for rule in self.rules if column in rule.columns]
        return named or [rule for rule in self.rules if not rule.columns]


def repeated(text: Mapping[str, Any]) -> Iterator[Rule]:
    """The rules that one of the YAML stands for."""
    words = text.get("each", {})
    document = json.dumps({name: value for name, value in text.items() if name != "each"})
    for chosen in product(*words.values()):
        asked = document
        for name, word in zip(words, chosen, strict=True):
            asked = asked.replace(f"${{{name}}}", word).replace(f"${{{name}:lower}}", word.lower())
        yield Rule.read(json.loads(asked))


@cache
def traced() -> dict[str, Traced]:
    """Every published table and page by name."""
    return {
        name: Traced(
            name,
            one["schema"],
            tuple(one["key"]),
            tuple(one["numbers"]),
            tuple(chain.from_iterable(map(repeated, one["trace"]))),
        )
        for name, one in json.loads(FILE.read_bytes()).items()
    }
