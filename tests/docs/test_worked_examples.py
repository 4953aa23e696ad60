"""Every number of a worked example on a page of the methodology, computed again by the rule beside it.

Splits come from the oracle, watts and factors from the seeds, so a changed seed or rule makes the page's example fail here.
"""

from __future__ import annotations

import csv
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from dagster_project.base.months import bill_closed_from, carbon_final_from, month_end
from tests.oracle.google_builders import credits_of, tpu_hour
from tests.oracle.google_examples import TOTALS, UNUSED
from tests.oracle.google_lines import line_of
from tests.oracle.hyperpod import machine_time
from tests.oracle.invoices import invoice_rows
from tests.oracle.numerals import MONEY, to_decimal, units
from tests.oracle.overlap import weights
from tests.oracle.records import Window
from tests.oracle.splitting import RESIDUAL, split

ROOT = Path(__file__).resolve().parents[2]
MONEY_UNITS, MASS_UNITS = 10**12, 10**9
HOUR = Decimal("21.50")
ROUNDED = (ROUND_FLOOR, ROUND_HALF_UP, ROUND_CEILING)  # bounds outwards
LEVELS = ("low", "mid", "high")


@cache
def page(name: str) -> str:
    return " ".join((ROOT / "docs" / "methodology" / f"{name}.md").read_text(encoding="utf-8").split())


