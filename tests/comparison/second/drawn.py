"""Drawn publications: workloads with pairs over some quarters, of all kinds that the page has a rule for."""

from __future__ import annotations

import datetime as dt
import random
from math import exp
from typing import Any

from tests.comparison.second.clusters import PRIMARY, Pair, half_quarter, log_ratio, quarter_end

START = dt.date(2024, 1, 1)
MODELLED = ("energy_kwh_per_million_tokens", "sci_gco2e_per_million_tokens")
COPY = "location_based_gco2e_per_million_tokens"
OTHERS = ("cost_per_million_tokens", "cost_per_exaflop", "mfu_ratio", "goodput_ratio")
TYPES = {"trainium": ("trn1", "trn2"), "tpu": ("v5e", "v6e")}
PLACES = {"trainium": ("us-east-1", "us-west-2"), "tpu": ("us-central1", "europe-west4")}
# what a workload may have of each kind; most have none or few of the odd ones
ANY: dict[str, tuple[Any, ...]] = {
    "truth": (1.0, 1.0, 0.98, 0.9, 0.8, 0.6, 1.3),
    "spread": (0.0, 0.003, 0.01, 0.03, 0.1, 0.2),
    "bounds": (0.01, 0.05, 0.2, 0.5),
    "measured": (0.0, 0.0, 0.5, 0.9, 1.0),
    "teams": (1, 1, 2, 4),
}
PLAIN: dict[str, Any] = {"turns": 1, **dict.fromkeys(("restarts", "missing", "unregistered", "broken", "failing"), 0.0)}
PLAIN |= dict.fromkeys(("assumed", "mixed", "of_team", "running", "classes_apart"), 0.0)
ODD: dict[str, tuple[Any, ...]] = {
    "turns": (0.5, 0.6),  # the share of its time after which the opposite is true
    "restarts": (0.02, 0.1),
    "missing": (0.05, 0.15, 0.4, 1.0),
    "unregistered": (0.2, 1.0),
    "broken": (0.1, 1.0),
    "failing": (0.2, 0.7),
    "assumed": (0.1, 1.0),
    "mixed": (0.2, 1.0),
    "of_team": (0.02, 0.5),
    "running": (0.01, 0.05),
    "classes_apart": (0.5,),  # what a meter shows beside what a model does, in logarithms
}
BROKEN = {
    "promise": "broken",
    "promise_broken_field": "target_value",
    "use": "not_comparable",
    "use_reason": "promise_broken",
}
UNKNOWN = {"promise": "unknown", "use": "descriptive", "use_reason": "promise_unknown"}
PURCHASES = ("on_demand", "spot", "unknown")


