"""What a report is made of before it has a look: tables with their SQL, figures with their reason, sections in order.

A column's `kind` is what it holds (and so how it is aligned, rounded and labelled); its `note` states in words what a null
there means.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from itertools import takewhile
from urllib.parse import quote

from reports.door import Row
from reports.quarter import FiscalYear, Quarter, Window

TEXT_KINDS = frozenset({"text", "code", "state", "month", "date", "time", "flag", "digest"})


@dataclass(frozen=True)
class Column:
    """One column: `money` is in the row's currency, `mass` in kgCO2e, `ratio` runs 0 to 1, `count` has no unit."""

    key: str
    label: str
    kind: str = "text"
    note: str = "not recorded"
    unit: str = ""
    group: str = ""  # a heading over neighbouring columns
    is_dropped_when_empty: bool = False  # from the page, never from the data files
    is_dropped_when_zero: bool = False  # likewise: a count of what is wrong, where nothing is
    is_data_only: bool = False  # a column of the data files that the page prints as part of another one, or not at all
    is_quiet_when_repeated: bool = False  # a name that heads several rows is read once
    bounds: tuple[str, ...] = ()  # the columns that hold the plausible low and high of this one
    name: str = ""  # the column that holds what people call this id

    @property
    def is_text(self) -> bool:
        return self.kind in TEXT_KINDS

    def unit_of(self, currency: str) -> str:
        """The unit of the stored value, as data files give it."""
        units = {"money": currency, "mass": "kgCO2e", "energy": "kWh", "hours": "h", "ratio": "1", "ratio_of": "1", "count": "1"}
        return self.unit or units.get(self.kind, "")


Span = Quarter | Window | FiscalYear  # what fills the marks of a query


@dataclass(frozen=True)
class TableSpec:
    """A table of a report and the query that gives its rows. Headings and method may hold the marks of `Quarter.fill`."""

    id: str
    title: str
    sql: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()  # what names a row; none: the names before the first measure, the currency first
    _: KW_ONLY
    method: str
    empty: str = "No rows."
    is_dropped_when_empty: bool = False  # where there is no question to answer: costs of one currency need no conversion
    model: str = ""  # whose rows it has: a view of schema pages, or a published table that is printed as it is
    page_rows: int = 40  # more rows are in the data file alone; the page counts them
    is_ranked: bool = False  # the largest first: of a long table the first ten stand in the text, all in an appendix
    is_data_only: bool = False  # in the data files and never on a page: what has only names unknown outside
    is_for_the_board: bool = False  # on its two pages, and never folded

    @property
    def row_key(self) -> tuple[str, ...]:
        names = [column.key for column in takewhile(lambda column: column.is_text, self.columns)]
        return self.key or tuple(sorted(names, key=lambda name: name != "billing_currency"))

    def of(self, span: Span) -> "TableSpec":
        fill = span.fill
        columns = tuple(replace(c, label=fill(c.label), group=fill(c.group), note=fill(c.note)) for c in self.columns)
        return replace(self, title=fill(self.title), columns=columns, method=fill(self.method))


ROWS_IN_TEXT, TEN = 12, 10  # a longer table is an appendix; what is of a ranked one in its place


@dataclass(frozen=True)
class Table:
    """The spec of a quarter and its answer. `code` is the reference code on paper; `absent` is the reason for no answer."""

    spec: TableSpec
    rows: tuple[Row, ...] = ()
    absent: str = ""
    code: str = ""
    quarter: str = ""

    @property
    def id(self) -> str:
        return self.spec.id

    @property
    def is_long(self) -> bool:
        """More rows than a reader of the text wants: the table is an appendix."""
        return len(self.rows) > ROWS_IN_TEXT and not self.spec.is_data_only

    def row_id(self, row: Row) -> str:
        """What names a row among all reports; with `/<column>` behind it, the id of a figure."""
        return f"{self.quarter}/{self.id}/{key_text(row[key] for key in self.spec.row_key)}"


def key_text(values: Iterable[object]) -> str:
    """Values of a key as one text: percent-encoded, so that a comma or slash in a name separates nothing."""
    return ",".join("" if value is None else quote(str(value), safe="") for value in values)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One headline number: of the training runs, with the whole beside it, the last quarter, and the change or why there is none.

    The fields are in the order of report.json.
    """

    id: str
    label: str
    value: Decimal | None = None
    unit: str
    method: str
    sql: str
    low: Decimal | None = None  # plausible bounds where the figure is modelled
    high: Decimal | None = None
    known: tuple[Decimal, Decimal, Decimal] | None = None  # what is known of a figure that is not whole: value, low, high
    known_label: str = ""
    whole: Decimal | None = None
    whole_label: str = ""
    all_label: str = ""  # of a mass that we file, or not: what the whole is called; it is in front then, of which training runs
    prior_quarter: str = ""
    prior: Decimal | None = None
    prior_low: Decimal | None = None
    prior_high: Decimal | None = None
    change: Decimal | None = None
    change_by_activity: Decimal | None = None
    change_by_method: Decimal | None = None
    change_ratio: Decimal | None = None
    change_reason: str = ""
    absent: str = ""
    is_on_first_page: bool = False


@dataclass(frozen=True)
class Number:
    """A number in a sentence: the id of the figure it is, and how it is written there."""

    figure_id: str
    text: str


@dataclass(frozen=True)
class Sentence:
    """One statement: words, and numbers that are figures of the record."""

    id: str
    parts: tuple[str | Number, ...]

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)


VERDICT = "verdict,"  # what the id of a workload's sentence begins with
VERDICTS_FOR_THE_BOARD = 8


@dataclass(frozen=True)
class Section:
    """A chapter: sentences, tables in reading order, charts by the table they are drawn beside.

    `absent` is a sentence for the reader where a chapter has nothing to show, such as a quarter on one platform alone.
    """

    id: str
    title: str
    lead: str = ""
    tables: tuple[Table, ...] = ()
    charts: Mapping[str, Sequence[object]] = field(default_factory=dict)
    absent: str = ""
    sentences: tuple[Sentence, ...] = ()

    @property
    def verdicts(self) -> tuple[Sentence, ...]:
        """The sentences that are the verdict of a workload; decided ones come first."""
        return tuple(sentence for sentence in self.sentences if sentence.id.startswith(VERDICT))
