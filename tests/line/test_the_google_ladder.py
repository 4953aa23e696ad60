"""Whose a Google Cloud row is when labels speak of clusters, pods, pipelines and reservations: one refresh, the oracle beside it.

Each hour of a scenario costs an amount of its own, so that a wrong owner shows in the sum.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.compare import differences, report
from tests.oracle.google_builders import PROJECT, GoogleExports, labels_of, tpu_hour, tpu_run
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-06-20T00:00:00Z"
NINE, TEN, ELEVEN, TWELVE = (f"2026-04-10T{at:02d}:00:00Z" for at in (9, 10, 11, 12))
FEE = {"id": "CCD8-9BF1-090E", "description": "Kubernetes Engine"}
PIPELINE = "vertex-ai-pipelines-run-billing-id"
JOB = f"projects/{PROJECT}/locations/us-east5/customJobs/7"


def row(cost: float, at: int = 9, name: str | None = None, day: str = "2026-04-10", **more: object) -> dict:
    """An hour of four v6e chips on a machine of this name."""
    labels, system = more.pop("labels", {}), more.pop("system", {})
    resource = {"name": name, "global_name": f"//compute.googleapis.com/projects/1/zones/us-east5-b/instances/{name}"}
    columns = {"resource": resource if name else None, "labels": labels_of(**labels)}
    columns["system_labels"] = labels_of(**{f"compute.googleapis.com/{key}": value for key, value in system.items()})
    columns["usage"] = {"amount": 14_400.0, "unit": "seconds", "amount_in_pricing_units": 4.0, "pricing_unit": "hour"}
    return tpu_hour(f"{day}T{at:02d}:00:00", cost, more.pop("sku", "TpuV6e running in Columbus"), **columns | more)


def cluster(name: str, pool: str | None = None, location: str = "us-east5", **more: str) -> dict[str, str]:
    labels = {"goog-k8s-cluster-name": name, "goog-k8s-cluster-location": location}
    return labels | ({"goog-k8s-node-pool-name": pool} if pool else {}) | more


def pod(namespace: str, workload: str | None = None, jobset: str | None = None, **more: str) -> dict[str, str]:
    named = {"k8s-workload-name": workload, "k8s-label/jobset.sigs.k8s.io/jobset-name": jobset, "k8s-namespace": namespace}
    return cluster("pods", "pool") | {key: value for key, value in named.items() if value} | more


def known_as(run_id: str, *aliases: str, system: str = "kubernetes", times: tuple[str, str] | None = None) -> dict:
    record = {"training_run_id": run_id, "provider_name": "Google Cloud"}
    record["aliases"] = [{"system": system, "id": alias} for alias in aliases]
    return record | ({"attempts": [{"started_at": times[0], "ended_at": times[1]}]} if times else {})


def path(what: str, project: str = PROJECT, location: str = "us-east5") -> str:
    return f"//container.googleapis.com/projects/{project}/locations/{location}/{what}"


def pods() -> tuple[list[dict], list[dict]]:
    rows = [
        row(1, labels=pod("ml", "by-name")),
        row(2, labels=pod("ml", "set-workers-0", jobset="set")),
        row(4, labels=pod("ml", "twin")), row(8, labels=pod("other", "twin")),
        row(16, labels=pod("other", "apart")), row(32, labels=pod("ml", "apart")),
        row(64, 9, labels=pod("ml", "again")), row(128, 10, labels=pod("ml", "again")), row(256, 11, labels=pod("ml", "again")),
        row(512, labels=pod("ml", "two-records")),
        row(1024, labels=pod("ml", "two-records", **{"k8s-label/training_run_id": "tagged"})),
    ]  # fmt: skip
    records = [
        known_as("name", "by-name"), known_as("set", "us-east5/pods/ml/set"), known_as("bare", "twin"),
        known_as("apart-other", "other/apart"), known_as("apart-ml", "pods/ml/apart"),
        known_as("first", "ml/again", times=(NINE, TEN)), known_as("second", "ml/again", times=(TEN, ELEVEN)),
        known_as("one-of-two", "two-records"), known_as("two-of-two", "ml/two-records"),
    ]  # fmt: skip
    return rows, records


def what_no_pod_asked_for() -> tuple[list[dict], list[dict]]:
    """On one machine that a record holds whole and that has a label, and on one of which nothing is known."""
    label = {"training_run_id": "label"}
    rows = [
        row(1, 9, "gke-held", labels=pod("kube:unallocated", **label)), row(2, 9, "gke-held", labels=pod("kube:system-overhead")),
        row(4, 9, "gke-held", labels=pod("goog-k8s-unsupported-sku")), row(8, 9, "gke-held", labels=pod("goog-k8s-unknown")),
        row(16, 9, "gke-new", labels=pod("goog-k8s-unknown")), row(32, 9, "gke-new", labels=pod("goog-k8s-unsupported-sku")),
        row(64, 9, "gke-new", labels=pod("web", "server")), row(128, 11, "gke-held", labels=pod("web", "server")),
    ]  # fmt: skip
    return [one | {"project": {"number": "405"}} for one in rows], [tpu_run("held", ("gke-held", NINE, TEN, None))]


def labels_of_pods() -> tuple[list[dict], list[dict]]:
    """Two runs share a machine; each pod's row is its own. The machine's label is an old one."""
    old = {"training_run_id": "old", "k8s-label/training-run-id": "pod-a"}
    rows = [row(1, 9, "shared", labels=pod("ml", "a", **old)), row(2, 9, "shared", labels=pod("ml", "b", training_run_id="old"))]
    return rows, [tpu_run("pod-a", ("shared", NINE, TEN, 2)), tpu_run("pod-b", ("shared", NINE, TEN, 2))]


def pools() -> tuple[list[dict], list[dict]]:
    """A pool of two machines: whole, half by chips, one of it by name; one pool name in two clusters; and a cluster's fee."""
    rows = []
    for at in (9, 10, 11):
        rows += [row(1, at, f"gke-a-{n}", labels=cluster("train", "whole")) for n in (1, 2)]
        rows += [row(10, at, f"gke-b-{n}", labels=cluster("train", "half")) for n in (1, 2)]
        rows += [row(100, at, f"gke-c-{n}", labels=cluster("train", "named")) for n in (1, 2)]
        rows += [row(1000, at, f"gke-{where}", labels=cluster("two", "p", where)) for where in ("us-east5", "us-east5-b")]
    rows += [row(5, 9, service=FEE, sku="Regional Kubernetes Clusters", labels=cluster("train"))]
    rows += [row(7, 9, service=FEE, sku="Regional Kubernetes Clusters", labels=cluster("elsewhere"))]
    records = [
        tpu_run("whole", (path("clusters/train/nodePools/whole"), NINE, TWELVE, None)),
        tpu_run("half", (path("clusters/train/nodePools/half"), NINE, TEN, 4)),
        tpu_run("machine", ("gke-c-1", NINE, TEN, 4)),
        tpu_run("pool", ("clusters/train/nodePools/named", NINE, TEN, None)),
        tpu_run("two", ("clusters/two/nodePools/p", NINE, TWELVE, None)),
        tpu_run("one", (path("clusters/two/nodePools/p", location="us-east5-b"), NINE, TEN, None)),
        tpu_run("cluster", (path("clusters/train"), NINE, TEN, None)),
        tpu_run("not-there", (path("clusters/elsewhere", project="another"), NINE, TEN, None)),
    ]
    return rows, records


