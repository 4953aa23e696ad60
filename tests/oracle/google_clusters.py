"""What Google's labels say of a row's cluster, pod, pipeline and reservation, and which of them a run record means."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

Place = tuple[str, str, str]  # project number, project id, zone or location; empty where nothing shows it
PIPELINE = "vertex-ai-pipelines-run-billing-id"
NEVER_A_RUNS = ("kube:unallocated", "kube:system-overhead")
POOL, RESERVATION, CLUSTER = 1, 2, 3
_COMPUTE = "compute.googleapis.com/"
_VOUCHED_FROM = datetime(2025, 9, 17, tzinfo=UTC)
_PLACE = re.compile(r"(?:^|/)((?:clusters|reservations)/[^/]+(?:/nodePools/[^/]+)?)$")
_PROJECT = re.compile(r"projects/([^/]+)/.*(?:clusters|reservations)/")
_LOCATION = re.compile(r"(?:zones|locations)/([^/]+)/(?:clusters|reservations)/")


@dataclass
class Allocation:
    """What the labels of one row say."""

    namespace: str = ""
    names: list[str] = field(default_factory=list)  # location/cluster/namespace/workload and .../JobSet
    pipeline: str = ""
    workload: str = ""
    jobset: str = ""
    location: str = ""  # of the cluster
    lent_by: str = ""  # the project that lends the reservation
    wider: list[tuple[int, str, str, str]] = field(default_factory=list)  # how wide, name, its location, its project if lent

    @property
    def kind(self) -> str:
        stated = {"": "", "kube:unallocated": "unallocated", "kube:system-overhead": "overhead"}
        return "unknown" if self.is_told_unknown else stated.get(self.namespace, "pod")

    @property
    def is_pod(self) -> bool:
        return self.namespace != "" and not self.is_told_unknown and self.namespace not in NEVER_A_RUNS

    @property
    def is_told_unknown(self) -> bool:
        return self.namespace not in NEVER_A_RUNS and (":" in self.namespace or self.namespace.startswith("goog-k8s-"))


def allocation_of(labels: dict[str, str], system_labels: dict[str, str], start: datetime, zone: str) -> Allocation:
    cluster, location = labels.get("goog-k8s-cluster-name") or "", labels.get("goog-k8s-cluster-location") or ""
    shown = Allocation(labels.get("k8s-namespace") or "", pipeline=labels.get(PIPELINE) or "", location=location)
    shown.lent_by = system_labels.get(f"{_COMPUTE}reservation_project_id") or ""
    if shown.is_pod:
        for key, name in (("workload", "k8s-workload-name"), ("jobset", "k8s-label/jobset.sigs.k8s.io/jobset-name")):
            if labels.get(name):
                setattr(shown, key, "/".join((location, cluster, shown.namespace, labels[name])))
        shown.names = [name for name in (shown.workload, shown.jobset) if name]
    if cluster:
        shown.wider.append((CLUSTER, f"clusters/{cluster}", location, ""))
        if pool := labels.get("goog-k8s-node-pool-name"):
            shown.wider.append((POOL, f"clusters/{cluster}/nodePools/{pool}", location, ""))
    reservation = system_labels.get(f"{_COMPUTE}reservation_name")
    if reservation and start >= _VOUCHED_FROM:
        shown.wider.append((RESERVATION, f"reservations/{reservation}", zone, shown.lent_by))
    return shown


def wider_name(recorded: str) -> str | None:
    """A node pool, a cluster or a reservation in a run record, without the path before it."""
    found = _PLACE.search(recorded)
    return found[1] if found else None


def means(recorded: str, place: Place) -> bool:
    """Project and location are compared where both sides say them."""
    project, location = _PROJECT.search(recorded), _LOCATION.search(recorded)
    if project and project[1] not in place[:2]:
        return False
    return not location or place[2] in ("", location[1])


def place_of(row: Place, location: str, lent_by: str) -> Place:
    """Of a reservation that another project lends only the id of that project is known."""
    number, project_id, _ = row
    return ("", lent_by, location) if lent_by and lent_by != project_id else (number, project_id, location)


def spellings(full: str) -> list[str]:
    """A workload's name with more and more of its beginning left out."""
    parts = full.split("/")
    return ["/".join(parts[place:]) for place in range(len(parts))]