@cache
def seed(name: str, key: str) -> dict[str, dict[str, str]]:
    with (ROOT / "dbt" / "seeds" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {row[key]: row for row in csv.DictReader(file)}


def has(name: str, *texts: str) -> None:
    """The page has each text, whatever its line breaks."""
    for text in texts:
        assert text in page(name), f"{name}.md does not have: {text}"


def money(amount: Decimal, weights: dict[str, int]) -> dict[str, Decimal]:
    parts = split(int(amount * MONEY_UNITS), weights.items())
    return {name: Decimal(part) / MONEY_UNITS for name, part in parts.items()}


def kilograms(amount: Decimal, weights: dict[str, int]) -> dict[str, Decimal]:
    parts = split(int(amount * MASS_UNITS), weights.items())
    return {name: Decimal(part) / MASS_UNITS for name, part in parts.items()}


def plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def test_half_a_node_and_a_quarter_for_half_an_hour() -> None:
    minutes = {"a": 8 * 60, "b": 4 * 30}
    parts = money(HOUR, {**minutes, RESIDUAL: 16 * 60 - sum(minutes.values())})
    assert parts == {"a": Decimal("10.75"), "b": Decimal("2.6875"), RESIDUAL: Decimal("8.0625")}
    has("cost", "| run a | 0.5 | 1 | 0.5 | 10.75 |", "| run b | 0.25 | 0.5 | 0.125 | 2.6875 |", "8.0625, residual `idle`")
    shares = money(parts[RESIDUAL], {"a": int(parts["a"] * 10000), "b": int(parts["b"] * 10000)})
    assert shares == {"a": Decimal("6.45"), "b": Decimal("1.6125")}
    loaded = {name: parts[name] + shares[name] for name in shares}
    assert loaded == {"a": Decimal("17.20"), "b": Decimal("4.30")} and sum(loaded.values()) == HOUR
    has("cost", "| run a | 10.75 | 6.45 | 17.20 |", "| run b | 2.6875 | 1.6125 | 4.30 |")
    has("residuals", "10.75 with run a, 2.6875 with run b and 8.0625 in a row of reason `idle`")


def test_more_chips_promised_than_there_are_and_longer_held_than_billed() -> None:
    assert money(HOUR, {"a": 16, "b": 16, RESIDUAL: 0})["a"] == Decimal("10.75")
    billed, held = Decimal("0.5"), Decimal(1)
    assert money(HOUR / 2, {"a": 1, RESIDUAL: int(max(billed - held, 0))})["a"] == Decimal("10.75")
    has("cost", "each has half of the hour: 10.75 and 10.75", "run a carries 10.75.")


def test_a_tag_takes_whole_hours_and_time_held_only_its_minutes() -> None:
    by_tag, by_time = 3 * HOUR, sum(money(HOUR, {"a": m, RESIDUAL: 60 - m})["a"] for m in (50, 60, 50))
    assert (by_tag, round(by_time, 2), round(by_tag - by_time, 2)) == (Decimal("64.50"), Decimal("57.33"), Decimal("7.17"))
    has("cost", "3 x 21.50 = 64.50", "57.33 for the run and 7.17 residual")


def test_half_a_machine_of_pods_and_half_a_pool_cost_the_same_by_either_evidence() -> None:
    hour, machines = Decimal("9.60"), 2
    by_chips = money(hour, {"a": 4, RESIDUAL: 8 - 4})
    assert by_chips == {"a": Decimal("4.80"), RESIDUAL: Decimal("4.80")}
    half = money(hour / machines, {"a": 4, RESIDUAL: 4})
    assert half["a"] == Decimal("2.40") and half["a"] * machines == half[RESIDUAL] * machines == Decimal("4.80")
    has("cost", "4.80 by rule `split_allocation`, 4.80 `idle`", "2.40 of each machine, 4.80 together, and 4.80 `idle`")


def test_pods_of_aws_have_what_is_stated_of_them_and_a_remainder_is_idle() -> None:
    pods = {"run a": 4 + 8 + 488, "run b": 244, "daemon": 230 + 25}
    weights = pods | {RESIDUAL: 1000 - sum(pods.values())}
    assert sum(pods.values()) == 999 and list(money(Decimal("10.00"), weights).values()) == [
        Decimal("5.00"), Decimal("2.44"), Decimal("2.55"), Decimal("0.01"),
    ]  # fmt: skip
    lowered = money(Decimal("-1.00"), weights)
    assert lowered["run a"] == Decimal("-0.5") and lowered["run b"] == Decimal("-0.244")
    assert lowered["daemon"] + lowered[RESIDUAL] == Decimal("-0.255") + Decimal("-0.001") == Decimal("-0.256")
    has("cost", "Run a carries 5.00, run b 2.44, `unlogged` is 2.55 and `idle` 0.01.")
    has("cost", "-0.50, -0.244, and -0.255 - 0.001 = -0.256 `unattributed`")
    plan = {"run a": 600, RESIDUAL: 300}
    assert [money(Decimal(row), plan)["run a"] for row in ("6.00", "3.00")] == [4, 2]
    assert money(Decimal("32.00"), {"run a": 75, RESIDUAL: 25}) == {"run a": 24, RESIDUAL: 8}
    has("cost", "6 / 9: 4.00 and 2.00, and 2.00 + 1.00 are `idle`", "0.75 of the accelerators: 24.00, and 8.00 `idle`")
    assert Decimal("0.375") * 16 == 6
    has("cost", "a ratio of 0.375 of 16 chips is 6 chips")


def test_a_hyperpod_clusters_machine_hours_are_shared_by_chips_held() -> None:
    second = 1_000_000
    held = [Window("a", "c", 0, 3600 * second, 32, "trn1.32xlarge"), Window("b", "c", 900 * second, 2700 * second, 16, None)]
    parts = dict(weights(machine_time(held, 0, 3600 * second, "trn1.32xlarge"), 4 * 3600 * second))
    shares = money(4 * HOUR, parts)
    assert shares == {"a": Decimal("43.00"), "b": Decimal("10.75"), RESIDUAL: Decimal("32.25")}
    has("cost", "86.00 x 2 / 4 = 43.00, run b 10.75, and 86.00 x 1.5 / 4 = 32.25 are `idle`")


def test_a_job_has_its_machine_what_it_kept_and_its_disks_and_storage_goes_by_its_tag() -> None:
    assert Decimal("24.00") + Decimal("12.00") + Decimal("0.70") == Decimal("36.70")
    assert (HOUR / 4).quantize(Decimal("0.01"), ROUND_HALF_UP) == Decimal("5.38")
    has("cost", "disks for 0.70: 36.70", "billed a quarter of it, 5.38", "it 1.00: 6.00 are a's", "are 13.00 `non_accelerator`")


def test_a_savings_plan_hour_adds_up_to_what_is_billed() -> None:
    covered, negation, fee, used = Decimal("21.50"), Decimal("-21.50"), Decimal("15.00"), Decimal("13.00")
    assert used + (fee - used) == fee == covered + negation + fee
    assert (fee - used) * Decimal("7.50") / fee == 1
    has("cost", "15.00 - 13.00 = 2.00", "21.50 - 21.49 = 0.01", "effective 1.00")


def test_a_promotion_is_taken_out_of_the_price() -> None:
    cost, discount, promotion = Decimal(10), Decimal(-4), Decimal("-1.50")
    assert (cost + discount, cost + discount + promotion) == (6, Decimal("4.50"))
    has("cost", "10.00 - 4.00 = 6.00", "4.50, as invoiced")
    assert Decimal("9.60") + Decimal("2.40") == 12


def test_a_spot_hour_costs_its_own_price_on_demand() -> None:
    assert Decimal("2.5") * Decimal("1.20") == 3
    has("cost", "2.5 chip-hours of a Spot v5e at 1.20 USD are 3.00 on demand")


def test_a_capacity_block_rolls_forward_to_nothing() -> None:
    fee, term, june = Decimal(2400), 2 * 48, 60
    begins, ends = (datetime.fromisoformat(f"2026-{day}T18:00:00+00:00") for day in ("06-29", "07-01"))
    assert (ends - begins) / timedelta(hours=1) == 48
    assert (month_end("2026-06") - begins) / timedelta(hours=1) * 2 == june
    parts = money(fee, {**{f"{n:012}": 1 for n in range(june)}, RESIDUAL: term - june})
    assert parts[f"{0:012}"] == 25 and parts[RESIDUAL] == 900
    used, idle, unused = 30 * 25, 4 * 25, 2 * 25
    assert (june * 25, used, idle, unused) == (1500, 750, 100, 50)
    assert 900 - (used + idle) - unused == 0
    has("cost", "| 2026-06 | 0 | 2,400.00 | 0 | 1,500.00 | 0 | 900.00 |", "| 2026-07 | 900.00 | 0 | 0 | 850.00 | 50.00 | 0 |")
    has("cost", "2,400.00 / 96 = 25.00", "60 x 25.00 = 1,500.00", "36 x 25.00 = 900.00")
    thirds = money(Decimal(100), {"1": 1, "2": 1, "3": 1})
    assert ", ".join(f"{part:.12f}" for part in thirds.values()) == "33.333333333334, 33.333333333333, 33.333333333333"
    has("cost", "33.333333333334, 33.333333333333 and 33.333333333333")


def test_roundings_explain_a_balance_below_nothing_and_no_missing_dollar() -> None:
    per_row, rows, used = 4 * Decimal("1E-10") / 2, 3 + 3, 3 * Decimal("15.0000000001")
    assert -per_row * rows <= 45 - used == Decimal("-3E-10")
    assert 44 - used < -per_row * rows
    has("cost", "2 x 10^-10 per row", "The balance is -0.0000000003", "With 44.00 billed instead")


def test_a_projects_rows_add_up_under_one_number() -> None:
    rows = {"7": (10, 10), "beta": (10,)}
    assert {account: sum(costs) for account, costs in rows.items()} == {"7": 20, "beta": 10}
    has("cost", "Account 7 has 20.00 and account `beta` 10.00")


def test_a_commitments_fee_goes_to_what_it_covers() -> None:
    assert money(Decimal(120), {"a": 60, "b": 20, RESIDUAL: 20}) == {"a": 72, "b": 24, RESIDUAL: 24}
    assert money(Decimal(30), {"1": 20, "2": 5}) == {"1": 24, "2": 6}
    has("cost", "120.00 x 60 / 100 = 72.00, run b 24.00", "30.00 x 20 / 25 = 24.00 and 6.00", "90 / 100 = 0.9")


def test_months_become_final_on_the_days_of_the_pages() -> None:
    assert f"{bill_closed_from('2026-06', '2026-06'):%d %B}" == "15 July"
    assert f"{bill_closed_from('2026-06', '2026-07'):%d %B}" == "01 August"
    published = datetime.fromisoformat("2026-07-15T00:00:00+00:00")
    assert carbon_final_from("AWS", "2026-06", published).date() == date(2027, 7, 1)
    assert carbon_final_from("Google Cloud", "2026-06", published).date() == date(2026, 8, 5)
    has("cost", "final from 15 July 00:00 UTC", "final from 1 August, when July is over")
    has("emissions", "final from 1 July 2027", "5 August 2026")


def node(level: str) -> tuple[Decimal, Decimal, Decimal, Decimal]:
    """Watts of a chip at idle and full, of its host, and the factor of network and storage."""
    power, host = seed("accelerator_power", "accelerator_type")["trn1.32xlarge"], seed("host_power", "accelerator_type")
    share = seed("it_overhead", "provider_name")["AWS"][f"network_storage_share_{level}"]
    watts = (power[f"chip_power_idle_w_{level}"], power[f"chip_power_max_w_{level}"])
    return (*map(Decimal, watts), Decimal(host["trn1.32xlarge"][f"host_power_w_{level}"]), 1 + Decimal(share))


def pue() -> Decimal:
    with (ROOT / "dbt" / "seeds" / "pue.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["region_id"] == "us-east-1"]
    return Decimal(max(rows, key=lambda row: row["data_year"])["pue_ratio"])


def energy(level: str, seen: Decimal, unseen: Decimal) -> dict[str, Decimal]:
    """kWh of an hour of 16 chips at half use, of which a part was seen."""
    idle, full, host, network = node(level)
    mean = Decimal(seed("accelerator_power", "accelerator_type")["trn1.32xlarge"]["chip_power_mean_w"])
    blind = {"low": idle, "mid": mean, "high": full}[level]
    chip_seen, chip_unseen = (idle + (full - idle) / 2) * 16 * seen / 1000, blind * 16 * unseen / 1000
    both = chip_seen + chip_unseen + host * (seen + unseen) / 1000
    by_use = (chip_seen + host * seen / 1000) * network * pue()
    return {
        "chip": chip_seen + chip_unseen,
        "seen": chip_seen,
        "unseen": chip_unseen,
        "host": both,
        "it": both * network,
        "facility": both * network * pue(),
        "by_use": by_use,
    }  # fmt: skip - a row per boundary would hide that they build on each other


def row_of(label: str, values: list[Decimal]) -> str:
    return f"| {label} | {' | '.join(plain(value) for value in values)} |"


def test_calibrated_watts_have_the_bounds_of_the_example() -> None:
    workloads, hosts, idle = [Decimal(watts) for watts in (288, 288, 312, 312, 336, 336)], 3, Decimal(84)
    terms = {name: Decimal(row["value"]) for name, row in seed("calibration_terms", "term").items()}
    t = Decimal(seed("t_two_sided", "degrees_of_freedom")[str(len(workloads))]["t_975"])
    unmetered = Decimal(seed("unmetered_rails", "meter")["xprof_spi"]["unmetered_share"])
    assert unmetered == 1 / Decimal("0.8") - 1
    busy = sum(workloads) / len(workloads)
    variance = (terms["between_workloads"] ** 2 + sum((watts / busy - 1) ** 2 for watts in workloads)) / len(workloads)
    rails = (unmetered / (2 + unmetered)) ** 2

    def half(of_workloads: Decimal, of_hosts: Decimal) -> Decimal:
        between = t**2 * variance * of_workloads
        shared = terms["meter_error"] ** 2 + terms["between_hosts"] ** 2 * of_hosts
        return (between + terms["normal_quantile"] ** 2 * shared + rails).sqrt()

    more, more_hosts = 1 + 1 / Decimal(len(workloads)), 1 + 1 / Decimal(hosts)
    full, middle = half(more - 1, more_hosts - 1), busy * (1 + unmetered / 2)
    has("energy", f"whose root is {100 * full:.1f} %: {middle * (1 - full):.0f} to {middle * (1 + full):.0f} W")
    halves = [round(half(each, more_hosts), 6) for each in (Decimal(0), more)]
    calibrated = [
        [watts * (1 + unmetered / 2) * factor for factor in (1 - off, Decimal(1), 1 + off)]
        for watts, off in zip((idle, busy), halves, strict=True)
    ]
    row = seed("accelerator_power", "accelerator_type")["v6e"]
    table = [[Decimal(row[f"chip_power_{end}_w_{level}"]) for level in LEVELS] for end in ("idle", "max")]
    calibrated = [[quantised(watts, rounding) for watts, rounding in zip(each, ROUNDED, strict=True)] for each in calibrated]
    for each in calibrated:
        has("energy", f"W | {' | '.join(map(plain, each))} |")
    for ends in (calibrated, table):
        at_half = [(low + high) / 2 for low, high in zip(*ends, strict=True)]  # idle and half of the span
        has("energy", f"Wh | {' | '.join(map(plain, at_half))} | {at_half[2] / at_half[0]:.2f} |")


def quantised(watts: Decimal, rounding: str) -> Decimal:
    return watts.quantize(Decimal("0.001"), rounding)


def test_the_hour_of_energy_is_what_the_seeds_give() -> None:
    whole = {level: energy(level, Decimal(1), Decimal(0)) for level in LEVELS}
    has(
        "energy",
        row_of("16 chips for an hour: **chip**, kWh", [whole[level]["chip"] for level in LEVELS]),
        row_of("**chip and host**, kWh", [whole[level]["host"] for level in LEVELS]),
        row_of("**IT**, kWh", [whole[level]["it"] for level in LEVELS]),
        row_of("**facility**, kWh", [whole[level]["facility"] for level in LEVELS]),
        row_of("host, W", [node(level)[2] for level in LEVELS]),
        row_of("idle power of a chip, W", [node(level)[0] for level in LEVELS]),
        row_of("full power of a chip, W", [node(level)[1] for level in LEVELS]),
    )
    has("energy", f"is {whole['mid']['facility'] / whole['mid']['chip']:.2f}")


def test_a_quarter_of_the_hour_unseen_moves_the_bounds_apart() -> None:
    part = {level: energy(level, Decimal("0.75"), Decimal("0.25")) for level in LEVELS}
    has(
        "energy",
        row_of("45 minutes seen at 50 %, 16 chips, kWh", [part[level]["seen"] for level in LEVELS]),
        row_of("15 minutes unseen, 16 chips, kWh", [part[level]["unseen"] for level in LEVELS]),
        row_of("facility with host, network and PUE, kWh", [part[level]["facility"] for level in LEVELS]),
        f"`energy_kwh_utilisation_model` is {plain(part['mid']['by_use'])}",
        f"`energy_kwh_time_model` {plain(part['mid']['facility'] - part['mid']['by_use'])}",
    )


def test_each_basis_of_the_hour_is_what_the_seeds_give() -> None:
    read = "every chip's counter of NVML at 100 W"
    watts: dict[str, list[Decimal]] = {
        read: [100 * factor for factor in off_by("nvml")],
        "every driver at 20 %": [],
        "not observed": [],
    }
    for level, factor in zip(LEVELS, off_by("neuron_sysfs"), strict=True):
        idle, full, _, _ = node(level)
        mean = Decimal(seed("accelerator_power", "accelerator_type")["trn1.32xlarge"]["chip_power_mean_w"])
        watts["every driver at 20 %"].append(idle + (full - idle) * factor / 5)
        watts["not observed"].append({"low": idle, "mid": mean, "high": full}[level])
    idle, full, host, network = node("mid")
    watts["every chip at 50 % use"] = [sum(node(level)[:2]) / 2 for level in LEVELS]
    facility = {name: (16 * mid + host) * network * pue() / 1000 for name, (_, mid, _) in watts.items()}
    has("energy", *(row_of(name, [*(16 * one / 1000 for one in found), facility[name]]) for name, found in watts.items()))
    order = (read, "every driver at 20 %", "every chip at 50 % use", "not observed")
    first, second, third, last = (plain(facility[name] / 4) for name in order)
    has("energy", f"a quarter of an hour of each, {first}, {second}, {third} and {last}")
    half = Decimal("3.2") / 2
    has("energy", f"{plain(half)} kWh of chip and host, {plain(half * network * pue())} at the facility")


def off_by(meter: str, spacing: str = "") -> list[Decimal]:
    """What a reading is multiplied by at each level; of a point with the share of its spacing."""
    rows = [seed("meters", "meter")[meter], *([seed("sampling_errors", "over_s")[spacing]] if spacing else [])]
    low, high = (sum(Decimal(row[f"error_{end}_share"]) for row in rows) for end in ("low", "high"))
    return [1 - low, Decimal(1), 1 + high]


def test_the_truth_of_a_load_in_step_with_its_poll_is_inside_the_bounds() -> None:
    network, building = [node(level)[3] for level in LEVELS], Decimal("1.12")
    true = 6 * network[1] * building
    for polled in (8, 4):
        low, mid, high = (polled * factor * share * building for factor, share in zip(off_by("pdu", "20"), network, strict=True))
        assert low < true < high
        has("energy", plain(low), plain(mid), plain(high))
    has("energy", f"= {plain(true)} (PUE 1.12)")


def test_the_spread_of_points_is_that_of_the_page() -> None:
    for step_count, total, shown in ((1, 800, "35.3553 %"), (59, 24000, "9.05 %")):
        spread = (2 * step_count * Decimal(200) ** 2).sqrt() / total * 100
        has("energy", f"{spread:.{len(shown.split('.')[1]) - 2}f} %")
    share = (2 * Decimal(200) ** 2).sqrt() / 800 + Decimal("0.05")
    has("energy", f"{300 * (1 - share):.2f} to {300 * (1 + share):.2f} W")


def test_free_chips_draw_idle_power() -> None:
    idle, _, host, network = node("mid")
    watts = 8 * idle + host / 2
    has(
        "energy",
        f"8 x {idle} W = {8 * idle} W",
        f"{plain(host / 2)} W, are {plain(watts)} Wh",
        plain(watts * network * pue() / 1000),
    )


def test_the_densities_of_the_page_give_its_watts() -> None:
    trainium = [Decimal(312) / 400, Decimal(667) / 500, Decimal(275) / 192]
    tpu = [Decimal(459) / 540, Decimal(275) / 192, Decimal(918) / 380]
    for peak, densities, text in ((190, trainium, ("133", "142", "244")), (197, tpu, ("82", "138", "232"))):
        found = [peak / max(densities), peak / median(densities), peak / min(densities)]
        assert tuple(str(value.quantize(Decimal(1), ROUND_HALF_UP)) for value in found) == text
    has("energy", "82, 138 and 232 W")


def test_the_hour_has_the_emissions_of_its_grid() -> None:
    factors = seed("emission_factors", "factor_id")
    older, factor = (Decimal(factors[edition]["value"]) for edition in ("egrid2022-srvc", "egrid2023-srvc"))
    rates = (Decimal("622.987") + 28 * Decimal("0.047") + 265 * Decimal("0.007")) * Decimal("0.45359237") / 1000
    nine = Decimal("0.000000001")
    assert rates.quantize(nine, ROUND_HALF_UP) == older
    figures = [energy(level, Decimal(1), Decimal(0))["facility"] * factor for level in ("mid", "low", "high")]
    mid, low, high = (f"{figure.quantize(nine, ROUND_HALF_UP)}" for figure in figures)
    has("emissions", f"{mid} kg ({low} to {high})", f"is {factor}")
    has("exactness", f"published as {mid} kg")
    has("factors", f"/ 1000 = {older}", f"| July 2026 | {factor} (2023) | 3 |", f"| July 2024 | {older} (2022)")


def test_a_carbon_cell_is_divided_by_list_cost() -> None:
    weights = {"run a": 600, "run b": 300, "residual `idle`": 200, "residual `non_accelerator`": 100}
    for part, mass in kilograms(Decimal(120), weights).items():
        has("emissions", f"| {part} | {weights[part]} / 1200 | {plain(mass)} |")
    spread = kilograms(Decimal(20), {"a": 600, "b": 300})
    has("emissions", f"{spread['a']:.9f} kg for run a, {spread['b']:.9f} kg for run b")
    has("emissions", f"{Decimal(120) * 380 / (380 + 300 + 200 + 100):.2f} kg")
    has("emissions", f"`difference` {45 - 30}, `ratio` {Decimal(30) / 45:.3f}")
    assert Decimal("0.001284") * 1000 == Decimal("1.284")


def test_a_quarter_is_divided_by_what_was_billed_in_each_month_or_by_days() -> None:
    weights = {"April": 480, "May": 1440, "June": 960}
    for month, mass in kilograms(Decimal(6091), weights).items():
        of_run = kilograms(mass, {"a": 1, RESIDUAL: 1})["a"]
        whole, part = (f"{amount:,f}".rstrip("0").rstrip(".") for amount in (mass, of_run))
        has("emissions", f"| {month} | {weights[month]} / 2880 | {whole} | {part} |")
    days = kilograms(Decimal("0.092"), {"April": 30, "May": 31, "June": 30}).values()
    has("emissions", "make {:f}, {:f} and {:f} kg".format(*days))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("double `0.30000000000000004`", 0.30000000000000004),
        ("double `-1234.5678901234567`", -1234.5678901234567),
        ("text `1.81E-8`", "1.81E-8"),
        ("text `0.0000000000005`", "0.0000000000005"),
        ("text `-0.0000000000005`", "-0.0000000000005"),
    ],
)
def test_a_providers_number_becomes_the_decimal_of_the_page(written: str, value: float | str) -> None:
    has("exactness", f"| {written} | {to_decimal(units(value, MONEY), MONEY):.12f} |")


