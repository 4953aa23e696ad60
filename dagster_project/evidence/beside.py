"""What a pack states beside its tables: how deliveries were judged, which versions ran, by which configuration.

    validations/               one for each bill and carbon delivery that counts (ops.dim_deliveries); a rule is met by its value;
                               those that are not met are as many as the gates of the build have
    code/installed.txt         the versions that issue.json and the validations have
    configuration              marts.dim_disclosure_settings; all of it is in the fingerprint of the build

What this leaves open (a value within its rule, a version of a library that prints nothing, a rule that moves no figure) is bound
by the landing: it recorded the line of the chain when the report was issued, and that has the manifest (chained.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.evidence.layout import FOLDER_OF_VALIDATIONS, ISSUE, JUDGED_KINDS
from dagster_project.evidence.manifest import files_below, read_json

INSTALLED = "code/installed.txt"
ENGINE = "great-expectations"
GATES_OF_JUDGING = "gx.deliveries."
EVERY_ONE_JUDGED = f"{GATES_OF_JUDGING}every_delivery_was_judged"  # the one that is of no rule


def differences(folder: Path, issued: Mapping[str, Any], connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Each statement that is not what the pack's tables, or its other statements, have."""
    validations = {f"{FOLDER_OF_VALIDATIONS}/{name}": read_json(folder / FOLDER_OF_VALIDATIONS / name) for name in _files(folder)}
    yield from _of_validations(validations, connection)
    yield from _of_versions(folder, issued, {one["meta"]["great_expectations_version"] for one in validations.values()})
    rules = issued["rules"]
    stated = [(*rules["scope3_electricity"], rules["fiscal_year_start"])]
    if connection.execute("from marts.dim_disclosure_settings").fetchall() != stated:
        yield f"{ISSUE}: its configuration is not that of marts.dim_disclosure_settings"


def _files(folder: Path) -> list[str]:
    return files_below(folder / FOLDER_OF_VALIDATIONS) if (folder / FOLDER_OF_VALIDATIONS).is_dir() else []


def _of_validations(validations: Mapping[str, Any], connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    kinds = ", ".join(f"'{kind}'" for kind in JUDGED_KINDS)
    counting = connection.execute(
        "select source_name, partition, content_hash, connector_version from ops.dim_deliveries"
        f" where is_elected and kind in ({kinds})"
    ).fetchall()
    key = ("source", "partition", "content_hash", "connector_version")
    stated = {name: tuple(one[part] for part in key) for name, one in validations.items()}
    for name in sorted(name for name, one in stated.items() if one not in counting or name.split("/")[1] != one[0]):
        yield f"{name}: it is of no delivery that counts, or of another one"
    for source, partition, *_ in sorted({*counting} - {*stated.values()}):
        yield f"{FOLDER_OF_VALIDATIONS}: the delivery {source} {partition} counts, and how it was judged is not there"
    found = connection.execute("select gate, failing_rows from ops.gate_results where starts_with(gate, ?)", [GATES_OF_JUDGING])
    gates = {gate: rows for gate, rows in found.fetchall() if gate != EVERY_ONE_JUDGED}
    asked, failing = dict[str, Any](), Counter[str]()
    for name, one in sorted(validations.items()):
        if {result["expectation_config"]["meta"]["gate"] for result in one["results"]} != gates.keys():
            yield f"{name}: what it asks are not the gates of the build"
        for result in one["results"]:
            config = result["expectation_config"]
            gate = config["meta"]["gate"]
            if asked.setdefault(gate, config) != config or gate.rpartition(".")[2] != result["rule"]:
                yield f"{name}: it asks {result['rule']} otherwise than the others"
            elif result["success"] != _is_met(result["observed_value"], config["kwargs"]):
                yield f"{name}: {result['rule']} is not what its value gives"
            failing[gate] += not result["success"]
    for gate, rows in sorted(gates.items()):
        if failing[gate] != rows:
            yield f"{FOLDER_OF_VALIDATIONS}: {failing[gate]} of them do not meet {gate}, and the build found {rows}"


def _is_met(value: float | None, arguments: Mapping[str, Any]) -> bool:
    """Whether a measure meets its expectation; one that does not apply does."""
    if value is None:
        return True
    return value in arguments["value_set"] if "value_set" in arguments else bool(value >= arguments["min_value"])


def _of_versions(folder: Path, issued: Mapping[str, Any], engines: set[str]) -> Iterator[str]:
    lines = [line.partition("==") for line in (folder / INSTALLED).read_text(encoding="utf-8").split("\n") if line]
    versions = {re.sub(r"[-_.]+", "-", name).lower(): version for name, _, version in lines}
    stated: list[tuple[str, str]] = [*issued["renderers"].items(), *((ENGINE, version) for version in sorted(engines))]
    for name, version in stated:
        if versions.get(name, version) != version:
            yield f"{INSTALLED}: it has {name} {versions[name]}, and {ISSUE} or {FOLDER_OF_VALIDATIONS} {version}"
