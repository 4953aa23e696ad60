"""`trainledger plan`: how many clusters, pairs and quarters a comparison needs, and the file that registers its pairs.

What pairs are spread like is asked of the publication, and how many clusters are needed for it of a published table; both are
SQL. The file is written once, under a name that no other plan has: what registers its pairs is its own time in its store.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import duckdb

from connectors.inputs.comparison_plans import COLUMNS, DIRECTIONS, ENDING, MOST_PAIRS
from connectors.stores.opening import open_bucket
from dagster_project.base import clock
from dagster_project.base.failures import UsageError
from dagster_project.base.sql import rows_by_name
from dagster_project.commands.query import open_published
from dagster_project.landing.records import safe_name
from dagster_project.settings import Settings

PILOT, RUNS = (Path(__file__).with_name(name).read_text("utf-8") for name in ("planning.sql", "planned_runs.sql"))
POWERS = (0.5, 0.8, 0.9)
LEAST_CLUSTERS = 6  # fewer can never decide
Row = dict[str, Any]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """What a plan is to be of."""

    workload: str
    detect: float
    power: float


@dataclass(frozen=True)
class Rule:
    """Which pairs are registered, and what they promise, as far as it was given."""

    pair_key: str
    pairs: int | None
    first_day: date
    target: str | None
    tokens: int | None


def asked_of(workload: str, detect: str, power: str) -> Asked:
    """The options of a question, or UsageError."""
    difference, wanted = _share(detect, "--detect"), _share(power, "--power")
    if not 0.001 <= difference <= 5:
        raise UsageError(f"--detect {detect} is no difference to plan for", remedy="Give 0.1% to 500%, like 10%.")
    if wanted not in POWERS:
        raise UsageError(f"--power {power} is not in the table", remedy="Give 50%, 80% or 90%.")
    return Asked(workload, difference, wanted)


def plan(settings: Settings, asked: Asked, tell: Tell, *, as_json: bool = False) -> Row:
    """Print what a comparison of a workload needs, and return it."""
    today = clock.now().date()
    parameters = {"detect": asked.detect, "power": asked.power, "this_cluster": cluster_start(today)}
    with open_published(settings.home / "published" / "trainledger.duckdb") as connection:
        _must_have_runs(connection, asked.workload)
        try:
            [found] = rows_by_name(connection.execute(PILOT, {"workload": asked.workload, **parameters}))
        except duckdb.Error as error:  # tables of before there were registrations
            remedy = "Run `trainledger refresh` with this version first."
            raise UsageError("the publication has no registrations of pairs", remedy=remedy) from error
    counting, needed = found["counting_clusters"], found["clusters_needed"]
    found["first_verdict_possible"] = closed_on(today, LEAST_CLUSTERS - counting)
    found["verdict_with_power"] = needed and closed_on(today, max(needed, LEAST_CLUSTERS) - counting)
    if as_json:
        document = {"workload_key": asked.workload, "detect": asked.detect, "power": asked.power, **found}
        tell(json.dumps(document, indent=1, default=str))
    else:
        for line in _lines(asked, found):
            tell(line)
        if found["types_to_meter"]:
            tell(f"energy           a meter, not pairs: of {found['types_to_meter']}, at the boundary IT")
    return found


def register(settings: Settings, asked: Asked, rule: Rule, out: Path | None, pairs_needed: int | None) -> str:
    """Write the plan where its source finds it, or to `out`, and return where it is."""
    row = _row(settings, asked.workload, rule, pairs_needed)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerow(row)
    data = text.getvalue().encode()
    name = f"{safe_name(asked.workload, 80)}-{rule.first_day}-{hashlib.sha256(data).hexdigest()[:8]}{ENDING}"
    if out is not None:
        if not out.name.endswith(ENDING):
            raise UsageError(f"--out {out} is no name of a plan", remedy=f"End it in {ENDING}.")
        return _write_new(out, data)
    location = _location(settings)
    if "://" in location:
        bucket = open_bucket(location.rstrip("/"))
        if not bucket.put_new(name, data):
            raise _is_taken(bucket.uri_of(name))
        return bucket.uri_of(name)
    folder = settings.base / Path(location).expanduser()
    if folder.is_file() or location.endswith((".csv", ".csv.gz")):
        raise UsageError(f"{location} is one file", remedy="Let `location` be a folder, or give --out FILE.")
    folder.mkdir(parents=True, exist_ok=True)
    return _write_new(folder / name, data)


def cluster_start(day: date) -> date:
    """The first day of the half quarter that a day is in: the second begins on the 16th of its second month."""
    month = (day.month - 1) // 3 * 3 + 1
    middle = date(day.year, month + 1, 16)
    return middle if day >= middle else date(day.year, month, 1)


def closed_on(day: date, clusters: int) -> date:
    """The first day on which so many clusters from the one of `day` on are closed: they close at the ends of quarters."""
    here = 1 if cluster_start(day).day == 16 else 2
    quarters = 1 + max(math.ceil((clusters - here) / 2), 0)
    month = (day.month - 1) // 3 * 3 + 3 * quarters
    return date(day.year + month // 12, month % 12 + 1, 1)


def _share(text: str, option: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip(), re.ASCII)
    if not found:
        raise UsageError(f"{option} {text} is no share", remedy="Write it with %, like 10%.")
    return float(found[1]) / 100


def _must_have_runs(connection: duckdb.DuckDBPyConnection, workload: str) -> None:
    known = "select distinct workload_key from marts.dim_training_runs where workload_key is not null order by 1"
    names = [name for (name,) in connection.execute(known).fetchall()]
    if workload not in names:
        remedy = f"The ledger has {', '.join(names[:10])}." if names else "No run names a workload_key yet."
        raise UsageError(f"no run is of workload {workload}", remedy=remedy)


def _lines(asked: Asked, found: Row) -> list[str]:
    pilot = f"{found['pair_count']} pairs with a cost on both sides, in {found['cluster_count']} clusters (half quarters)"
    lines = [f"workload         {asked.workload}", f"pilot            {pilot}"]
    possible = f"first verdict    {found['first_verdict_possible']} at the earliest, of six clusters"
    if found["spread"] is None:
        return [*lines, "clusters needed  not known: a spread needs three pairs, better three clusters", possible]
    lines.append(
        f"spread           {found['spread']:.3f} between clusters (a log ratio), {found['pairs_per_cluster']:.1f} pairs in each"
    )
    lines.append(f"to detect        {asked.detect * 100:.4g} % with a probability of {asked.power * 100:.0f} %")
    needed = found["clusters_needed"]
    if needed is None:
        least = f"at this spread ten years detect {found['least_difference'] * 100:.3g} % or more"
        return [*lines, f"clusters needed  not at this least difference: {least}", possible]
    quarters = math.ceil((max(needed, LEAST_CLUSTERS) - found["counting_clusters"]) / 2)
    lines.append(f"clusters needed  {needed}, of which {found['counting_clusters']} are registered and over")
    lines.append(f"pairs needed     {found['pairs_needed']}, spread over the clusters")
    by = f"with that probability by {found['verdict_with_power']} ({max(quarters, 0)} quarters)"
    return [*lines, f"{possible}; {by}"]


def _row(settings: Settings, workload: str, rule: Rule, pairs_needed: int | None) -> Row:
    pairs = rule.pairs or pairs_needed
    if pairs is None:
        raise UsageError("how many pairs the plan is of is not known", remedy="Give --pairs N.")
    if not 1 <= pairs <= MOST_PAIRS or "*" in rule.pair_key[:-1] or not rule.pair_key.strip():
        remedy = f"Give 1 to {MOST_PAIRS} --pairs, and a --pair-key with * at its end or nowhere."
        raise UsageError(f"{pairs} pairs of '{rule.pair_key}' are no plan", remedy=remedy)
    base = {
        "workload_key": workload,
        "pair_key": rule.pair_key,
        "first_day": rule.first_day.isoformat(),
        "pairs": pairs,
        "source": "trainledger plan",
    }
    return base | _promise(settings, workload, rule)


def _promise(settings: Settings, workload: str, rule: Rule) -> Row:
    if rule.target and rule.tokens is not None:
        raise UsageError("a plan promises a target or work, not both", remedy="Give --target or --tokens.")
    if rule.target:
        metric, direction, value = [*rule.target.rsplit(maxsplit=2), "", ""][:3]
        if direction not in DIRECTIONS or not re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", value, re.ASCII | re.IGNORECASE):
            raise UsageError(f"--target {rule.target} is no target", remedy="Write it as 'loss below 2.1'.")
        return _to_target(metric, direction, value)
    if rule.tokens is not None:
        return {"promise": "fixed_work", "tokens": rule.tokens}
    with open_published(settings.home / "published" / "trainledger.duckdb") as connection:
        [found] = rows_by_name(connection.execute(RUNS, {"workload": workload}))
    if found["targets"] == 1 and found["target_count"] == found["run_count"] and found["target_direction"] in DIRECTIONS:
        return _to_target(found["target_metric"], found["target_direction"], repr(found["target_value"]))
    if found["targets"] == 0 and found["works"] == 1:
        return {"promise": "fixed_work", "tokens": found["tokens"]}
    remedy = "Give --target 'loss below 2.1', or --tokens N for the same work on both sides."
    raise UsageError(f"the runs of {workload} do not promise the same", remedy=remedy)


def _to_target(metric: str, direction: str, value: str) -> Row:
    return {"promise": "to_target", "target_metric": metric, "target_direction": direction, "target_value": value}


def _location(settings: Settings) -> str:
    sources = [source for source in settings.sources if source.facts.registers == ENDING]
    if len(sources) == 1 and not (sources[0].role_arn or sources[0].impersonate or sources[0].endpoint_url):
        return sources[0].location
    names = ", ".join(source.name for source in sources)
    what = f"where the plan goes is not known: it may be {names}" if sources[1:] else "no source of plans is configured"
    if len(sources) == 1:
        what = f"source {names} is reached by a role or an endpoint of its own, which this command does not write by"
    raise UsageError(what, remedy=f"Give --out FILE{ENDING}, and copy the file there before the first run of the plan starts.")


def _write_new(path: Path, data: bytes) -> str:
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise _is_taken(str(path)) from None
    return str(path)


def _is_taken(where: str) -> UsageError:
    return UsageError("this plan is there already, and a plan is never written again", where=where)
