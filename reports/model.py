"""What a report is made of before it has a look: tables with their SQL, figures with their reason, sections in order.

A column's `kind` is what it holds (and so how it is aligned, rounded and labelled); its `note` says in words what a null
there means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from itertools import takewhile

from reports.publication import Publication, Row
from reports.quarter import Quarter

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


ENDINGS = {
    "money": "_cost",
    "mass": "_kgco2e",
    "energy": "_kwh",
    "hours": "_hours",
    "ratio": "_ratio",
    "count": "_count _months _cells _records _years _number rows position _differ _without_figure _per_node",
    "month": "_month",
    "date": "_date valid_from",
    "time": "_at undated",
    "flag": "passed has_bill has_carbon",
    "digest": "_hash",
    "state": "confidence _rule _component state _status outcome _kind _option",
    "code": "_id _code _key _type _types _version _versions _zone _object currency regions kind partition gate field fingerprint",
}


def kind_of(key: str) -> str:
    """A measure's name ends in its unit, so the name tells the kind: effective_cost is money, region_id a code."""
    return next((kind for kind, endings in ENDINGS.items() if key.endswith(tuple(endings.split()))), "text")


def columns(kind: str = "", /, *, note: str = "not recorded", group: str = "", **labels: str) -> tuple[Column, ...]:
    """Neighbouring columns as key=label; the kind is that of their names, or the one given for all of them."""
    return tuple(Column(key, label, kind or kind_of(key), note=note, group=group) for key, label in labels.items())


def data_only(*columns: Column) -> tuple[Column, ...]:
    return tuple(replace(column, is_data_only=True) for column in columns)


def named(key: str, label: str, name: str, name_label: str, note: str = "not recorded") -> tuple[Column, ...]:
    """An id and what people call it: one cell on the page, two columns in the data files."""
    return (
        Column(key, label, kind_of(key), note=note, name=name),
        *data_only(Column(name, name_label, note="the bills carry no name for it")),
    )


def bounded(
    key: str, label: str, kind: str, note: str, group: str = "", *, mid: str = "", shows_bounds: bool = True
) -> tuple[Column, ...]:
    """A modelled figure and its plausible bounds: one cell on the page, 812 (640-1 020), three columns in the data files."""
    low, high = f"{key}_low", f"{key}_high"
    ends = columns(kind, note=note, group=group, **{low: f"{label}, low bound", high: f"{label}, high bound"})
    return (
        Column(mid or key, label, kind, note=note, group=group, bounds=(low, high) if shows_bounds else ()),
        *data_only(*ends),
    )


@dataclass(frozen=True)
class TableSpec:
    """A question with its SQL. SQL, headings and method may hold the marks of `Quarter.fill`."""

    id: str
    title: str
    sql: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()  # what names a row; none: the names before the first measure, the currency first
    _: KW_ONLY
    method: str
    empty: str = "No rows."
    is_dropped_when_empty: bool = False  # where an answer is to nobody's question: costs of one currency need no conversion
    page_rows: int = 40  # more rows are in the data file alone; the page counts them

    @property
    def row_key(self) -> tuple[str, ...]:
        names = [column.key for column in takewhile(lambda column: column.is_text, self.columns)]
        return self.key or tuple(sorted(names, key=lambda name: name != "billing_currency"))

    def of(self, quarter: Quarter) -> "TableSpec":
        columns = tuple(replace(column, label=quarter.fill(column.label)) for column in self.columns)
        return replace(self, sql=quarter.fill(self.sql), columns=columns, method=quarter.fill(self.method))


@dataclass(frozen=True)
class Table:
    """The spec of a quarter and its answer. `code` is the reference code on paper; `absent` says why there is no answer."""

    spec: TableSpec
    rows: tuple[Row, ...] = ()
    absent: str = ""
    code: str = ""

    @property
    def id(self) -> str:
        return self.spec.id


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One headline number: of the training runs, with the provider's whole beside it, and its change or why there is none.

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
    remark: str = ""  # what the figure does not cover
    whole: Decimal | None = None
    whole_label: str
    change_ratio: Decimal | None = None
    change_reason: str = ""
    absent: str


@dataclass(frozen=True)
class Section:
    """A chapter: tables in reading order, charts by the table they are drawn beside, or the reason why nothing is shown."""

    id: str
    title: str
    lead: str = ""
    tables: tuple[Table, ...] = ()
    charts: Mapping[str, Sequence[object]] = field(default_factory=dict)
    absent: str = ""


def answer(publication: Publication, quarter: Quarter, spec: TableSpec) -> Table:
    """Ask the table's query of a quarter, or name the tables that the publication lacks."""
    asked = spec.of(quarter)
    if missing := publication.missing(asked.sql):
        return Table(asked, absent=f"Nothing is shown: {missing}.")
    return Table(asked, tuple(publication.rows(asked.sql)))
