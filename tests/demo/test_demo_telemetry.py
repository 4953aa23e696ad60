"""Telemetry: what the files say, read here without their writer, is the energy truth to the last chip-microsecond."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from statistics import median
from urllib.parse import unquote

import pyarrow as pa
import pytest

from dagster_project.demo.simulation import normalise

pytestmark = pytest.mark.proved_by("generator")

NODE_CHIPS = {"trn1.2xlarge": 1, "trn1.32xlarge": 16, "trn2.3xlarge": 1, "trn2.48xlarge": 16, "v5e": 8, "v5p": 4, "v6e": 4}
NODE_CHIPS["p5.48xlarge"] = 8
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
END = (datetime(2026, 10, 1, tzinfo=UTC) - EPOCH) // MICROSECOND
MONTHS = [f"{2025 + month // 12}-{month % 12 + 1:02d}" for month in range(10, 21)]
EDGES = [(datetime(2025 + month // 12, month % 12 + 1, 1, tzinfo=UTC) - EPOCH) // MICROSECOND for month in range(10, 22)]


def micros(text):
    return (datetime.fromisoformat(text) - EPOCH) // MICROSECOND


def lines_of(path):
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    elif path.suffix == ".zst":
        content = pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
    return [json.loads(line) for line in content.decode().splitlines()]


def holds_of(demo):
    """(run, resource) -> [(start, end, chips)] of every record, in microseconds."""
    holds = defaultdict(list)
    for record in demo.records():
        if "TrainingJobArn" in record:
            run, resource, machine = record["TrainingJobName"], record["TrainingJobArn"], record["ResourceConfig"]
            chips = NODE_CHIPS[machine["InstanceType"].removeprefix("ml.")] * machine["InstanceCount"]
            nodes = [(resource, record["TrainingStartTime"], record["TrainingEndTime"], chips)]
        elif "jobSpec" in record:
            run, [pool] = record["labels"]["training_run_id"], record["jobSpec"]["workerPoolSpecs"]
            chips = int(re.search(r"-(\d+)t$", pool["machineSpec"]["machineType"])[1]) * int(pool["replicaCount"])
            nodes = [(record["name"], record["startTime"], record["endTime"], chips)]
        else:
            run = record["training_run_id"]
            nodes = [
                (
                    node["resource_id"],
                    node.get("started_at") or attempt["started_at"],
                    node.get("ended_at") or attempt["ended_at"],
                    node["chips"] or NODE_CHIPS[node["accelerator_type"]],
                )
                for attempt in record["attempts"]
                for node in attempt["nodes"]
            ]
        for resource, start, end, chips in nodes:
            holds[normalise(run), resource].append((micros(start), min(micros(end), END) if end else END, chips))
    return holds


def by_month(start, end):
    for month, (first, last) in zip(MONTHS, pairwise(EDGES), strict=True):
        if max(start, first) < min(end, last):
            yield month, min(end, last) - max(start, first)


class Sums:
    def __init__(self, holds):
        self.holds = holds
        self.on = defaultdict(list)
        for (_, resource), held in holds.items():
            self.on[resource] += held
        self.seen, self.busy, self.views = defaultdict(Fraction), defaultdict(Fraction), defaultdict(list)

    def pieces(self, resource, start, end):
        """Time by month, chips promised to several at once counted in part."""
        held = self.on[resource]
        node = 16 if resource.startswith("i-") else sum(chips for *_, chips in held)
        edges = sorted({start, end, *(edge for hold in held for edge in hold[:2] if start < edge < end)})
        for left, right in pairwise(edges):
            promised = sum(chips for begun, done, chips in held if begun <= left and right <= done)
            yield left, right, Fraction(node, max(node, promised))

    def times(self, resource, start, end):
        for left, right, part in self.pieces(resource, start, end):
            for month, length in by_month(left, right):
                yield month, length * part

    def add(self, run, resource, start, end, busy):
        """`busy`: of every chip that was seen."""
        for begun, done, _ in self.holds.get((run, resource), ()):
            if max(start, begun) < min(end, done):
                for left, right, part in self.pieces(resource, max(start, begun), min(end, done)):
                    self.views[resource, left, right].append((run, part, busy))

    def count(self):
        """Chips that several runs saw at one time count once, by the greatest use; each run has its part of them."""
        crowded = defaultdict(list)
        for (resource, left, right), views in self.views.items():
            for run, part, busy in views:
                if part == 1:
                    self.tell(run, left, right, busy)
                else:
                    crowded[resource].append((left, right, run, part, busy))
        for views in crowded.values():
            for left, right in pairwise(sorted({edge for view in views for edge in view[:2]})):
                now = [view for view in views if view[0] <= left and right <= view[1]]
                for run, part in {(run, part) for _, _, run, part, _ in now}:
                    self.tell(
                        run, left, right, [max(chip) * part for chip in zip(*(busy for *_, busy in now), strict=True)], part
                    )

    def tell(self, run, left, right, busy, part=1):
        for month, length in by_month(left, right):
            self.seen[run, month] += length * len(busy) * part
            self.busy[run, month] += length * sum(busy)


def neuron_documents(demo):
    """(run, host, start, end, document) of every document, those shipped twice once."""
    root = demo.folder / "exports" / "neuron"
    found = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        named = dict(part.split("=", 1) for part in path.relative_to(root).parts[:-1])
        run, host = normalise(unquote(named["run"])) if "run" in named else None, unquote(named["host"])
        clock = micros(re.sub(r"T(\d\d)-(\d\d)-(\d\d)Z.*", r"T\1:\2:\3Z", path.name))
        for line in lines_of(path):
            document = line.get("document", line)
            period = document["system_data"]["vcpu_usage"]["period"]
            length = round(period * 10**6)
            clock += length
            end = micros(line["collected_at"]) if "collected_at" in line else clock
            found[run, host, end, json.dumps(document)] = (run, host, end - length, end, document)
    return list(found.values())


def neuron_busy(document):
    """How busy each device was; None when the counters are in error."""
    hardware = document["neuron_hardware_info"]
    devices, cores = hardware["neuron_device_count"], hardware["neuroncore_per_device_count"]
    busy = defaultdict(Fraction)
    for runtime in document["neuron_runtime_data"]:
        counters = runtime["report"]["neuroncore_counters"]
        if counters["error"]:
            return None
        for core, usage in counters["neuroncores_in_use"].items():
            busy[int(core)] += Fraction(str(usage["neuroncore_utilization"])) / 100
    assert all(share <= 1 for share in busy.values())
    assert all(core < devices * cores for core in busy)
    return [sum(busy[core] for core in range(device * cores, (device + 1) * cores)) / cores for device in range(devices)]


def tpu_points(demo):
    """(run label or None, node, chip) -> {time: busy share}: no duty cycle at a time the chip lived is none used."""
    chips = defaultdict(dict)
    for path in sorted((demo.folder / "exports" / "tpu").rglob("*.json")):
        for series in json.loads(path.read_text())["timeSeries"]:
            node, _, chip = series["metric"]["labels"]["accelerator_id"].rpartition("-")
            run = series.get("metadata", {}).get("userLabels", {}).get("training_run_id")
            points = chips[normalise(run) if run else None, node, int(chip)]
            times = [micros(point["interval"]["endTime"]) for point in series["points"]]
            assert times == sorted(times, reverse=True)
            for time, point in zip(times, series["points"], strict=True):
                if series["metric"]["type"].endswith("/duty_cycle"):
                    assert isinstance(point["value"]["int64Value"], str)
                    points[time] = Fraction(int(point["value"]["int64Value"]), 100)
                else:
                    points.setdefault(time, Fraction(0))
    return chips


def gpu_points(demo):
    """(host, start, end, busy of each GPU) of what nvidia-smi wrote; the first point is for a minute."""
    for path in sorted((demo.folder / "exports" / "gpu").rglob("*.csv")):
        points = defaultdict(list)
        for row in csv.DictReader(path.read_text().splitlines(), skipinitialspace=True):
            time = micros(row["timestamp"][:19].replace("/", "-").replace(" ", "T") + "Z")
            points[time].append(Fraction(row["utilization.gpu [%]"].removesuffix(" %")) / 100)
        times = [min(points) - 60 * 10**6, *sorted(points)]
        host = path.parent.name.removeprefix("host=")
        yield from ((host, start, end, points[end]) for start, end in pairwise(times))


@pytest.fixture(scope="module")
def documents(demo):
    return neuron_documents(demo)


@pytest.fixture(scope="module")
def sums(demo, documents):
    sums = Sums(holds_of(demo))
    for run, host, start, end, document in documents:
        busy = neuron_busy(document)
        if run is not None and busy is not None:
            sums.add(run, host, start, end, busy)
    runs_on = defaultdict(set)
    for run, resource in sums.holds:
        runs_on[resource].add(run)
    for (label, node, _), points in tpu_points(demo).items():
        times = sorted(points)
        spacing = int(median(later - earlier for earlier, later in pairwise(times)))
        for before, time in pairwise([times[0] - spacing, *times]):
            since = before if 2 * (time - before) <= 3 * spacing else time - spacing
            month = max(edge for edge in EDGES if edge < time)  # no point speaks for the month before its own
            for run in {label} if label else runs_on[node]:
                sums.add(run, node, max(since, month), time, [points[time]])
    for host, start, end, busy in gpu_points(demo):
        for run in runs_on[host]:
            sums.add(run, host, start, end, busy)
    sums.count()
    return sums


def test_the_files_show_what_the_energy_truth_states(demo, sums):
    reserved = defaultdict(Fraction)
    for (run, resource), holds in sums.holds.items():
        for start, end, chips in holds:
            for month, length in sums.times(resource, start, end):
                reserved[run, month] += length * chips
    stated = {(run, month): answer for run, months in demo.truth["energy"].items() for month, answer in months.items()}
    assert set(stated) == {key for key in reserved if key[0] not in demo.truth["ambiguous_runs"]}
    for key, answer in stated.items():
        assert Fraction(*answer["reserved"]) == reserved[key] / 10**6, key
        assert Fraction(*answer["observed"]) == sums.seen[key] / 10**6, key
        assert Fraction(*answer["busy"]) == sums.busy[key] / 10**6, key
        assert Fraction(*answer["coverage"]) == sums.seen[key] / reserved[key], key


def test_only_runs_with_a_flaw_are_seen_in_part(demo):
    partly = {run for run, months in demo.truth["energy"].items() for answer in months.values() if answer["coverage"] != [1, 1]}
    after_silence = {
        "bert-tpu-02",
        "llm8b-tpu-04",
        "reward-tuner-3a",
    }  # a run's first point, up to two spacings after the one before
    assert partly == {"bert-mlm-03", "llm8b-cpt-02", "llm8b-cpt-04", "bert-tpu-06"} | after_silence  # skew, gap, error, gap
    for months in demo.truth["energy"].values():
        for answer in months.values():
            assert Fraction(9, 10) < Fraction(*answer["coverage"]) <= 1
            assert 0 < Fraction(*answer["busy"]) < Fraction(*answer["observed"])


def test_every_run_has_telemetry(demo):
    assert set(demo.truth["energy"]) == set(demo.truth["runs"]) - set(demo.truth["ambiguous_runs"])


def test_the_flaws_of_neuron_telemetry_are_there(demo):
    root = demo.folder / "exports" / "neuron"
    paths = [path for path in root.rglob("*") if path.is_file()]
    assert {"".join(path.suffixes) for path in paths} == {".jsonl", ".jsonl.gz", ".jsonl.zst"}
    seen = defaultdict(int)
    for path in paths:
        documents = lines_of(path)
        seen["bare"] += "document" not in documents[0]
        seen["no run"] += not path.relative_to(root).parts[0].startswith("run=")
        seen["shipped twice"] += path.name.endswith("-again.jsonl.zst")
        seen["escaped host"] += "host=arn%3Aaws" in path.as_posix()
        for line in documents:
            document = line.get("document", line)
            runtimes = document["neuron_runtime_data"]
            seen["two processes"] += len(runtimes) == 2
            seen["no process"] += not runtimes
            for runtime in runtimes:
                counters = runtime["report"]["neuroncore_counters"]
                cores = counters["neuroncores_in_use"]
                seen["error"] += bool(counters["error"])
                seen["idle cores"] += bool(cores) and not any(core["neuroncore_utilization"] for core in cores.values())
                seen["logical cores"] += any("v3d" in core for core in cores.values())
    assert all(seen.values()), dict(seen)


def test_a_chip_of_trainium2_is_the_mean_of_the_cores_behind_it(documents):
    compared = 0
    for _, _, _, _, document in documents:
        for runtime in document["neuron_runtime_data"]:
            for usage in runtime["report"]["neuroncore_counters"]["neuroncores_in_use"].values():
                if "v3d" in usage:
                    behind = [Fraction(str(core["neuroncore_utilization"])) for core in usage["v3d"].values()]
                    assert sum(behind) / 2 == Fraction(str(usage["neuroncore_utilization"]))
                    assert max(behind) <= 100
                    compared += 1
    assert compared


def test_the_flaws_of_tpu_telemetry_are_there(demo):
    root = demo.folder / "exports" / "tpu"
    assert (root / "exag-tpu-research/duty_cycle/2026-05-again.json").read_bytes() == (
        root / "exag-tpu-research/duty_cycle/2026-05.json"
    ).read_bytes()
    duty, alive = defaultdict(set), defaultdict(set)
    for path in root.rglob("*.json"):
        for series in json.loads(path.read_text())["timeSeries"]:
            found = duty if path.parent.name == "duty_cycle" else alive
            times = {point["interval"]["endTime"] for point in series["points"]}
            found[series["metric"]["labels"]["accelerator_id"]] |= times
    assert "llm8b-tpu-02-n1-31" in set(alive) - set(duty)  # a spare chip has no duty cycle at all
    missing = alive["llm8b-tpu-05-n1-0"] - duty["llm8b-tpu-05-n1-0"]
    assert len(missing) == 4
    gaps = [later - earlier for earlier, later in pairwise(sorted(micros(time) for time in alive["bert-tpu-06-n1-0"]))]
    assert max(gaps) == 6 * median(gaps)


def test_telemetry_stays_small(demo):
    for source, limit in (("neuron", 15), ("tpu", 15), ("xprof", 1), ("neuron-power", 1), ("gpu", 1), ("rack", 1)):
        size = sum(path.stat().st_size for path in (demo.folder / "exports" / source).rglob("*") if path.is_file())
        assert size < limit << 20
