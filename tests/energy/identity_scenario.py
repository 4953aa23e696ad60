"""Jobs of two clusters of Slurm, and of two of Kubernetes, of which the second is known from August 2026 on, and parts of chips.

Through the connector into the raw tables.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.energy.evidence_scenario import land, own, text_of
from tests.energy.raw_tables import Line, insert

HOUR = 3600


def at(day: str, hour: int) -> int:
    return int(datetime.fromisoformat(f"2026-{day}T{hour:02d}:00:00").replace(tzinfo=UTC).timestamp())


def metered(day: str, node: str) -> list[dict[str, Any]]:
    """The extern step of a machine that drew 2 kW: 7.2 MJ in the hour."""
    times = {"start": at(day, 1), "end": at(day, 2)}
    joules = {"energy": {"consumed": 7_200_000}}
    return [{"step": {"id": "extern"}, "time": times, "nodes": {"list": [node]}, "statistics": joules}]


def job(number: int, cluster: str | None, day: str, node: str, gres: dict[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """A job of an hour on one machine of 16 chips."""
    gres = {"neuron": 16} if gres is None else gres
    return {
        "job_id": number, "cluster": cluster, "nodes": node, "state": {"current": ["COMPLETED"]}, "steps": [],
        "time": {"start": at(day, 1), "end": at(day, 2)},
        "tres": {"allocated": [{"type": "gres", "name": name, "count": count} for name, count in gres.items()]}, **more,
    }  # fmt: skip


JOBS = [
    job(7000, "prod", "07-20", "p-0"),
    job(7001, "prod", "08-03", "p-1"), job(7001, "dev", "08-03", "d-1"),
    job(7002, "dev", "08-03", "d-2"), job(7002, "prod", "08-03", "p-2"),
    job(7003, "prod", "08-03", "p-3"),
    job(7004, None, "08-03", "x-4"),
    # it failed on two machines and began two minutes late, by its scheduler
    job(7010, "prod", "08-03", "p-[10-11]", {"neuron": 32}, state={"current": ["FAILED"]},
        time={"start": at("08-03", 1) + 120, "end": at("08-03", 2) + 45}),
    job(7011, "prod", "08-03", "p-12", {"gpu": 8}, steps=metered("08-03", "p-12")),
    job(7012, "prod", "08-03", "p-13", {}, steps=metered("08-03", "p-13")),
    job(7013, "prod", "08-03", "p-14", {"gpu": 8, "gpu:h100": 8}),
]  # fmt: skip
OWN = [
    own("team-b", cluster="dev", team="b", aliases=[{"system": "slurm", "id": "7002"}]),
    own("team-c", team="c", aliases=[{"system": "slurm", "id": "7003"}],
        attempts=[{"started_at": "2026-08-03T01:00:00Z", "ended_at": "2026-08-03T02:00:00Z"}]),
    own("fell", aliases=[{"system": "slurm", "id": "prod/7010"}],
        attempts=[{"started_at": "2026-08-03T01:00:00Z", "ended_at": "2026-08-03T02:00:00Z", "state": "succeeded",
                   "nodes": [{"resource_id": "i-fell", "accelerator_type": "trn1.32xlarge"}]}]),
]  # fmt: skip
# a seventh of a GPU is a 1g.10gb of MIG; 20 chips are claimed of a machine of 16
for _name, _machine, _type, _chips in (
    ("half", "i-parts", "p5.48xlarge", 0.5), ("seventh", "i-parts", "p5.48xlarge", 1 / 7),
    ("claims-12", "i-claimed", "trn1.32xlarge", 12), ("claims-8", "i-claimed", "trn1.32xlarge", 8),
):  # fmt: skip
    _node = {"resource_id": _machine, "accelerator_type": _type, "chips": _chips}
    _times = {"started_at": "2026-08-05T00:00:00Z", "ended_at": "2026-08-05T01:00:00Z", "state": "succeeded"}
    OWN.append(own(_name, attempts=[{**_times, "nodes": [_node]}]))
OWN.append(own("team-d", cluster="west", team="d", aliases=[{"system": "kubernetes", "id": "ml/tune"}]))
OWN.append(own("team-e", team="e", aliases=[{"system": "kubernetes", "id": "ml/tune"}]))


def workload(name: str, day: str) -> list[dict[str, Any]]:
    """A Job of an hour, and its pod of one instance of MIG."""
    times = {"startTime": f"2026-{day}T01:00:00Z", "completionTime": f"2026-{day}T02:00:00Z"}
    ended = [{"state": {"terminated": {"finishedAt": times["completionTime"]}}}]
    limits = {"nvidia.com/mig-1g.10gb": "1"}
    done = {"type": "Complete", "status": "True", "lastTransitionTime": times["completionTime"]}
    return [
        {"kind": "Job", "metadata": {"name": name, "namespace": "ml"}, "status": {**times, "conditions": [done]}},
        {"kind": "Pod", "metadata": {"name": f"{name}-0", "namespace": "ml", "labels": {"job-name": name}},
         "spec": {"nodeName": f"node-of-{name}", "nodeSelector": {"node.kubernetes.io/instance-type": "p5.48xlarge"},
                  "containers": [{"resources": {"limits": limits}}]},
         "status": {"phase": "Succeeded", "startTime": times["startTime"], "containerStatuses": ended}},
    ]  # fmt: skip


LOGS = [
    {"info": {"run_id": name, "status": "FINISHED", "start_time": (at("08-03", 1) + 600) * 1000, "end_time": None},
     "data": {"tags": {"training_run_id": name}}}
    for name in ("fell", "lonely")
]  # fmt: skip


def write(line: Line) -> int:
    """Put the records into the raw tables, and bill hours that carry numbers as tags: one of them in July."""
    land(line, "clusters/sacct.json", text_of([{"jobs": JOBS}]))
    land(line, "clusters/mlflow.json", text_of(LOGS))
    for record in OWN:
        land(line, f"clusters/{record['training_run_id']}.run.json", text_of([record]))
    for place, names in {
        "cluster=east/july": ["prep"],
        "cluster=east/tune": ["tune"],
        "cluster=west/tune": ["tune"],
        "bare": ["unplaced"],
    }.items():
        day = "07-20" if names == ["prep"] else "08-03"
        land(line, f"{place}.json", text_of([{"items": workload(name, day)} for name in names]))
    for machine, kind in (("i-parts", "p5.48xlarge"), ("i-claimed", "trn1.32xlarge")):
        line.bill_hour(machine, kind, datetime(2026, 8, 5), account="3")  # noqa: DTZ001 raw times are UTC without a zone
    for tag, month in (("7000", 7), ("7001", 8), ("dev-7001", 8)):
        hour = datetime(2026, month, 5)  # noqa: DTZ001 raw times are UTC without a zone
        line.bill_hour(f"i-tagged-{tag}", "trn1.32xlarge", hour, account="3", _run_tag=tag)
    insert(
        line.connection, "delivery_totals", source_name="cur", kind="aws_cur", partition="2026-08", content_hash="h",
        payer_account_id="1", usage_month="2026-08-01", currency="USD", line_count=4, billed_cost="5.375",
    )  # fmt: skip
    # a run over the end of July, of which August's bill is not there
    end = datetime(2026, 7, 31, 23)  # noqa: DTZ001 raw times are UTC without a zone
    line.run("over-the-end", "AWS", ("i-over", "trn1.2xlarge", 1, end, end + timedelta(hours=2)))
    line.bill_hour("i-over", "trn1.2xlarge", end, account="3")
    return 2
