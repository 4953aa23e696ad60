"""The runs of the energy tests: one of each kind, on machines of their own, so that none can touch another's figures.

`plain` is the measure: one Trainium1 chip for an hour at half use. Runs that tell the same story in other words must
give its figures.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from tests.energy import drawn_nodes, evidence_scenario, identity_scenario
from tests.energy.raw_tables import Line, insert, series

START = datetime(2026, 7, 10, 1)  # noqa: DTZ001 raw times are UTC without a zone
END = START + timedelta(hours=1)
MINUTE = timedelta(minutes=1)
CHIP = "trn1.2xlarge"
NODE = "trn1.32xlarge"
NEURON = "neuron_monitor"
TPU = "tpu_monitoring"


def write(line: Line, hours_elsewhere: int) -> None:
    """All of it; other scenarios bill so many hours."""
    for month in ("2026-07-01", "2026-08-01"):
        insert(line.connection, "months", provider_name="AWS", payer_account_id="1", usage_month=month)
        insert(line.connection, "build_months", usage_month=month)
    same_story(line)
    gaps_and_idle(line)
    shared_nodes(line)
    tpus(line)
    managed_jobs(line)
    edges(line)
    billed(line, 4 + drawn_nodes.write(line) + evidence_scenario.write(line) + identity_scenario.write(line) + hours_elsewhere)
    insert(
        line.connection,
        "fx_rates",
        rate_date="2026-07-01",
        base_currency="eur",
        quote_currency="USD",
        rate__text="1.0925",
        source="test",
        **line.meta("fx"),
    )


def hour(host: str, use: float | None = 0.5, device: int = 0) -> list[tuple]:
    """Sixty minutes of one device."""
    return series(host, device, START, 60, 60, use)


def points(host: str, chips: list[tuple[int, float]]) -> list[tuple]:
    """Gauge points at the full minutes of the hour."""
    return [(host, device, None, START + number * MINUTE, use) for device, use in chips for number in range(1, 61)]


def same_story(line: Line) -> None:
    """One chip, one hour, half used, told in seven ways."""
    for name in ("plain", "shuffled", "twice", "rechunked", "jittered", "late", "noisy"):
        line.run(name, "AWS", (f"i-{name}", CHIP, 1, START, END))
    line.samples(NEURON, hour("i-plain"), key="plain")
    line.samples(NEURON, list(reversed(hour("i-shuffled"))), key="shuffled")
    for _ in range(2):
        line.samples(NEURON, hour("i-twice"), key="twice")
    line.samples(NEURON, series("i-rechunked", 0, START, 500, 7.2, 0.5), key="rechunked")
    # every sample reaches three seconds into the next, as with a clock that slips
    line.samples(NEURON, series("i-jittered", 0, START, 60, 60, 0.5, length=63), key="jittered")
    # a collector that needs 0.2 s between two documents
    line.samples(
        NEURON, [(h, d, s + timedelta(seconds=0.2) if s > START else s, e, u) for h, d, s, e, u in hour("i-late")], key="late"
    )
    # use before and after the run belongs to no run
    line.samples(
        NEURON, hour("i-noisy") + series("i-noisy", 0, END, 30, 60, 1.0) + series("i-noisy", 0, START - 30 * MINUTE, 30, 60, 1.0)
    )
    cut = START + timedelta(minutes=23, seconds=45)
    line.run("two-attempts", "AWS", ("i-two", CHIP, 1, START, cut), ("i-two", CHIP, 1, cut, END))
    line.samples(NEURON, hour("i-two"), key="two-attempts")
    line.run("first-half", "AWS", ("i-halves", CHIP, 1, START, cut))
    line.run("second-half", "AWS", ("i-halves", CHIP, 1, cut, END))
    line.samples(NEURON, hour("i-halves"))
    middle = START + 30 * MINUTE
    line.run("late-first-half", "AWS", ("i-late-halves", CHIP, 1, START, middle))
    line.run("late-second-half", "AWS", ("i-late-halves", CHIP, 1, middle, END))
    line.samples(NEURON, late_documents("i-late-halves", START))


def late_documents(host: str, start: datetime) -> list[tuple]:
    """An hour of documents with 0.2 s between two: every full minute lies in such a gap; first and last touch the hour."""
    late = timedelta(seconds=0.1)
    begins = [start + number * MINUTE for number in range(60)]
    return [(host, 0, begin + late * (begin > start), begin + MINUTE - late * (begin < begins[-1]), 0.5) for begin in begins]


def gaps_and_idle(line: Line) -> None:
    """What is not seen, what is seen to be idle, what nobody watches."""
    for name in ("gap", "error", "unwatched"):
        line.run(name, "AWS", (f"i-{name}", CHIP, 1, START, END))
    line.samples(NEURON, [row for row in hour("i-gap") if row[2] != START + 30 * MINUTE], key="gap")
    line.samples(NEURON, [(*row[:4], None if row[2] == START + 30 * MINUTE else row[4]) for row in hour("i-error")], key="error")
    # no chip of a second machine, which is in another region: nothing is missing there
    line.run("nothing-elsewhere", "AWS", ("i-one-chip", CHIP, 1, START, END), ("i-no-chip", CHIP, 0, START, END))
    for machine, region in (("i-one-chip", "us-east-1"), ("i-no-chip", "us-west-2")):
        line.samples(NEURON, hour(machine), key="nothing-elsewhere", region=region)
    line.run("idle-stretch", "AWS", ("i-idle-stretch", CHIP, 1, START, END + timedelta(hours=1)))
    line.samples(NEURON, hour("i-idle-stretch") + series("i-idle-stretch", 0, END, 60, 60, 0.0), key="idle-stretch")


def shared_nodes(line: Line) -> None:
    """Sixteen chips: two runs that share them, two that promise themselves all, one that leaves half of them free."""
    for name in ("mean-a", "mean-b"):
        line.run(name, "AWS", ("i-mean", NODE, 8, START, END))
    for device in range(16):
        line.samples(NEURON, hour("i-mean", 1.0 if device < 8 else 0.0, device))
    for name, first in (("keyed-a", 0), ("keyed-b", 8)):
        line.run(name, "AWS", ("i-keyed", NODE, 8, START, END))
        for device in range(16):
            use = (1.0 if name == "keyed-a" else 0.25) if first <= device < first + 8 else 0.0
            line.samples(NEURON, hour("i-keyed", use, device), key=name)
    # containers that both number their eight chips from 0
    for name, use in (("container-a", 1.0), ("container-b", 0.25)):
        line.run(name, "AWS", ("i-containers", NODE, 8, START, END))
        for device in range(8):
            line.samples(NEURON, series("i-containers", device, START, 1, 3600, use), key=name)
    for name in ("greedy-a", "greedy-b"):
        line.run(name, "AWS", ("i-greedy", NODE, 16, START, END))
    line.run("half-node", "AWS", ("i-half", NODE, 8, START, END))
    for device in range(16):
        line.samples(NEURON, hour("i-half", 1.0 if device in (1, 3, 5, 7, 9, 11, 13, 15) else 0.0, device), key="half-node")

    for name in ("two-a", "two-b"):
        line.run(name, "AWS", ("i-two-of-four", NODE, 4, START, END))
    line.run("two-of-eight", "AWS", ("i-two-of-eight", NODE, 2, START, END))
    for device in range(16):
        for node in ("i-two-of-four", "i-two-of-eight"):
            line.samples(NEURON, series(node, device, START, 1, 3600, 1.0 if device < 8 else 0.0))

    # the second run comes after half the hour, and from then on nothing distinguishes their samples
    cut = START + 30 * MINUTE
    line.run("joined", "AWS", ("i-joined", NODE, 16, START, cut), ("i-joined", NODE, 8, cut, END))
    line.run("joining", "AWS", ("i-joined", NODE, 8, cut, END))
    for device in range(16):
        use = 1.0 if device < 8 else 0.0
        line.samples(NEURON, series("i-joined", device, START, 30, 60, use), key="joined")
        line.samples(NEURON, series("i-joined", device, cut, 30, 60, use))


def tpus(line: Line) -> None:
    """A live TPU node with two silent chips, and one whose point is an error."""
    node = "projects/p/zones/us-central1-a/instances/t"
    line.run("tpu", "Google Cloud", (f"{node}1", "v6e", 4, START, END))
    line.samples(TPU, hour(f"{node}1", 1.0, 0) + hour(f"{node}1", 1.0, 1))
    line.run("tpu-error", "Google Cloud", (f"{node}2", "v6e", 4, START, END))
    line.samples(TPU, hour(f"{node}2", 1.0, 0) + hour(f"{node}2", None, 1))
    # as Cloud Monitoring states it: duty cycles of chips at work alone, numbered by the slice; other metrics numbered by the host
    line.run("tpu-points", "Google Cloud", (f"{node}3", "v6e", 4, START, END))
    line.samples(TPU, points(f"{node}3", [(4, 1.0), (13, 1.0)]))
    line.samples(TPU, points(f"{node}3", [(chip, 0.0) for chip in range(4)]), evidence="presence")
    # nobody saw the node from 01:20 to 01:40: the next point speaks for three minutes
    line.run("tpu-silent", "Google Cloud", (f"{node}4", "v6e", 1, START, END))
    line.samples(TPU, [row for row in points(f"{node}4", [(0, 1.0)]) if not 20 < (row[3] - START) / MINUTE <= 40])
    # nor at 01:21 and 01:22
    line.run("tpu-short-silence", "Google Cloud", (f"{node}7", "v6e", 1, START, END))
    line.samples(TPU, [row for row in points(f"{node}7", [(0, 1.0)]) if (row[3] - START) / MINUTE not in (21, 22)])
    # an export of memory metrics alone
    line.run("memory-only", "Google Cloud", (f"{node}8", "v6e", 1, START, END))
    line.samples(TPU, points(f"{node}8", [(0, 0.0)]), evidence="presence", source="memory")
    # the second attempt is in another slice, so that duty cycles number the same four chips anew
    cut = START + 30 * MINUTE
    line.run("renumbered", "Google Cloud", (f"{node}5", "v6e", 4, START, cut), (f"{node}5", "v6e", 4, cut, END))
    for chips, first, last in (((4, 5, 12, 13), 1, 30), ((20, 21, 28, 29), 31, 60)):
        line.samples(TPU, [(f"{node}5", chip, None, START + n * MINUTE, 1.0) for chip in chips for n in range(first, last + 1)])
    line.samples(TPU, points(f"{node}5", [(chip, 0.0) for chip in range(4)]), evidence="presence")
    line.run("renumbered-error", "Google Cloud", (f"{node}6", "v6e", 4, START, END))
    line.samples(TPU, points(f"{node}6", [(4, 1.0), (5, None)]))
    line.samples(TPU, points(f"{node}6", [(chip, 0.0) for chip in range(4)]), evidence="presence")
    # one node for a slice of three hosts, of which one sent nothing: duty cycles by the slice, signs of life by the host
    line.run("slice", "Google Cloud", ("slice-1", "v6e", 12, START, END))
    for number, host in enumerate(("7001", "7002")):
        line.samples(TPU, points(host, [(4 * number + chip, 1.0) for chip in range(2)]), key="slice")
        line.samples(TPU, points(host, [(chip, 0.0) for chip in range(4)]), evidence="presence", key="slice")
    # a job of two machines whose collectors both call them by the job's name
    job = "arn:aws:sagemaker:us-east-1:1:training-job/twins"
    line.run("twins", "AWS", (job, CHIP, 1, START, END), machines=2)
    line.samples(NEURON, hour(job, 1.0), key="twins")
    line.samples(NEURON, hour(job, 0.0), key="twins")
    # london: the factor is of the edition of 2025, the sweden of AWS has Google's table
    line.run("london", "AWS", ("arn:aws:sagemaker:eu-west-2:1:training-job/london", CHIP, 1, START, END))
    line.samples(NEURON, hour("algo-1"), key="London")
    line.run("nowhere", "AWS", ("arn:aws:sagemaker:ap-south-2:1:training-job/nowhere", CHIP, 1, START, END))


def managed_jobs(line: Line) -> None:
    """Jobs under one name: two kinds of machines side by side, one that moved, one smaller than most of its type."""
    job = "projects/1/locations/us-central1/customJobs/"
    line.job("pools", "vertex", f"{job}1", ("v6e", 4, 1), ("v6e", 8, 3), start=START, end=END)
    line.job("two-types", "vertex", f"{job}5", ("v5e", 4, 1), ("v6e", 4, 1), start=START, end=END)
    # submitted again as a job of its own, with one label
    cut = START + 30 * MINUTE
    for number, use, start, end in ((3, 1.0, START, cut), (4, 0.5, cut, END)):
        line.job("again", "vertex", f"{job}{number}", ("v6e", 4, 1), start=start, end=end)
        for chip in range(4):
            minutes = range(1, 31) if start == START else range(31, 61)
            line.samples(TPU, [(f"800{number}", chip, None, START + n * MINUTE, use) for n in minutes], key="again")
    # two names that are alike in their first 63 characters: a key that could be either is neither's
    alike = "arn:aws:sagemaker:us-east-1:123456789012:training-job/llama-8b-"
    for name, use in (("alike-a", 1.0), ("alike-b", 0.0)):
        line.job(name, "sagemaker", alike + name, (CHIP, None, 1), start=START, end=END)
        line.samples(NEURON, hour(f"algo-{name}", use), key=alike + name)
    # interrupted after half an hour and given another machine
    moved = "arn:aws:sagemaker:us-east-1:1:training-job/moved"
    line.job("moved", "sagemaker", moved, (CHIP, None, 1), start=START, end=END)
    line.samples(NEURON, series("i-moved-1", 0, START, 30, 60, 1.0), key="moved")
    line.samples(NEURON, series("i-moved-2", 0, START + 30 * MINUTE, 30, 60, 0.5), key="moved")
    line.job("small-machine", "vertex", f"{job}2", ("v5e", 1, 1), start=START, end=END)


def edges(line: Line) -> None:
    """Types without watts, month ends, and a run nobody has ended."""
    line.run("no-watts", "AWS", ("i-no-watts", "trn9.48xlarge", 1, START, END))
    line.run("no-chips", "AWS", ("i-no-chips", "trn3", None, START, END))
    line.run("stated-chips", "AWS", ("i-no-host", "trn3", 2, START, END))
    midnight = datetime(2026, 8, 1)  # noqa: DTZ001
    half = timedelta(minutes=30)
    line.run("over-midnight", "AWS", ("i-midnight", CHIP, 1, midnight - half, midnight + half))
    # the middle sample lies on both sides of midnight
    line.samples(
        NEURON,
        [
            *series("i-midnight", 0, midnight - half, 29, 60, 0.5),
            ("i-midnight", 0, midnight - MINUTE, midnight + MINUTE, 0.5),
            *series("i-midnight", 0, midnight + MINUTE, 29, 60, 0.5),
        ],
        key="over-midnight",
    )
    line.run("late-over-midnight", "AWS", ("i-late-midnight", CHIP, 1, midnight - half, midnight + half))
    line.samples(NEURON, late_documents("i-late-midnight", midnight - half))
    line.run("no-chip-of-it", "AWS", ("i-none", NODE, 0, START, END))
    # one file per attempt, and a copy of the first
    for node, start in (("i-file-1", START), ("i-file-2", END), ("i-file-1", START)):
        line.run("two-files", "AWS", (node, CHIP, 1, start, start + (END - START)))
    # recorded on 15 July at noon, without an end: proven for two hours
    line.run("still-going", "AWS", ("i-going", CHIP, 1, datetime(2026, 7, 15, 10), None))  # noqa: DTZ001


def billed(line: Line, hours: int) -> None:
    """A machine paid for four hours and held for one; the carbon of its cell is 0.2 kg of Scope 2, a quarter of it the run's."""
    line.run("billed", "AWS", ("i-billed", CHIP, 1, START, END))
    line.samples(NEURON, hour("i-billed"), key="billed")
    for number in range(4):
        line.bill_hour("i-billed", CHIP, START + number * timedelta(hours=1))
    # what landing added up before any model saw it: 1.34375 for each hour
    insert(
        line.connection,
        "delivery_totals",
        source_name="cur",
        kind="aws_cur",
        partition="2026-07",
        content_hash="h",
        payer_account_id="1",
        usage_month="2026-07-01",
        currency="USD",
        line_count=hours,
        billed_cost=str(Decimal("1.34375") * hours),
    )
    insert(
        line.connection,
        "aws_carbon",
        payer_account_id="1",
        usage_account_id="2",
        product_code="AmazonEC2",
        region_code="us-east-1",
        model_version="v3.0.0",
        usage_period_start="2026-07-01",
        usage_period_end="2026-08-01",
        total_lbm_emissions_value__text="0.0003",
        total_scope_2_lbm_emissions_value__text="0.0002",
        _is_elected_version=True,
        **line.meta("carbon"),
    )
