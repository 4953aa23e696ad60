"""Drawn evidence of clusters, pods, pipelines and reservations, beside what tests/oracle/any_google.py draws of machines."""

import random
from datetime import datetime, timedelta

from .google_builders import PROJECT, labels_of, tpu_run
from .google_clusters import PIPELINE

RUN_IDS = ["k-run-1", "k-run-2", "k-run-3"]
NAMESPACES = ["ml", "ml", "ml", "web", "kube:unallocated", "kube:system-overhead", "goog-k8s-unknown", "goog-k8s-unsupported-sku"]
WORKLOADS = ["train", "eval", "notebook"]
COMPUTE = "compute.googleapis.com/"
CHIPS = [None, 4, 8, 16]


class Clusters:
    """A generator of its own, so that every other draw stays as it is."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def _some(self, share: float) -> bool:
        return self.random.random() < share

    def labelled(self, row: dict) -> dict:
        """A bill row with what its labels may say. A cluster, a pool and a reservation stand in one region."""
        location = row["location"] or {}
        region = location.get("region") or (location.get("zone") or "").rpartition("-")[0]
        labels, system = {}, {}
        if region and self._some(0.4):
            labels |= {"goog-k8s-cluster-name": f"c-{region}"}
            labels |= {"goog-k8s-cluster-location": region} if self._some(0.8) else {}
            labels |= {"goog-k8s-node-pool-name": self.random.choice(["a", "b"])} if self._some(0.6) else {}
        if self._some(0.3):
            labels |= {"k8s-namespace": self.random.choice(NAMESPACES)}
            labels |= {"k8s-workload-name": self.random.choice(WORKLOADS)} if self._some(0.8) else {}
            labels |= {"k8s-label/jobset.sigs.k8s.io/jobset-name": "set"} if self._some(0.2) else {}
            labels |= {"k8s-label/training_run_id": self.random.choice([*RUN_IDS, "nobody"])} if self._some(0.2) else {}
        labels |= {PIPELINE: self.random.choice(["41", "42", "43"])} if self._some(0.05) else {}
        if region and self._some(0.1):
            system |= {f"{COMPUTE}reservation_name": f"r-{region}"}
            system |= {f"{COMPUTE}reservation_project_id": self.random.choice(["first", "lender"])} if self._some(0.5) else {}
        for name, drawn in (("labels", labels), ("system_labels", system)):
            if drawn:
                row = row | {name: [*(row.get(name) or []), *labels_of(**drawn)]}
        return row

    def records(self, months: list[datetime], hours: int) -> list[dict]:
        """Runs that are known by pool, reservation or cluster, by path or name, and by workloads and pipelines."""
        found = []
        for number, run_id in enumerate(RUN_IDS):
            cluster = "projects/first/locations/us-east5/clusters/c-us-east5"
            held = []
            if not number:
                held = [(cluster, first.isoformat(), (first + timedelta(days=1)).isoformat(), None) for first in months]
            for first in months:
                for _ in range(2):
                    start = first + timedelta(minutes=self.random.randrange(hours * 60))
                    end = start + timedelta(seconds=self.random.randrange(1, 10 * 3600))
                    held.append((self._place(), start.isoformat(), end.isoformat(), self.random.choice(CHIPS)))
            record = tpu_run(run_id, *held)
            full = [f"{PROJECT}/{region}/c-{region}/ml/{WORKLOADS[number]}" for region in ("us-east5", "us-central1")]
            short = (
                f"{self.random.choice(['', 'ml/', 'c-us-east5/ml/', 'us-east5/c-us-east5/web/'])}{self.random.choice(WORKLOADS)}"
            )
            record["aliases"] = [{"system": "kubernetes", "id": name} for name in [*full, short, "ml/set"][: 4 - number]]
            record["aliases"] += [{"system": "vertex", "id": self.random.choice(["42", "43"]) if number else "41"}]
            found.append(record)
        return found

    def _place(self) -> str:
        region = self.random.choice(["us-east5", "us-central1"])
        name = self.random.choice(
            [
                f"clusters/c-{region}",
                f"clusters/c-{region}/nodePools/a",
                f"clusters/c-{region}/nodePools/b",
                f"reservations/r-{region}",
            ]
        )
        kind = "zones" if name.startswith("reservations") else "locations"
        where = f"{region}-{self.random.choice('bc')}" if kind == "zones" else region
        path = f"//x.googleapis.com/projects/{self.random.choice(['first', 'first', 'second'])}/{kind}/{where}/{name}"
        return self.random.choice([name, path, path])