def reservations() -> tuple[list[dict], list[dict]]:
    ours = {"reservation_name": "night", "reservation_project_id": "lender"}
    rows = [
        row(1, 9, "r-1", system=ours), row(2, 9, "r-2", system=ours | {"reservation_project_id": "stranger"}),
        row(4, 9, system=ours | {"is_unused_reservation": "true"}), row(8, 9, "r-old", day="2025-09-16", system=ours),
        row(16, 9, f"projects/{PROJECT}/instances/vertex-0"),
    ]  # fmt: skip
    night = path("reservations/night", project="lender", location="us-east5-b")
    old = tpu_run("too-early", ("reservations/night", "2025-09-16T09:00:00Z", "2025-09-16T10:00:00Z", None))
    records = [tpu_run("reserved", (night, NINE, TEN, None)), old, tpu_run("on-own", ("vertex-0", NINE, TEN, 4))]
    return rows, records


def pipelines() -> tuple[list[dict], list[dict]]:
    rows = [
        row(1, 9, "vm-of-pipeline", labels={PIPELINE: "41"}),
        row(2, 9, JOB, labels={PIPELINE: "41"}),
        row(4, 9, labels={PIPELINE: "42"}), row(8, 9, labels={PIPELINE: "42", "training_run_id": "step-1"}),
        row(16, 9, "queued-node", labels={"training_run_id": "queued"}), row(32, 9, "queued-node-2"),
    ]  # fmt: skip
    records = [
        known_as("pipeline", "41", system="vertex"), known_as("job", JOB, system="vertex"),
        known_as("step-1", "42", system="vertex"), known_as("step-2", "42", system="vertex"),
        tpu_run("queued-2", ("queued-node-2", NINE, TEN, 4)) | {"aliases": [{"system": "slurm", "id": "my-queued-resource"}]},
    ]  # fmt: skip
    return rows, records


