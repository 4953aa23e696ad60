"""The answer key: which share of which source line belongs to which run, stated by the simulation and never by the product.

`truth.json` holds ranges of rows with one answer; README.md of the output folder explains the encoding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from dagster_project.demo.clock import HOUR, MICRO, month_of
from dagster_project.demo.organisation import NODE_CHIPS
from dagster_project.demo.simulation import Instance, World, normalise, occupied

compact = partial(json.dumps, separators=(",", ":"))


class Part(NamedTuple):
    run_id: str
    rule: str
    numerator: int
    denominator: int


class Rest(NamedTuple):
    """What of a line no run holds (reason), or a block hour's share of its fee (the block's ARN)."""

    name: str
    numerator: int
    denominator: int


class Claim(NamedTuple):
    component: str
    parts: tuple[Part, ...]
    residual: Rest | None = None
    fee: Rest | None = None


def whole(run_id: str, rule: str, component: str) -> Claim:
    return Claim(component, (Part(run_id, rule, 1, 1),))


def unclaimed(reason: str, component: str = "accelerator", fee: Rest | None = None) -> Claim:
    return Claim(component, (), Rest(reason, 1, 1), fee)


def line_claim(
    world: World,
    instance: Instance,
    start: int,
    billed: int,
    component: str,
    *,
    tag: str | None = None,
    fee: Rest | None = None,
    end: int | None = None,
) -> Claim | None:
    """The claim of one line of a machine, of a clock hour unless `end` is given, that bills `billed` seconds of the node.

    `tag` is what the bill shows, which may lag behind the machine's.
    """
    holds = world.holders(instance.instance_id, start * MICRO, (start + HOUR if end is None else end) * MICRO)
    if tag is not None:
        run_id = normalise(tag)
        if run_id in world.ambiguous:
            return unclaimed("unattributed", component, fee)
        if {run for *_, run in holds} <= {run_id}:
            return whole(run_id, "tag", component)._replace(fee=fee)
    if holds:
        node_time = occupied(holds, NODE_CHIPS[instance.instance_type])
        line = max(Fraction(billed * MICRO), sum(node_time.values(), Fraction(0)))
        shares = {run: node_time[run] / line for run in sorted(node_time)}
        parts = tuple(Part(run, "resource_time", *share.as_integer_ratio()) for run, share in shares.items())
        left = 1 - sum(shares.values(), Fraction(0))
        reason = "idle" if component == "accelerator" else "non_accelerator"
        return Claim(component, parts, Rest(reason, *left.as_integer_ratio()) if left else None, fee)
    if component != "accelerator":
        return None
    if (instance.account.account_id, instance.instance_type, month_of(start)) not in world.recorded:
        return unclaimed("no_record", component, fee)
    is_known = instance.instance_id in world.held or instance.purchase == "block"
    return unclaimed("idle" if is_known else "unlogged", component, fee)


def ranges(claims: Sequence[Claim | None]) -> list[list[object]]:
    """Neighbouring rows with the same claim as one entry; rows without a claim are left out."""
    alike = groupby(enumerate(claims, start=1), key=itemgetter(1))
    groups = [(claim, [row for row, _ in rows]) for claim, rows in alike if claim is not None]
    return [[rows[0], rows[-1], *claim] for claim, rows in groups]


def ambiguous_runs(worlds: Sequence[World]) -> list[str]:
    return sorted({run_id for world in worlds for run_id in world.ambiguous})


def render(
    worlds: Sequence[World],
    objects: dict[str, dict[str, dict[str, Any]]],
    energy: dict[str, dict[str, Any]],
    power: dict[str, dict[str, Any]],
    notes: dict[str, object],
) -> str:
    """JSON text with one entry per line, so that a difference can be read."""
    runs = sorted({run.run_id for world in worlds for run in world.runs})
    attributed = {
        part.run_id for keys in objects.values() for answer in keys.values() for entry in answer["lines"] for part in entry[3]
    }
    head = {
        "format": 1,
        "entry": ["first_row", "last_row", "component", ["run", "rule", "numerator", "denominator"], "residual", "fee"],
        "runs": runs,
        "ambiguous_runs": ambiguous_runs(worlds),
        "runs_without_record": sorted(attributed - set(runs)),
        **notes,
    }
    sources = []
    for source, answers in objects.items():
        told = []
        for key, answer in answers.items():
            lines = _block("[]", map(compact, answer["lines"]))
            sums = compact({name: value for name, value in answer.items() if name != "lines"})
            told.append(f'{compact(key)}:{sums[:-1]},"lines":{lines}}}')
        sources.append(f"{compact(source)}:{_block('{}', told)}")
    months, metered = (
        _block("{}", (f"{compact(run)}:{compact(each)}" for run, each in answers.items())) for answers in (energy, power)
    )
    told = [f"{compact(name)}:{compact(value)}" for name, value in head.items()]
    return "{\n" + ",\n".join([*told, f'"energy":{months}', f'"power":{metered}', f'"objects":{_block("{}", sources)}']) + "}\n"


def _block(brackets: str, entries: Iterable[str]) -> str:
    return brackets[0] + "\n" + ",\n".join(entries) + "\n" + brackets[1]
