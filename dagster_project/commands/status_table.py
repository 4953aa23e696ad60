"""How `trainledger status` looks: a table of twelve months, then in lines whatever is wrong, also in the months before them."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from textwrap import fill

from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from connectors.layouts.accounting import nothing_there
from dagster_project.base.months import months_between
from dagster_project.commands.last_publication import telemetry_line
from dagster_project.commands.status import SourceStatus, Status

SHOWN = 3  # quarantined places and unknown columns of one source; `--all` and `--json` have the others
SHOWN_MONTHS = 12
MOST_OF_A_NAME = 25
# four letters a month: twelve of them fit on 120 columns beside the source, four or five on 80
STATES = {
    "landed": ("land", "green"),
    "final": ("fin", "green"),
    "preliminary": ("prel", "yellow"),
    "not_published": ("-", "dim"),
    "missing": ("MISS", "bold red"),
    "quarantined": ("QUAR", "bold red"),
}
WRONG = ("missing", "quarantined")
UNKNOWN_SKU = "They count as an accelerator without a type, so without energy: report the description."


def table_text(status: Status, width: int | None = None, *, everything: bool = False) -> str:
    """The status for people: the newest twelve months of each source, then whatever is wrong; `everything` leaves nothing out."""
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        title = f"Landing at {status.at:%Y-%m-%d %H:%M} UTC"
        months = sorted({cell.month for source in status.sources for cell in source.months})
        for table in tables(status.sources, title, months, _across(status.sources, console.width), everything=everything):
            console.print(table)
            console.print()
        if words := legend(status.sources):
            console.print(f"{words}\n")
        for style, head, text in _lines(status, months[:-SHOWN_MONTHS], everything):
            line = fill(f"{head} {text}", console.width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
            shown = Text(line)
            shown.stylize(style, 0, len(head))
            console.print(shown, soft_wrap=True)
    return captured.get().rstrip()


def _lines(status: Status, earlier: list[str], everything: bool) -> Iterator[tuple[str, str, str]]:
    """What is to be known below the table, also of months before those in it: how its head looks, the head, the text."""
    for source in status.sources:
        yield from _lines_of(source, earlier, everything)
    if status.telemetry:
        yield "", "telemetry", telemetry_line(status.telemetry)
    if status.contradictions:
        counts = ", ".join(f"{count:,} of {name}" for name, count in status.contradictions.items())
        yield "bold yellow", "contradictions", f"{counts}; fct_run_conflicts has both sides and which one counts"
    for sku in status.unknown_tpu_skus:
        yield "bold yellow", "unknown TPU SKU", f"{sku.sku_description!r} in {sku.row_count:,} rows. {UNKNOWN_SKU}"
    for warning in status.warnings:
        yield "bold yellow", "warning", warning
    for late in status.late:
        yield "bold red" if late.level == "fail" else "bold yellow", "late", str(late)
    if held := status.home:
        parts = f"landing {decimal(held.landing)}, cache {decimal(held.cache)}, published {decimal(held.published)}"
        counted = "not counted" if held.history is None else decimal(held.history)
        history = f"Dagster's history {counted} of {decimal(held.history_limit)}"
        free = decimal(held.free_of_landing + held.free_of_history)
        yield "", "home", f"{parts}, {history}; `trainledger prune` would free {free}"


def _lines_of(source: SourceStatus, earlier: list[str], everything: bool) -> Iterator[tuple[str, str, str]]:
    name, shown = source.name, len(source.quarantined) if everything else SHOWN
    wrong = {state: [cell.month for cell in source.months if cell.state == state and cell.month in earlier] for state in WRONG}
    if not everything and any(wrong.values()):
        listed = "; ".join(f"{state} {', '.join(ranges(months))}" for state, months in wrong.items() if months)
        yield "bold red", "earlier months", f"of {name}: {listed}"
    for item in source.quarantined[:shown]:
        yield "bold red", "quarantined", f"{name}: {item['message']} {item['remedy']}"
    if len(source.quarantined) > shown:
        yield "bold red", "quarantined", f"{name}: {len(source.quarantined) - shown} more; --all shows them"
    objects = source.objects
    if objects and (objects.refused or objects.awaited or objects.not_understood):
        counts = ", ".join(f"{number} {word.replace('_', ' ')}" for word, number in asdict(objects).items())
        yield "", "objects", f"of {name}: {counts}"
    if objects and (empty := nothing_there(source.location, objects)):
        yield "yellow", "empty", f"{name}: {empty[0]}. {empty[1]}"
    if asked := source.asked:
        days = f"the days from {asked.first_day} on" if asked.first_day else "all days"
        whole = "" if asked.complete_at == asked.at else f", and for all days on {asked.complete_at:%Y-%m-%d}"
        yield "", "asked", f"{name}: on {asked.at:%Y-%m-%d %H:%M} UTC for {days}{whole}"
    if columns := source.unknown_columns:
        more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN and not everything else ""
        yield "", "unknown columns", f"in {name}: {', '.join(columns if everything else columns[:SHOWN])}{more}"


def tables(sources: Sequence[SourceStatus], title: str, months: list[str], across: int, *, everything: bool) -> list[Table]:
    """The newest twelve months, or with `everything` all of them, in tables of as many as fit, the newest last."""
    months = months if everything else months[-SHOWN_MONTHS:]
    blocks = [months[max(end - across, 0) : end] for end in range(len(months), 0, -across)] or [[]]
    return [_table(sources, title if number == 0 else "", block) for number, block in enumerate(blocks[::-1])]


def _across(sources: Sequence[SourceStatus], width: int) -> int:
    """How many months fit beside the source: a table that is too wide would be cut."""
    words = [(one.name[:MOST_OF_A_NAME], one.kind, f"{one.landed:,}", f"{one.elected:,}") for one in sources]
    columns = zip(("source", "kind", "landed", "elected"), *words, strict=True)
    beside = sum(max(map(len, column)) + 1 for column in columns)
    return max(1, min(SHOWN_MONTHS, (width + 1 - beside) // 5))


def legend(sources: Sequence[SourceStatus]) -> str:
    """What the words of the cells mean, as far as they are used."""
    used = {cell.state for source in sources for cell in source.months}
    return ", ".join(f"[{style}]{word}[/] {state.replace('_', ' ')}" for state, (word, style) in STATES.items() if state in used)


def ranges(months: list[str]) -> list[str]:
    """Months in order, those that follow each other as one: 2019-03, 2019-05..2019-08."""
    known = {month: number for number, month in enumerate(months_between(months[0], months[-1]))}
    runs = [[month for _, month in group] for _, group in groupby(enumerate(months), key=lambda pair: known[pair[1]] - pair[0])]
    return [run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in runs]


def _table(sources: Sequence[SourceStatus], title: str, months: list[str]) -> Table:
    table = Table(title=title or None, title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("source", max_width=MOST_OF_A_NAME, overflow="fold")
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