SCENARIOS = {each.__name__: each for each in (pods, what_no_pod_asked_for, labels_of_pods, pools, reservations, pipelines)}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Path:
    """Each scenario in a project of its own, so that its residual is apart."""
    exports = GoogleExports(tmp_path_factory.mktemp("ladder"))
    rows: list[dict] = []
    for number, write in enumerate(SCENARIOS.values()):
        written, records = write()
        rows += [one if one["project"] != {"number": PROJECT} else one | {"service": service(one, number)} for one in written]
        exports.runs(*records)
    exports.google_bill(rows)
    finished = trainledger("refresh", "--config", exports.config(), now=NOW)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    return exports.folder / "home"


def service(one: dict, number: int) -> dict:
    return one["service"] | {"id": f"{one['service']['id']}/{number}"} if one["service"] is not FEE else one["service"]


def given(home: Path, *runs: str) -> dict[str, list[tuple]]:
    sql = "select training_run_id, attribution_rule, cast(billed_cost as varchar) from marts.fct_training_run_costs"
    found: dict[str, list[tuple]] = {}
    for run_id, rule, cost in query(home, f"{sql} where training_run_id in {(*runs, '')} and billed_cost <> 0 order by all"):
        found.setdefault(run_id, []).append((rule, Decimal(cost)))
    return found


def left(home: Path, scenario: str, **where: str) -> dict[str, Decimal]:
    ending = f"/{[*SCENARIOS].index(scenario)}"
    condition = " and ".join(f"{key} = '{value}'" for key, value in where.items()) or f"service_code like '%{ending}'"
    sql = (
        f"select reason, sum(billed_cost) from marts.fct_residual_costs where {condition} group by 1 having sum(billed_cost) <> 0"
    )
    return dict(query(home, sql))


def test_the_oracle_states_the_same_of_every_rung(home: Path) -> None:
    tables = Oracle(home.parent / "trainledger.yaml", now=NOW).tables()
    found = differences(home / "published" / "trainledger.duckdb", tables)
    assert not found, report(found)


def test_every_row_is_in_one_place(home: Path) -> None:
    sql = "select count(*), sum(abs(difference)) from marts.fct_reconciliation where method = 'conservation'"
    [(rows, difference)] = query(home, sql)
    assert rows > 0 and difference == 0


def test_a_pod_belongs_to_the_run_that_names_its_workload_or_its_jobset(home: Path) -> None:
    """With as much of its place as makes the name the only one."""
    assert given(home, "name", "set", "apart-other", "apart-ml") == {
        "apart-ml": [("split_allocation", 32)],
        "apart-other": [("split_allocation", 16)],
        "name": [("split_allocation", 1)],
        "set": [("split_allocation", 2)],
    }


def test_a_name_that_is_used_again_means_the_workload_of_the_time_on_record(home: Path) -> None:
    assert given(home, "first", "second") == {"first": [("split_allocation", 64)], "second": [("split_allocation", 128)]}
    assert left(home, "pods")["unlogged"] == 256, "the third hour lies in nobody's time"


def test_a_workload_that_fits_two_is_no_runs_unless_a_label_decides(home: Path) -> None:
    assert given(home, "bare", "one-of-two", "two-of-two", "tagged") == {"tagged": [("tag", 1024)]}
    assert left(home, "pods")["unattributed"] == 4 + 8 + 512