def test_ten_among_three_and_its_refund_cancel() -> None:
    charge, refund = money(Decimal(10), dict.fromkeys("abc", 1)), money(Decimal(-10), dict.fromkeys("abc", 1))
    assert all(charge[name] + refund[name] == 0 for name in charge)
    has("exactness", f"a has {charge['a']:.12f}, b and c have {charge['b']:.12f}", f"gives {refund['a']:.12f}")


def test_what_an_invoice_asks_beside_its_month_of_use() -> None:
    stated = [
        ("2026-06-03", "202606", 100.0, {"credits": credits_of(PROMOTION=-20.0)}),
        ("2026-06-30", "202606", 8.0, {"cost_type": "tax"}),
        ("2026-06-29", "202607", 5.0, {}),
        ("2026-06-03", "202607", -10.0, {"cost_type": "adjustment"}),
        ("2026-07-02", "202607", 60.0, {}),
    ]
    lines = [
        line_of("gcp", "o", number, tpu_hour(f"{day}T10:00:00", cost, invoice={"month": month}, **columns))
        for number, (day, month, cost, columns) in enumerate(stated)
    ]
    assert [(row["provider_total"], row["difference"]) for row in invoice_rows(lines).values()] == [(88, 5), (55, -5)]
    has("cost", "| June | 83.00 | 88.00 | 5.00 |", "| July | 60.00 | 55.00 | -5.00 |", "| together | 143.00 | 143.00 | 0.00 |")


