"""How a number looks on a page. Rounding happens here and nowhere else; the data files keep every digit."""

from decimal import ROUND_HALF_UP, Decimal

THIN_SPACE = "\u2009"
EN_DASH = "\u2013"
TONNE = Decimal(1000)  # of kilograms; as many kilowatt-hours are a megawatt-hour
UNITS = {"mass": ("kgCO2e", "tCO2e"), "energy": ("kWh", "MWh")}
MINUS = "\u2212"  # as wide as a digit, so that columns stay straight


def rounded(value: Decimal, places: int) -> Decimal:
    """Half away from zero, as on an invoice. Never a negative zero."""
    result = value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    return abs(result) if result == 0 else result


def grouped(value: Decimal, places: int) -> str:
    """1234567.891, 2 -> 1 234 567.89 with thin spaces."""
    text = f"{rounded(value, places):,.{places}f}"
    return text.replace(",", THIN_SPACE).replace("-", MINUS)


def significant(value: Decimal) -> str:
    """The same number in three significant figures, for text."""
    if value == 0:
        return "0"
    places = 2 - value.adjusted()
    short = rounded(value, places) if places > 0 else Decimal(rounded(value.scaleb(places), 0)).scaleb(-places)
    return grouped(short, max(places, 0))


def plain(value: object) -> str | None:
    """The whole value as text for data files: a decimal string, an ISO date, null as null."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value)


def scaled(greatest: Decimal, unit: str) -> tuple[Decimal, str]:
    """What to divide by and the unit then: tonnes and MWh from 1,000 kg or kWh on, other units as they are."""
    larger = dict(UNITS.values())
    return (TONNE, larger[unit]) if unit in larger and abs(greatest) >= TONNE else (Decimal(1), unit)


def share(value: Decimal) -> str:
    """0.9872 -> 98.7 %; all but all is not all."""
    return f">99.9{THIN_SPACE}%" if Decimal("0.9995") <= value < 1 else f"{grouped(value * 100, 1)}{THIN_SPACE}%"


def is_share(unit: str) -> bool:
    """A share of cost has the currency over itself as its unit, USD/USD: one for every currency."""
    return unit == "1" or ("/" in unit and len(set(unit.split("/"))) == 1)


def amount(value: Decimal, unit: str, greatest: Decimal | None = None) -> str:
    """Three figures for the eye with their unit: 56.1 MWh, 242 000 USD, 98.7 %; in the unit of `greatest`, if there is one."""
    if is_share(unit):
        return share(value)
    scale, shown = scaled(value if greatest is None else greatest, unit)
    return f"{significant(value / scale)} {shown}"


def interval(value: Decimal, low: Decimal, high: Decimal, unit: str, greatest: Decimal | None = None) -> str:
    """812 (640-1 020) MWh: one unit for the three, chosen by the value, or by `greatest` of what it is compared with."""
    scale, shown = scaled(value if greatest is None else greatest, unit)
    return f"{significant(value / scale)} ({significant(low / scale)}-{significant(high / scale)}) {shown}"