def test_what_no_pod_asked_for_is_idle_or_overhead_even_on_a_machine_that_a_run_held(home: Path) -> None:
    assert given(home, "label") == {}
    assert left(home, "what_no_pod_asked_for", sub_account_id="405") == {"idle": 1, "unlogged": 2 + 16 + 32 + 64 + 128}


def test_where_the_cluster_cannot_tell_the_record_of_the_machine_does(home: Path) -> None:
    """A SKU that GKE does not divide, such as a TPU's may be, is not lost to the run that held the machine."""
    assert given(home, "held") == {"held": [("resource_time", 4 + 8)]}


def test_a_pods_own_label_counts_beside_other_runs_on_its_machine(home: Path) -> None:
    """The machine's old label on the other pod's row gives way to the records: a quarter each, as 2 of 8 chips were held."""
    half = Decimal("0.5")
    shared = {"pod-a": [("resource_time", half), ("tag", 1)], "pod-b": [("resource_time", half)]}
    assert given(home, "pod-a", "pod-b", "old") == shared
    assert left(home, "labels_of_pods") == {"unlogged": 1}
    conflicts = query(home, "select training_run_id, chosen from marts.fct_run_conflicts where field = 'resource shared'")
    assert conflicts == [("old", "pod-a, pod-b")]


def test_a_record_may_name_the_pool_whose_size_the_bill_shows(home: Path) -> None:
    assert given(home, "whole", "half") == {"half": [("resource_time", 10)], "whole": [("resource_time", 6)]}
    hours = "select reserved_chip_hours from marts.fct_training_run_energy where training_run_id in ('half', 'whole') order by 1"
    assert query(home, hours) == [(Decimal(4),), (Decimal(24),)]


def test_who_held_the_machine_goes_before_who_held_its_pool(home: Path) -> None:
    assert given(home, "machine", "pool") == {"machine": [("resource_time", 100)], "pool": [("resource_time", 100)]}


def test_a_pool_of_one_name_in_two_clusters_is_distinguished_by_its_location_or_not_at_all(home: Path) -> None:
    assert given(home, "one", "two") == {"one": [("resource_time", 1000)]}
    assert left(home, "pools") == {"idle": 10 + 40 + 400 + 2000, "unlogged": 3000}


def test_what_is_of_the_cluster_alone_goes_by_its_key(home: Path) -> None:
    """Not the machines that others held, nor a cluster of the same name in another project."""
    assert given(home, "cluster", "not-there") == {"cluster": [("cluster_key", 5)]}
    confidence = "select attribution_confidence from marts.fct_training_run_costs where attribution_rule = 'cluster_key'"
    assert query(home, confidence) == [("low",)]
    assert left(home, "pools", service_code=FEE["id"]) == {"non_accelerator": 7}


def test_used_hours_of_a_reservation_are_its_holders_and_unused_ones_nobodys(home: Path) -> None:
    """The name counts from the day on that Google vouches for it, and with the project that it is of."""
    assert given(home, "reserved", "too-early") == {"reserved": [("resource_time", 1)]}
    assert left(home, "reservations") == {
        "no_record": 8,
        "unlogged": 2,
        "unused_commitment": 4,
    }  # 8 of a type that no record names


def test_a_vertex_job_on_a_reservation_is_found_by_the_machine_it_is_billed_as(home: Path) -> None:
    assert given(home, "on-own") == {"on-own": [("resource_time", 16)]}


def test_a_pipelines_billing_id_is_a_managed_job_and_its_jobs_go_first(home: Path) -> None:
    """Of a pipeline that two runs name, the label of the row shows; a row without one is no run's."""
    assert given(home, "pipeline", "job", "step-1", "step-2") == {
        "job": [("managed_job", 2)],
        "pipeline": [("managed_job", 1)],
        "step-1": [("tag", 8)],
    }
    assert left(home, "pipelines") == {"unattributed": 4}


def test_a_queued_resource_is_known_by_the_label_or_the_record_of_its_node(home: Path) -> None:
    assert given(home, "queued", "queued-2") == {"queued": [("tag", 16)], "queued-2": [("resource_time", 32)]}
