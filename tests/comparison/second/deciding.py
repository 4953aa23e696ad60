"""Rows of the verdict table: every workload, figure and view at the end of every quarter, in the order of the page."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from tests.comparison.second import clusters as formed
from tests.comparison.second import looks, strata
from tests.comparison.second.clusters import PRIMARY, Pair
from tests.comparison.second.looks import FEWEST, Look
from tests.comparison.second.power import Term, shifts
from tests.comparison.second.strata import Strata

FAMILIES = {
    **dict.fromkeys(PRIMARY, "primary"),
    **dict.fromkeys(("cost_per_million_tokens", "cost_per_exaflop"), "unit_cost"),
    **dict.fromkeys(("energy_kwh_per_million_tokens", "sci_gco2e_per_million_tokens"), "energy"),
    **dict.fromkeys(("mfu_ratio", "goodput_ratio", "held_time_utilisation_ratio"), "utilisation"),
}
COPIES = {"location_based_gco2e_per_million_tokens": "energy_kwh_per_million_tokens"}
MARKET = "market_based_gco2e_per_million_tokens"
CLASSES = ("measured", "modelled")
VIEW = "view_is_descriptive"
# of pairs that decide nothing, in the order of the page
REASONS = {
    "labelled_later": "descriptive",
    "promise_unknown": "descriptive",
    "assumed_power": "undecided",
    "mixed_basis": "undecided",
    "promise_broken": "not_comparable",
}
Key = tuple[str, str, str]
SIDES = {-1: "tpu", 1: "trainium", 0: None}


@dataclass(frozen=True)
class World:
    """What is beside the pairs: terms of power by class, normals, quantiles, shares that no run carries, least difference."""

    terms: Mapping[str, Sequence[Term]] = field(default_factory=dict)
    normals: np.ndarray = field(default_factory=lambda: np.zeros((2000, 1)))
    f_quantiles: strata.Quantiles = field(default_factory=dict)
    t_quantiles: Mapping[int, float] = field(default_factory=dict)  # of 99 %, by degrees of freedom up to 120
    shares: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)  # side: greatest and least
    difference: float = 0.05


@dataclass
class Row:
    """A figure at a look: the series that decides, the other one, and what e-BH and the looks before make of it."""

    key: Key
    end: dt.date
    look: Look
    other: Look | None
    known: list[Pair]  # all that settled before the end
    of_other_class: int  # deciding pairs of the class that does not decide
    others: int  # pairs that decide nothing
    recent: Look
    is_assumed: bool
    waiting: Collection[dt.date]
    series_pairs: list[Pair]  # deciding ones of the deciding class, closed or not
    log_unit: float = 0.0  # ln of 50 m / k, or of 50 m / (k + 1)
    is_claimed: bool = False
    m: int = 0
    k: int = 0
    stands: Row | None = None  # the look at which the claim that stands was made
    is_turned: bool = False
    strata: Strata | None = None

    @property
    def is_tested(self) -> bool:
        return self.key[2] == "chip" and self.key[1] in FAMILIES and self.look.n >= FEWEST

    @property
    def has_strata(self) -> bool:
        """Whether its strata are shown: of figures in the chip view that are tested, or copies of such."""
        return self.key[2] == "chip" and (self.key[1] in FAMILIES or self.key[1] in COPIES)

    @property
    def log_needed(self) -> float:
        return self.log_unit + self.look.factor

    @property
    def log_star(self) -> float:
        """ln e* for e-BH."""
        look, skewed_primary = self.look, self.look.is_skewed and self.look.is_primary
        is_for_unreached = SIDES[look.direction] in look.unreached
        if (skewed_primary and not look.is_carried_by_totals) or self.is_assumed or is_for_unreached:
            return -inf
        return round(look.log_e - look.factor, 9)

    @property
    def claim(self) -> int:
        return self.look.direction if self.is_claimed else 0

    @property
    def last_year(self) -> int:
        """The side of the sequence of the last four quarters."""
        needed = self.log_unit + self.recent.factor
        found = self.recent.n >= FEWEST and self.recent.log_e_of_shifts >= round(needed, 9)
        return self.recent.direction if found else 0


def decide(pairs: Sequence[Pair], ends: Sequence[dt.date], world: World) -> list[Row]:
    """Every row, claims included. `ends` are all quarter ends, in order."""
    rows = [row for end in ends for row in _at_end(pairs, end, world)]
    for _, of_report in groupby(rows, lambda row: row.end):
        claim(list(of_report))
    for key in {row.key for row in rows}:
        stand([row for row in rows if row.key == key])
    by_key = {(row.end, row.key): row for row in rows}
    for row in rows:
        if row.key[1] in COPIES and row.key[2] == "chip":
            answer = by_key[row.end, (row.key[0], COPIES[row.key[1]], "chip")]
            row.log_unit, row.is_claimed, row.m, row.k = answer.log_unit, answer.is_claimed, answer.m, answer.k
            row.stands, row.is_turned = answer.stands, answer.is_turned
    return rows


def _at_end(pairs: Sequence[Pair], end: dt.date, world: World) -> Iterable[Row]:
    def key(pair: Pair) -> Key:
        return pair["workload_key"], pair["kpi"], pair["factor_view"]

    waiting = {
        name: formed.waiting(pair for pair in pairs if pair["workload_key"] == name) for name in {key(pair)[0] for pair in pairs}
    }
    for of_row, members in groupby(sorted(pairs, key=key), key):
        known = [pair for pair in members if pair["settled_at"].date() < end]
        if known:
            yield _row(of_row, end, known, waiting[of_row[0]], world)


def _row(key: Key, end: dt.date, known: list[Pair], waiting: Collection[dt.date], world: World) -> Row:
    is_primary, is_energy = key[1] in PRIMARY, FAMILIES.get(COPIES.get(key[1], key[1])) == "energy"
    kept = [pair for pair in known if pair["is_registered"] and pair["promise"] in ("to_target", "fixed_work")]
    missing = [pair for pair in kept if pair["missing_side"]]
    series, recent = {}, {}
    for basis in CLASSES if is_energy else ("",):
        deciding = [pair for pair in known if pair["use"] == "decides" and (not basis or pair["basis_class"] == basis)]
        clusters = formed.form(deciding, end, waiting, is_primary=is_primary)
        look, terms = looks.at(clusters, is_primary=is_primary), world.terms.get(basis)
        moved = shifts(look.pairs, terms, world.normals) if terms and look.n >= FEWEST else None
        every = formed.every(deciding, end, is_primary=is_primary)
        lacking = formed.lacking(missing, every, waiting, is_primary=is_primary)
        without = formed.unreached(deciding, end, waiting) if is_primary else ()
        series[basis] = replace(look, unreached=without, lacking=tuple(lacking), shifts=moved)
        recent[basis] = looks.at(clusters, is_primary=is_primary, since=dt.date(end.year - 1, end.month, 1), shifts=moved)
    basis = _better(series)
    look, other = series[basis], next((one for name, one in series.items() if name != basis), None)
    others = sum(pair["use"] != "decides" for pair in known)
    is_assumed = is_energy and any(pair["is_power_assumed"] for pair in look.pairs)
    found = strata.test(look.pairs, world.f_quantiles) if look.n >= FEWEST else None
    has_decider = bool(basis) and any(one.n for one in series.values())  # else neither class is the one that does not decide
    of_other = sum(has_decider and pair["use"] == "decides" and pair["basis_class"] != basis for pair in known)
    of_series = [pair for pair in known if pair["use"] == "decides" and (not basis or pair["basis_class"] == basis)]
    return Row(key, end, look, other, known, of_other, others, recent[basis], is_assumed, waiting, of_series, strata=found)


def _better(series: Mapping[str, Look]) -> str:
    """The class that decides: the first with six clusters, else that with more."""
    enough = [name for name, look in series.items() if look.n >= FEWEST]
    return enough[0] if enough else max(series, key=lambda name: series[name].n)


def claim(rows: Sequence[Row]) -> None:
    """e-BH by family over the rows of one report."""
    for family in set(FAMILIES.values()):
        tested = [row for row in rows if FAMILIES.get(row.key[1]) == family and row.is_tested]
        ordered, m = sorted((row.log_star for row in tested), reverse=True), len(tested)
        k = max((place for place, e in enumerate(ordered, 1) if e >= round(log(50 * m / place), 9)), default=0)
        for row in tested:
            row.is_claimed = k > 0 and row.log_star >= round(log(50 * m / k), 9)
            row.log_unit, row.m, row.k = log(50 * m / (k if row.is_claimed else k + 1)), m, k


def stand(rows: Sequence[Row]) -> None:
    """Which claim stands at each of the looks of a row, in their order."""
    standing: Row | None = None
    for row in rows:
        before = standing
        standing = row if row.claim else standing
        row.is_turned = bool(row.claim and before and before.claim != row.claim)
        if standing and row.last_year == -standing.claim:
            row.is_turned, standing = True, None
        row.stands = standing


def verdict(row: Row, world: World) -> tuple[str, str]:
    """The first reason of the page that applies, from the view on; figures that no pair has are asked before."""
    look, view, kpi = row.look, row.key[2], row.key[1]
    has_both = all(any(_has_figure(pair, side) for pair in row.known) for side in ("trainium", "tpu"))
    if has_both and (view == "deployed" or kpi == MARKET):
        return "descriptive", VIEW
    if all(pair["use"] != "decides" for pair in row.known):
        shown = Counter(pair["use_reason"] for pair in row.known if _is_shown(pair))
        if not shown:
            return "not_comparable", "unpaired" if has_both else "no_data"
        reason = max(REASONS, key=lambda one: (shown[one], -list(REASONS).index(one)))
        return REASONS[reason], reason
    if look.n == 0:
        return "descriptive", "too_few"
    if look.n < FEWEST:
        return "descriptive", "too_few_clusters"
    if row.is_turned or _classes_differ(row, world) or (row.strata and row.strata.holds):
        return "undecided", "heterogeneous"
    if row.is_assumed:
        return "undecided", "assumed_power"
    if is_equivalent(row, world):
        return "equivalent", "decided"
    if row.stands:
        if is_withheld(row, world):
            return "undecided", "residual_share"
        return str(SIDES[row.stands.claim * _better_when_less(kpi)]), "decided"
    if look.is_skewed and look.log_e >= round(row.log_unit, 9):
        return "undecided", "skewed"
    as_it_is = look.values.log_e()
    if look.shifts and as_it_is is not None and as_it_is >= round(row.log_needed, 9) > look.log_e_of_shifts:
        return "undecided", "power"
    return "undecided", "sample"


def _has_figure(pair: Pair, side: str) -> bool:
    """A side that reached nothing has a cost."""
    return pair[f"{side}_value"] is not None or (pair["kpi"] in PRIMARY and pair[f"{side}_total"] is not None)


def _is_shown(pair: Pair) -> bool:
    """Whether a pair that does not decide gives the row its reason."""
    return pair["use_reason"] == "promise_broken" or (pair["use_reason"] in REASONS and pair["log_ratio"] is not None)


def is_equivalent(row: Row, world: World) -> bool:
    """Whether all that is asked lies within the least difference."""
    look = row.look
    found = looks.lies_within(look.interval(row.log_needed), world.difference)
    if found and look.is_skewed and look.is_primary:
        return look.totals is not None and looks.lies_within(look.totals[1:], world.difference)
    return found


def _classes_differ(row: Row, world: World) -> bool:
    if row.other is None or min(row.look.n, row.other.n) < FEWEST:
        return False
    if looks.lies_within(row.look.interval(row.log_needed), world.difference):
        own: str | int | None = "equivalent"
    else:
        own = row.look.direction if row.look.log_e >= round(row.log_needed, 9) else None
    other = _answer(row.other, row.log_unit + row.other.factor, world)
    return None not in (own, other) and own != other


def _answer(look: Look, log_needed: float, world: World) -> str | int | None:
    """What one class decides by itself, without missing figures."""
    of_shifts = [(look.values, shift) for shift in look.moved]
    if looks.lies_within(look.interval(log_needed, of_shifts), world.difference):
        return "equivalent"
    return look.direction if look.log_e_of_shifts >= round(log_needed, 9) else None


def is_withheld(row: Row, world: World) -> bool:
    """Whether what no run carries could turn a ratio of costs."""
    if FAMILIES.get(row.key[1]) not in ("primary", "unit_cost"):
        return False
    of = exp((row.stands or row).look.values.mean)
    (trainium, least_trainium), (tpu, least_tpu) = world.shares["trainium"], world.shares["tpu"]
    if of < 1:
        worst, other = (None, None) if tpu is None else (tpu, least_tpu), (trainium or 0.0, least_trainium or 0.0)
        if worst[0] is None:
            return True
        mixtures = [(other[0], worst[1]), (other[1], worst[0])]
    else:
        if trainium is None:
            return True
        mixtures = [(trainium, least_tpu or 0.0), (least_trainium, tpu or 0.0)]
    loaded = [of * (1 - s_trainium) / (1 - s_tpu) if s_tpu < 1 else inf for s_trainium, s_tpu in mixtures]
    return any(one >= 1 if of < 1 else one <= 1 for one in loaded)


def printed(row: Row, window: tuple[dt.date, dt.date], world: World) -> dict[str, Any]:
    """The columns of a row of the report, for one of the windows that end with its look."""
    found, reason = verdict(row, world)
    shown = row.stands if row.stands and found in ("trainium", "tpu") else row
    look, is_tested = shown.look, shown.m > 0 and row.look.n >= FEWEST
    low, high = look.interval(shown.log_needed) if is_tested else (-inf, inf)
    inside = [pair for pair in row.known if window[0] <= pair["settled_at"].date() and pair["log_ratio"] is not None]
    deciding = [pair for pair in inside if pair["use"] == "decides"] or [pair for pair in inside if pair["use"] == "descriptive"]
    logs = np.array([formed.log_ratio(pair) for pair in deciding])
    mean = round(float(logs.mean()), 12) if len(logs) else None
    half = world.t_quantiles[min(len(logs) - 1, 120)] * float(logs.std(ddof=1)) / sqrt(len(logs)) if len(logs) >= 5 else None
    return {
        "verdict": found,
        "verdict_reason": reason,
        "pair_count": len(logs),
        "geometric_mean_ratio": None if mean is None else exp(mean),
        "ratio_low": None if mean is None or half is None else exp(mean - half),
        "ratio_high": None if mean is None or half is None else exp(mean + half),
        "cluster_count": row.look.n,
        "set_aside_count": 0 if reason == VIEW else row.others + row.of_other_class,
        "e_value": exp(look.log_e) if look.log_e > -inf else None,
        "e_needed": exp(shown.log_needed) if is_tested else None,
        "decided_low": looks.ratio(low),
        "decided_high": looks.ratio(high),
        "total_ratio": looks.ratio(row.look.total),
        "total_ratio_low": looks.ratio(row.look.totals and row.look.totals[1]),
        "total_ratio_high": looks.ratio(row.look.totals and row.look.totals[2]),
    }


def of_strata(row: Row, world: World) -> Iterable[tuple[tuple[str, str], dict[str, Any]]]:
    """The rows of every stratum of a row with a cluster of its own, each decided by itself where the test of its kind holds."""
    for kind in strata.KINDS if row.look.n else ():
        for name in sorted({strata.stratum_of(pair, kind) for pair in row.series_pairs}):
            of_it = [pair for pair in row.series_pairs if strata.stratum_of(pair, kind) == name]
            clusters = formed.form(of_it, row.end, row.waiting, is_primary=row.look.is_primary)
            look = looks.at(clusters, is_primary=row.look.is_primary, shifts=row.look.shifts)
            if not look.n:
                continue
            is_different = row.strata is not None and kind in row.strata.holding
            is_decided = is_different and look.n >= FEWEST and row.m > 0
            log_needed, answer = row.log_unit + look.factor, None
            if is_decided:
                answer = _answer(look, log_needed, world)
                if look.is_skewed and look.is_primary and answer != "equivalent" and not look.is_carried_by_totals:
                    answer = None
            side = answer if isinstance(answer, str) or answer is None else SIDES[answer * _better_when_less(row.key[1])]
            yield (
                (kind, name),
                {
                    "cluster_count": look.n,
                    "geometric_mean_ratio": exp(look.values.mean),
                    "is_different": is_different,
                    "e_value": exp(look.log_e_of_shifts) if is_decided and look.log_e_of_shifts > -inf else None,
                    "e_needed": exp(log_needed) if is_decided else None,
                    "verdict": (side or "undecided") if is_decided else "descriptive",
                },
            )


def _better_when_less(kpi: str) -> int:
    return -1 if FAMILIES[COPIES.get(kpi, kpi)] == "utilisation" else 1
