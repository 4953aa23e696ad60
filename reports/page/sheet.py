"""The page and the record of one model's sheet: two significant figures or more on the page, every digit in the JSON."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from reports.page import templating
from reports.page.numbers import EN_DASH, grouped, interval, plain

if TYPE_CHECKING:
    from reports.door import Row

SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def energy_text(row: "Row") -> str:
    """812 (640-1 020) MWh, or a dash."""
    value, low, high = (row[f"energy_kwh{end}"] for end in ("", "_low", "_high"))
    return EN_DASH if value is None else interval(value, low, high, "kWh")


def power_of_ten(value: float | None) -> str:
    """3.42 × 10²²: the order of magnitude authorities ask for, and three figures."""
    if not value:
        return EN_DASH
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa} × 10{str(int(exponent)).translate(SUPERSCRIPT)}"


def number(value: Any) -> str:
    return EN_DASH if value is None else grouped(Decimal(str(value)), 1)


def plain_rows(rows: "list[Row]") -> "list[dict[str, str | None]]":
    """Rows with every digit, as text."""
    return [{key: plain(value) for key, value in row.items()} for row in rows]


def page(context: dict[str, object]) -> str:
    """The sheet as one HTML file that loads nothing."""
    environment = templating.environment()
    environment.filters |= {"energy": energy_text, "power_of_ten": power_of_ten, "number": number}
    return environment.get_template("sheet.html").render(context)
