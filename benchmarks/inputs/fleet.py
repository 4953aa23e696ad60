"""The accelerators of a generated month and who held them: few enough to be drawn one by one.

Four machines are a cluster; it works through one run after another, with some idle hours between them. Seven of eight runs have
a record, a third of all a record and a tag with their id on the machines, one of eight the tag alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from dagster_project.demo.files import put_json

CLUSTER = 4
BLOCK_HOURS = 240
RATES = {"trn1.32xlarge": 21.5, "trn2.48xlarge": 44.701}
CHIPS = {"trn1.32xlarge": 16, "trn2.48xlarge": 16}


@dataclass
class Fleet:
    """Rows for the tables nodes, holds and jobs of aws_month.sql, and the run records that belong to them."""

    nodes: list[tuple[Any, ...]] = field(default_factory=list)
    holds: list[tuple[Any, ...]] = field(default_factory=list)
    jobs: list[tuple[Any, ...]] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)


def month_hours(month: datetime) -> int:
    return int(((month + timedelta(days=32)).replace(day=1) - month) / timedelta(hours=1))


def draw_fleet(seed: int, month: datetime, machines: int, payer: str) -> Fleet:
    """Machines keep their names from month to month; runs are new in each."""
    hours, fleet = month_hours(month), Fleet()
    for cluster in range(max(1, machines // CLUSTER)):
        steady, random = Random(f"{seed}|{cluster}"), Random(f"{seed}|{cluster}|{month:%Y-%m}")
        in_block = cluster % 10 == 9
        kind = "trn2.48xlarge" if cluster % 4 == 3 or in_block else "trn1.32xlarge"
        purchase = steady.choice(("on_demand", "on_demand", "plan", "spot")) if kind == "trn1.32xlarge" else "on_demand"
        region = steady.choice(("us-east-1", "us-west-2", "us-east-2"))
        first, last = (96, 96 + BLOCK_HOURS - 24) if in_block else (0, hours)
        arn = f"arn:aws:ec2:us-east-2:{payer}:capacity-reservation/cr-0{month:%Y%m}00000000000" if in_block else None
        names = [f"i-0acce{steady.getrandbits(48):012x}" for _ in range(CLUSTER)]
        for position, name in enumerate(names):
            n = cluster * CLUSTER + position + 1
            row = (n, name, kind, "us-east-2" if in_block else region, f"{region}a", 1 + cluster % 5, None, purchase)
            fleet.nodes.append((*row, RATES[kind], first, last, arn if cluster == 9 else None))
        _draw_runs(fleet, random, month, cluster, names, kind, (first, last))
        if cluster % 3 == 0:
            _draw_job(fleet, random, month, hours, cluster, payer)
    return fleet


def _draw_runs(
    fleet: Fleet, random: Random, month: datetime, cluster: int, names: list[str], kind: str, span: tuple[int, int]
) -> None:
    hour, number = span[0] + random.randrange(1, 20), 0
    while hour < span[1] - 4:
        length = min(random.choice((6, 20, 48, 90, 160)) + random.randrange(8), span[1] - hour - 1)
        run_id = f"run-{month:%y%m}-{cluster:04d}-{number:02d}"
        chance = random.random()
        first_minute, last_minute = random.randrange(60), random.randrange(60)
        tag = run_id if chance < 0.33 or chance > 0.88 else None
        fleet.holds += [(cluster * CLUSTER + position + 1, hour, hour + length, tag) for position in range(len(names))]
        if chance < 0.88:
            times = (
                month + timedelta(hours=hour, minutes=first_minute),
                month + timedelta(hours=hour + length, minutes=last_minute),
            )
            fleet.records.append(record_of(run_id, random, kind, [(name, kind, CHIPS[kind]) for name in names], [times], []))
        hour, number = hour + length + 1 + random.randrange(1, 4), number + 1


def _draw_job(fleet: Fleet, random: Random, month: datetime, hours: int, cluster: int, payer: str) -> None:
    run_id = f"job-{month:%y%m}-{cluster:04d}"
    arn = f"arn:aws:sagemaker:us-east-1:{payer}:training-job/{run_id}"
    first, length, machines = random.randrange(hours - 110), random.randrange(5, 100), random.choice((1, 2, 4))
    fleet.jobs.append((cluster + 1, arn, 1 + cluster % 5, None, first, first + length, machines))
    times = month + timedelta(hours=first), month + timedelta(hours=first + length)
    nodes = [(arn, "ml.trn1.32xlarge", 16 * machines)]
    fleet.records.append(record_of(run_id, random, "trn1.32xlarge", nodes, [times], [{"system": "sagemaker", "id": arn}]))


def record_of(
    run_id: str,
    random: Random,
    kind: str,
    nodes: list[tuple[Any, ...]],
    times: Sequence[tuple[datetime, datetime]],
    aliases: list[dict[str, str]],
) -> dict[str, Any]:
    """A run record with an attempt for each of `times`, on the same nodes."""
    tokens = int((times[-1][1] - times[0][0]).total_seconds()) * 1_450 * sum(chips for _, _, chips in nodes)
    return {
        "training_run_id": run_id,
        "aliases": aliases,
        "provider_name": "AWS",
        "workload_key": f"workload-{random.randrange(6)}",
        "pair_key": None,
        "model_name": f"model-{kind.partition('.')[0]}",
        "framework": "neuronx-distributed",
        "team": f"team-{random.randrange(5)}",
        "tokens": tokens,
        "useful_tokens": tokens,
        "steps": tokens // 4_194_304,
        "model_flops": float(6 * 8_000_000_000 * tokens),
        "target_metric": "eval_loss",
        "target_direction": "min",
        "target_value": 2.1,
        "final_value": round(random.uniform(1.9, 2.3), 4),
        "tags": {"priority": random.choice(("low", "high"))},
        "attempts": [
            {
                "attempt_id": str(number),
                "state": random.choice(("completed", "completed", "completed", "failed")),
                "started_at": f"{start:%Y-%m-%dT%H:%M:%SZ}",
                "ended_at": f"{end:%Y-%m-%dT%H:%M:%SZ}",
                "nodes": [{"resource_id": name, "accelerator_type": kind, "chips": chips} for name, kind, chips in nodes],
            }
            for number, (start, end) in enumerate(times, start=1)
        ],
    }


def write_records(root: Path, month: datetime, records: list[dict[str, Any]]) -> None:
    for record in records:
        ended = datetime.fromisoformat(record["attempts"][-1]["ended_at"]).astimezone(UTC)
        name = record["training_run_id"]
        put_json(root / f"{month:%Y-%m}" / f"{name}.run.json", record, int(ended.timestamp()) + 300)
