"""How `trainledger status` lays out months: a table of twelve, and in lines what is wrong in the months before them."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from dagster_project.months import months_between

if TYPE_CHECKING:
    from dagster_project.commands.status import SourceStatus

SHOWN_MONTHS = 12
# four letters a month: twelve of them fit on 120 columns beside the source
STATES = {
    "landed": ("land", "green"),
    "final": ("fin", "green"),
    "preliminary": ("prel", "yellow"),
    "not_published": ("-", "dim"),
    "missing": ("MISS", "bold red"),
    "quarantined": ("QUAR", "bold red"),
}
WRONG = ("missing", "quarantined")


def tables(sources: "Sequence[SourceStatus]", title: str, *, everything: bool) -> list[Table]:
    """The newest twelve months, or with `everything` all of them, in tables of twelve, the newest last."""
    months = sorted({cell.month for source in sources for cell in source.months})
    blocks = [months[max(end - SHOWN_MONTHS, 0) : end] for end in range(len(months), 0, -SHOWN_MONTHS)] or [[]]
    shown = blocks[::-1] if everything else blocks[:1]
    return [_table(sources, title if number == 0 else "", block) for number, block in enumerate(shown)]


def legend(sources: "Sequence[SourceStatus]") -> str:
    """What the words of the cells mean, as far as they are used."""
    used = {cell.state for source in sources for cell in source.months}
    return ", ".join(f"[{style}]{word}[/] {state.replace('_', ' ')}" for state, (word, style) in STATES.items() if state in used)


def older_wrong(source: "SourceStatus", sources: "Sequence[SourceStatus]") -> str:
    """What is wrong in months before the newest twelve: `missing 2019-03, 2019-05..2019-08`; '' where nothing is."""
    months = sorted({cell.month for one in sources for cell in one.months})[:-SHOWN_MONTHS]
    found = {state: [cell.month for cell in source.months if cell.state == state and cell.month in months] for state in WRONG}
    return "; ".join(f"{state} {', '.join(ranges(wrong))}" for state, wrong in found.items() if wrong)


def ranges(months: Iterable[str]) -> list[str]:
    """Months in order, those that follow each other as one: 2019-03, 2019-05..2019-08."""
    listed = list(months)
    known = {month: number for number, month in enumerate(months_between(listed[0], listed[-1]))}
    runs = [[month for _, month in group] for _, group in groupby(enumerate(listed), key=lambda pair: known[pair[1]] - pair[0])]
    return [run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in runs]


def _table(sources: "Sequence[SourceStatus]", title: str, months: list[str]) -> Table:
    table = Table(title=title or None, title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("source", max_width=25, overflow="fold")
    table.add_column("kind", no_wrap=True)
    for name in ("landed", "elected"):
        table.add_column(name, justify="right", no_wrap=True)
    years = [month[:4] if number == 0 or month.endswith("-01") else "" for number, month in enumerate(months)]
    for year, month in zip(years, months, strict=True):
        table.add_column(f"{year}\n{month[5:]}", no_wrap=True, min_width=4)
    for source in sources:
        cells = {cell.month: "[{1}]{0}[/]".format(*STATES[cell.state]) for cell in source.months}
        counts = (f"{source.landed:,}", f"{source.elected:,}")
        table.add_row(escape(source.name), source.kind, *counts, *(cells.get(month, "") for month in months))
    return table
