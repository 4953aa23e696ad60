"""The account of a run as lines of a terminal, at most 80 columns wide where names allow it."""

import textwrap
from collections.abc import Iterator
from typing import Any

from reports.page.names import shown
from reports.page.numbers import EN_DASH, grouped, interval, plain
from reports.quarter import month_name
from reports.runs.account import Account
from reports.runs.advice import WORDS

WIDTH = 80
LABELS: dict[str, str] = WORDS["figures"]


def account_text(account: Account, estimated: dict[str, Any] | None) -> str:
    """What it cost, how that is known, from what, what would make it better; of a run that goes on the estimate before all."""
    return "\n".join(
        [
            *_head(account),
            *(_estimate(estimated) if estimated else ()),
            *_section("What it cost, used and emitted", _figures(account)),
            *_wrapped(" ".join(WORDS["scope"].split()), "  "),
            *_section("By month", _months(account)),
            *_section("How that is known", _evidence(account)),
            *_section("From what", _sources(account)),
            *_section("What would make it better", _bullets(account["advice"])),
        ]
    )


def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
    if found := list(lines):
        yield from ("", title, *found)


def _wrapped(text: str, indent: str = "", later: str | None = None) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=later or indent, break_on_hyphens=False)


def _bullets(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield from _wrapped(line, "  - ", "    ")


def _head(account: Account) -> Iterator[str]:
    yield shown(account["training_run_id"])
    named = {"model": "model_name", "team": "team", "workload": "workload_key", "on": "accelerator_type", "in": "region_id"}
    facts = [f"{word} {shown(account[name])}" for word, name in named.items() if account[name]]
    if account["recorded_id"] != account["training_run_id"]:
        facts.insert(0, f"recorded as {shown(account['recorded_id'])}")
    yield from _wrapped(", ".join(facts), "  ")
    start, end = (account[name] and f"{account[name]:%Y-%m-%d %H:%M}" for name in ("started_at", "ended_at"))
    span = f"from {start} to {end} UTC" if end else f"from {start} UTC on" if start else "no record of its time"
    attempts = account["attempt_count"]
    yield from _wrapped(f"{account['state']}, {span}, {attempts} attempt{'' if attempts == 1 else 's'}", "  ")
    yield f"  {WORDS['statuses'][account['status']]}"


def _amount(value: Any, unit: str | None) -> str:
    """Cents of money, thousandths of the rest."""
    return f"{grouped(value, 3 if unit in ('kWh', 'kgCO2e') else 2)} {unit}"


def _figures(account: Account) -> Iterator[str]:
    for figure in account["figures"]:
        label = f"  {LABELS[figure['name']]:<38}"
        if figure["value"] is None:
            yield from _wrapped(f"{EN_DASH}  {figure['unknown_because'] or 'unknown'}", label, " " * 43)
            continue
        text = _amount(figure["value"], figure["unit"])
        if figure["low"] is not None:
            text += f", bounds {interval(figure['value'], figure['low'], figure['high'], figure['unit'])}"
        yield from _wrapped(text, label, " " * 40)


def _months(account: Account) -> Iterator[str]:
    if len(account["months"]) < 2:
        return
    for month in account["months"]:
        figures = [
            _amount(month[name], unit) if month[name] is not None else EN_DASH
            for name, unit in (("effective_cost", month["billing_currency"]), ("facility_energy_kwh", "kWh"))
        ]
        scope_2 = month["provider_scope_2_location_based_kgco2e"]
        figures.append(f"{EN_DASH if scope_2 is None else _amount(scope_2, 'kgCO2e')} of Scope 2, location-based")
        yield from _wrapped(", ".join(figures), f"  {month_name(month['usage_month']):<16}", " " * 18)


def _evidence(account: Account) -> Iterator[str]:
    for row in account["costs"]:
        rule = WORDS["rules"].get(row["attribution_rule"], row["attribution_rule"])
        cost = EN_DASH if row["effective_cost"] is None else _amount(row["effective_cost"], row["billing_currency"])
        yield from _wrapped(
            f"{cost} of {row['cost_component']}: {rule} (confidence {row['attribution_confidence']})", "  ", "    "
        )
    for row in account["energy"]:
        if row["facility_energy_kwh"] is not None:
            basis, power = WORDS["bases"][row["energy_basis"]], WORDS["power"][row["power_confidence"]]
            seen = f"{row['least_telemetry_coverage_ratio']:.1%} of its chip time observed"
            yield from _wrapped(f"{_amount(row['facility_energy_kwh'], 'kWh')}: {basis}, {power}, {seen}", "  ", "    ")
    for row in account["emissions"]:
        version = f"model {row['provider_model_version']}" if row["provider_model_version"] else "nothing published"
        months = f"{row['months']} month{'' if row['months'] == 1 else 's'}"
        words = f"Emissions of {row['provider_name']}: {version}, {months}, {row['status']}"
        yield from _wrapped(f"{words} (confidence {row['allocation_confidence'] or EN_DASH})", "  ", "    ")


def _sources(account: Account) -> Iterator[str]:
    for row in account["bills"]:
        place = " ".join(filter(None, (row["sub_account_id"], row["service_code"], row["region_id"])))
        cost = _amount(row["effective_cost"], row["billing_currency"])
        yield from _wrapped(f"bill {row['source_name']}: {cost} of {place}", "  ", "    ")
    for system in dict.fromkeys(row["record_system"] for row in account["attempts"]):
        number = sum(row["record_system"] == system for row in account["attempts"])
        yield f"  records of {system}: {number} attempt{'' if number == 1 else 's'}"
    for row in account["telemetry"]:
        hosts = f"{row['hosts']} machine{'' if row['hosts'] == 1 else 's'}"
        yield f"  telemetry {row['source_name']}: {row['matched_samples']:,} samples of {hosts}"
    for row in account["factors"]:
        if row["factor_id"]:
            yield from _wrapped(
                f"factor {row['factor_id']}: {row['factor_kgco2e_per_kwh']} kgCO2e/kWh, {row['source']}", "  ", "    "
            )


def _estimate(found: dict[str, Any]) -> Iterator[str]:
    yield ""
    until = f"{found['until']:%Y-%m-%d %H:%M} UTC"
    if found["value"] is None:
        yield from _wrapped(f"It goes on, and its cost until {until} cannot be estimated: {found['unknown_because']}.")
        return
    where = f" in {found['rate_region']}" if found["rate_region"] else ", in any region"
    runs = f"{found['rate_runs']} run{'' if found['rate_runs'] == 1 else 's'}"
    yield from _wrapped(
        f"ESTIMATE, not a figure of the ledger: about {grouped(found['value'], 0)} {found['unit']} until {until}. It goes on: "
        f"{grouped(found['chip_hours'], 0)} chip-hours held, times {plain(found['cost_per_chip_hour'])} {found['unit']}, the "
        f"effective rate of its type{where} in {month_name(found['rate_month'])} ({runs})."
    )