class Drawn:
    """A publication: its pairs, quarter ends and shares of cost that no run carries."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.quarters = self.dice.choice((2, 4, 6, 8, 10, 12))
        self.pairs: list[Pair] = []
        for number in range(self.dice.choice((1, 2, 4, 8, 12))):
            self._workload(number)
        possible = (0.0, 0.05, 0.1, 0.3, None)
        drawn = {side: self.dice.choice(possible) for side in TYPES}
        self.shares = {
            side: (share, None if share is None else share * self.dice.choice((1, 0.5))) for side, share in drawn.items()
        }
        first = min(pair["settled_at"].date() for pair in self.pairs)
        self.ends = [end for n in range(1, self.quarters + 2) if (end := quarter_end(START, n)) > first]

    def _workload(self, place: int) -> None:
        dice, name = self.dice, f"w{place}"
        kpis = [dice.choice(PRIMARY), *dice.sample(OTHERS, dice.randint(0, 2)), *dice.sample(MODELLED, dice.randint(0, 2))]
        odd = {name: dice.choice(ODD[name]) for name in dice.sample([*ODD], dice.choice((0, 0, 1, 1, 2, 3)))}
        habits = PLAIN | odd | {name: dice.choice(values) for name, values in ANY.items()}
        habits["is_unnamed"] = place % 2 == 1  # whether what it has of broken promises is mostly unknown
        busy = dice.choice((1, 2, 3, 6))
        for quarter in range(self.quarters):
            opposite = quarter >= habits["turns"] * self.quarters
            for number in range(dice.randint(dice.choice((0, busy)), 2 * busy)):
                day = quarter_end(START, quarter) + dt.timedelta(days=dice.randrange(90))
                self._pair(name, f"q{quarter}-{number}", day, kpis, habits | {"sign": -1 if opposite else 1})

    def _pair(self, workload: str, key: str, day: dt.date, kpis: list[str], habits: dict[str, Any]) -> None:
        dice = self.dice
        team = f"team-{dice.randrange(habits['teams'])}"
        shared: Pair = {
            "workload_key": workload,
            "pair_key": key,
            "setting": "",
            "promise": "fixed_work" if kpis[0] == PRIMARY[1] else "to_target",
        }
        shared |= {"settled_at": dt.datetime.combine(day, dt.time(dice.randrange(24))), "cluster_start": half_quarter(day)}
        shared |= {"closed_on": quarter_end(day), "promise_broken_field": None, "is_registered": True, "registered_by": "plan"}
        shared |= {"evidence_of_time": dice.choice(("object_store", "file_time")), "use": "decides", "use_reason": None}
        if dice.random() < habits["unregistered"]:
            shared |= {
                "is_registered": False,
                "registered_by": "none",
                "evidence_of_time": None,
                "use": "descriptive",
                "use_reason": "labelled_later",
            }
        elif dice.random() < habits["broken"]:
            shared |= UNKNOWN if habits["is_unnamed"] else BROKEN
        elif dice.random() < habits["broken"]:
            shared |= BROKEN if habits["is_unnamed"] else UNKNOWN
        for side in ("trainium", "tpu"):
            shared |= {
                f"{side}_accelerator_type": dice.choice(TYPES[side]),
                f"{side}_region_id": dice.choice(PLACES[side]),
                f"{side}_purchase": dice.choice(PURCHASES),
                f"{side}_software": dice.choice(("2.1", "2.2")),
                f"{side}_team": team,
                f"{side}_is_running": dice.random() < habits["running"],
            }
        effect = exp(habits["of_team"] * (int(team[-1]) - (habits["teams"] - 1) / 2))
        missing = dice.choice(("trainium", "tpu")) if dice.random() < habits["missing"] else None
        is_measured, is_assumed = dice.random() < habits["measured"], dice.random() < habits["assumed"]
        for kpi in kpis:
            ratio = habits["truth"] ** habits["sign"] * effect * exp(dice.gauss(0, habits["spread"]))
            ratio *= exp(habits["classes_apart"]) if kpi in MODELLED and is_measured else 1
            pair = shared | {"kpi": kpi, "factor_view": "chip", "unit": "USD"} | self._values(ratio, habits)
            if kpi in MODELLED:
                pair |= self._of_energy(pair, habits, is_measured=is_measured, is_assumed=is_assumed)
            self.pairs.append(finished(pair, missing))
            if kpi == MODELLED[0]:
                self.pairs.append(finished(scaled(pair, COPY, "chip", 0.37), missing))
                self.pairs.append(finished(scaled(pair, kpi, "deployed", 1.25), missing))

    def _values(self, ratio: float, habits: dict[str, Any]) -> Pair:
        """Both sides of a figure: in primary ones with launches that missed, and one side that now and then starts again."""
        dice, found = self.dice, Pair()
        for side, value in (("trainium", 100 * exp(dice.gauss(0, 0.2) if habits["spread"] else 0)), ("tpu", None)):
            value = value if value is not None else found["trainium_value"] * ratio
            reached = dice.choice((1, 1, 1, 2)) if dice.random() >= habits["failing"] / 2 else 0
            launches = reached + sum(dice.random() < habits["failing"] for _ in range(2)) + (reached == 0)
            restart = 1 + 10 * dice.random() if side == "tpu" and dice.random() < habits["restarts"] else 1.0
            total = value * launches * restart
            of_launches = {
                f"{side}_launches": launches,
                f"{side}_run_count": launches,
                f"{side}_total": total,
                f"{side}_reached": reached,
            }
            found |= of_launches | {f"{side}_value": value * restart, f"{side}_value_low": None, f"{side}_value_high": None}
        return found

    def _of_energy(self, pair: Pair, habits: dict[str, Any], *, is_measured: bool, is_assumed: bool) -> Pair:
        narrow = 0.3 if is_measured else 1.0
        found: Pair = {
            "basis_class": "measured" if is_measured else "modelled",
            "is_power_assumed": is_assumed and not is_measured,
        }
        for side in ("trainium", "tpu"):
            low, high = (exp(sign * narrow * habits["bounds"] * (0.5 + self.dice.random())) for sign in (-1, 1))
            found |= {f"{side}_value_low": pair[f"{side}_value"] * low, f"{side}_value_high": pair[f"{side}_value"] * high}
        if pair["use"] == "decides" and self.dice.random() < habits["mixed"]:
            found |= {"basis_class": "mixed", "use": "set_aside", "use_reason": "mixed_basis"}
        elif pair["use"] == "decides" and found["is_power_assumed"]:
            found |= {"use": "set_aside", "use_reason": "assumed_power"}
        return found


def scaled(pair: Pair, kpi: str, view: str, factor: float) -> Pair:
    """The same figures times a constant, under another name or view."""
    names = [f"{side}_value{end}" for side in ("trainium", "tpu") for end in ("", "_low", "_high")]
    found = pair | {"kpi": kpi, "factor_view": view} | {name: pair[name] and pair[name] * factor for name in names}
    if view == "deployed" and found["use"] == "decides":
        found |= {"use": "descriptive", "use_reason": "view_is_descriptive"}
    return found


def finished(pair: Pair, missing: str | None) -> Pair:
    """With a side that may be unknown, and the logarithms."""
    is_primary = pair["kpi"] in PRIMARY
    if is_primary:
        for side in ("trainium", "tpu"):
            reached = pair[f"{side}_reached"]
            pair[f"{side}_value"] = float(pair[f"{side}_total"]) / reached if reached else None
    pair = {"basis_class": None, "is_power_assumed": False} | pair | {"missing_side": missing}
    if missing:
        pair |= {f"{missing}_{name}": None for name in ("value", "value_low", "value_high", "total")}
        if pair["use"] == "decides":
            pair |= {"use": "set_aside", "use_reason": "no_figure"}
    known = pair["trainium_value"] is not None and pair["tpu_value"] is not None
    return pair | {"log_ratio": log_ratio(pair) if known else None, "log_ratio_low": None, "log_ratio_high": None}