def test_googles_examples_of_commitments() -> None:
    old, new = ("{} | {}".format(TOTALS[f"OVER-USED-{model}"], UNUSED[f"OVER-USED-{model}"]) for model in ("OLD", "NEW"))
    has("cost", f"| more used than committed | {old} | {new} |")
    old = f"{TOTALS['UNDER-USED-OLD']} | {UNUSED['UNDER-USED-OLD']}"
    parts = ("0.022994", "0.0000022", "0.0000109")
    has("cost", f"| less used than committed | {old} | {TOTALS['UNDER-USED-NEW']} | {' + '.join(parts)} |")
    assert sum(map(Decimal, parts)) == Decimal(UNUSED["UNDER-USED-NEW"])


def test_the_articles_arithmetic_a_price_times_hours_and_another_region() -> None:
    figures, claims = seed("article_figures", "figure_id"), seed("vendor_claims", "claim_id")
    assert Decimal(figures["a5-cluster-run"]["recomputed_value"]) == 16 * 192 * Decimal("32.77")
    has("claims", "100,669.44 USD, not about 102,400", "64,915.20 USD, not 135,792")
    per_run = median([160, 320, 1600]) / 16 * 10
    on_sagemaker = Decimal(per_run) * (1 + Decimal(claims["C8"]["claimed_value_high"]))
    has(
        "claims",
        f"at 10 USD {per_run:.0f} USD per run",
        f"on SageMaker, with the 40 % that claim C8 adds at most, {on_sagemaker:.0f} USD",
    )
    has(
        "claims",
        f"0.4 kg/kWh: {plain(100 * Decimal('1.1') * Decimal('0.4'))} kg",
        f"0.1 kg/kWh: {100 * Decimal('1.2') * Decimal('0.1'):.0f} kg",
    )
    has("claims", "anywhere between 1.25 and 5")
    assert (Decimal(175) / 140, Decimal(350) / 70) == (Decimal("1.25"), 5)


