"""What a row of split cost allocation data states: whose part of which machine it is, and how large."""

import re
from dataclasses import dataclass

from .numerals import MONEY, units

RATIO = 9
COST = "split_line_item_"
_POD = re.compile(r":pod/([^/]+)/([^/]+)/([^/]+)")
_JOBSET = "jobset.sigs.k8s.io/jobset-name"
COLUMNS = {
    f"{COST}{name}" for name in (
        "parent_resource_id", "split_cost", "unused_cost", "net_split_cost", "net_unused_cost", "public_on_demand_split_cost",
        "public_on_demand_unused_cost", "split_usage_ratio",
    )
}  # fmt: skip
Name = tuple[str, bool]  # a workload, a JobSet or a pod in full; and whether it is the pod itself


@dataclass(frozen=True)
class Pod:
    """One row of a pod or a task."""

    machine: str
    arn: str
    names: list[Name]
    costs: dict[str, int]  # used and unused: as it is, net, and at the price on demand
    is_net: bool
    ratio: int | None
    is_of_accelerators: bool


def _tag(row: dict, *names: str) -> str:
    resource, others = row.get("resource_tags") or {}, row.get("tags") or {}
    found = [resource.get(name) for name in names] + [others.get(f"resourceTags/{name}") for name in names]
    return next((value for value in found if value), "")


def _eks_tag(row: dict, name: str) -> str:
    return _tag(row, f"aws_eks_{name.replace('-', '_')}", f"aws:eks:{name}")


def _names(row: dict) -> list[Name]:
    arn = row.get("line_item_resource_id") or ""
    if row["line_item_operation"] == "ECSTask-EC2":
        return [(arn, True)] if arn else []
    shown = _POD.search(arn)
    cluster, namespace, pod = shown.groups() if shown else ("", "", "")
    region = arn.split(":")[3] if arn.startswith("arn:") and arn.split(":")[2] == "eks" else ""
    if not shown or not region:
        return []
    place = f"{row['line_item_usage_account_id']}/{region}/"
    of_pod = f"{place}{_eks_tag(row, 'cluster-name') or cluster}/{_eks_tag(row, 'namespace') or namespace}/"
    workload = _eks_tag(row, "workload-name") or _eks_tag(row, "deployment")
    jobset = _tag(row, *(f"{before}{key}" for key in (re.sub(r"[^a-z0-9]+", "_", _JOBSET), _JOBSET) for before in ("user_", "")))
    names = [(of_pod + name, False) for name in (workload, jobset) if name]
    return [*names, (f"{place}{cluster}/{namespace}/{pod}", True)]


def pod_of(row: dict) -> Pod:
    """What a row of a pod or a task states."""
    stated = {name: units(row.get(f"{COST}{name}"), MONEY) for name in (
        "split_cost", "unused_cost", "net_split_cost", "net_unused_cost", "public_on_demand_split_cost",
        "public_on_demand_unused_cost",
    )}  # fmt: skip
    return Pod(
        machine=re.sub("^arn:.*:instance/", "", row.get(f"{COST}parent_resource_id") or ""),
        arn=row.get("line_item_resource_id") or "",
        names=_names(row),
        costs={before: sum(stated[f"{before}{kind}_cost"] or 0 for kind in ("split", "unused")) for before in
               ("", "net_", "public_on_demand_")},
        is_net=stated["net_split_cost"] is not None or stated["split_cost"] is stated["unused_cost"] is None,
        ratio=units(row.get(f"{COST}split_usage_ratio"), RATIO),
        is_of_accelerators=not re.search("(vCPU|GB)-Hours", row.get("line_item_usage_type") or ""),
    )  # fmt: skip
