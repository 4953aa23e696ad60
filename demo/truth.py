"""The answer key: which share of which source line belongs to which run, told by the simulation and never by the product.

`truth.json` holds ranges of rows with one answer; README.md of the output folder explains the encoding.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from demo.clock import HOUR, MICRO
from demo.simulation import Instance, World, normalise


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
    """The claim of one line of a machine, of a clock hour unless `end` is given.

    `tag` is what the bill shows, which may lag behind the machine's.
    """
    end = start + HOUR if end is None else end
    holding = {run for *_, run in world.holders(instance.instance_id, start * MICRO, end * MICRO)}
    if tag is not None:
        run_id = normalise(tag)
        if world.is_ambiguous(run_id):
            return unclaimed("unattributed", component, fee)
        if holding <= {run_id}:
            return whole(run_id, "tag", component)._replace(fee=fee)
    if holding:
        shares = world.shares(instance, start, end, billed)
        parts = tuple(Part(run, "resource_time", share.numerator, share.denominator) for run, share in shares.items())
        left = 1 - sum(shares.values(), Fraction(0))
        reason = "idle" if component == "accelerator" else "non_accelerator"
        return Claim(component, parts, Rest(reason, left.numerator, left.denominator) if left else None, fee)
    if component != "accelerator":
        return None
    is_known = world.is_recorded(instance.instance_id) or instance.purchase == "block"
    return unclaimed("idle" if is_known else "unlogged", component, fee)


def ranges(claims: Sequence[Claim | None], first_row: int = 1) -> list[list[object]]:
    """Neighbouring rows with the same claim as one entry; rows without a claim are left out."""
    entries: list[list[object]] = []
    previous: Claim | None = None
    for row, claim in enumerate(claims, start=first_row):
        if claim is not None and claim == previous:
            entries[-1][1] = row
        elif claim is not None:
            entries.append([row, row, claim.component, claim.parts, claim.residual, claim.fee])
        previous = claim
    return entries


def ambiguous_runs(worlds: Sequence[World]) -> list[str]:
    runs = sorted({run.run_id for world in worlds for run in world.runs})
    return [run_id for run_id in runs if any(world.is_ambiguous(run_id) for world in worlds)]


def render(
    worlds: Sequence[World], objects: dict[str, dict[str, dict]], energy: dict[str, dict], notes: dict[str, object]
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
    lines = [
        "{",
        *(f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}," for name, value in head.items()),
        '"energy":{',
        ",\n".join(f"{json.dumps(run)}:{json.dumps(months, separators=(',', ':'))}" for run, months in energy.items()),
        "},",
        '"objects":{',
    ]
    for source_number, (source, keys) in enumerate(objects.items()):
        lines.append(f"{json.dumps(source)}:{{")
        for number, (key, answer) in enumerate(keys.items()):
            rest = {name: value for name, value in answer.items() if name != "lines"}
            lines.append(f'{json.dumps(key)}:{{{json.dumps(rest, separators=(",", ":"))[1:-1]},"lines":[')
            lines.append(",\n".join(json.dumps(entry, separators=(",", ":")) for entry in answer["lines"]))
            lines.append("]}" + ("," if number < len(keys) - 1 else ""))
        lines.append("}" + ("," if source_number < len(objects) - 1 else ""))
    lines.append("}}")
    return "\n".join(lines) + "\n"