def test_water_of_the_page_is_divided_by_electricity_and_cools_by_the_seed() -> None:
    months, kilograms, factors = 12, (2, 1), (Decimal("0.5"), Decimal("0.125"))
    by_region = [mass / factor for mass, factor in zip(kilograms, factors, strict=True)]
    account = months * sum(by_region)
    runs = [int(1 / factors[0]), int(Decimal("0.5") / factors[1])]
    assert (by_region, account, runs) == ([4, 8], 144, [2, 4])
    shares = split(72 * MASS_UNITS, [("May", runs[0]), ("June", runs[1]), (RESIDUAL, int(account) - sum(runs))])
    assert [shares[name] // MASS_UNITS for name in ("May", "June", RESIDUAL)] == [1, 2, 69]
    assert split(24 * MASS_UNITS, [("May", 1), (RESIDUAL, 23)])["May"] == MASS_UNITS
    has("water", "72 x 2 / 144 = 1 m3 in May, 72 x 4 / 144 = 2 m3 in June, and the other 69 m3", "24 x 1 / 24 = 1 m3")
    with (ROOT / "dbt/seeds/wue.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    litres = {(row["region_id"], row["data_year"]): Decimal(row["wue_l_per_kwh"]) for row in rows}
    measured = [Decimal(row["wue_l_per_kwh"]) for row in rows if row["basis"] == "measured_region"]
    here, fleet = litres["us-west-2", "2025"], litres["*", "2025"]
    figures = (600 * here + 400 * fleet, 500 * here + 400 * min(measured), 700 * here + 500 * max(measured))
    assert figures == (120, 64, 1509)
    has("water", f"600 x {here} L + 400 x {fleet} L", f"400 x {min(measured)} = 64 L", f"500 x {max(measured)} = 1,509 L")
    assert (litres["eu-central-1", "2024"], litres["ap-southeast-3", "2025"]) == (min(measured), max(measured))
    has("water", f"from {litres['eu-central-1', '2024']} to {litres['eu-central-1', '2025']}")
