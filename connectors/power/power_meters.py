"""Watts of nodes: readings of PDUs and BMCs, MLPerf power logs and CodeCarbon, each by its own reader.

A result of MLPerf with its power logs is one delivery; every other file is one of its own. How parts of a machine add up, what a
counter means for the time between two readings, and which meter counts, is decided in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from connectors.deliveries import Converted, Delivery, Refusal, refusal_of
from connectors.formats.delimited import CsvFile
from connectors.formats.schema import Number, Text, optional
from connectors.formats.text_lines import TextFile
from connectors.layouts.mlperf_results import is_system, results_of
from connectors.layouts.single_files import packed, partition_of
from connectors.power import codecarbon, meter_rows, mlperf
from connectors.power.readings import Reading, reader_of, schema_of
from connectors.stores import ObjectStore
from connectors.telemetry.converting import convert_with
from connectors.telemetry.samples import KeyFacts, Problems

KIND = "power_meters"
SCHEMA = schema_of(
    KIND,
    *optional("series", Text),  # whose counter: an outlet, a sensor, or a run as CodeCarbon names it
    *optional("counter_j", Number),  # joules counted so far; with a sample_start, since then
    counter_j=0,
)
_JSON = (*meter_rows.LINES, *packed(".json"))


def find_deliveries(store: ObjectStore) -> Iterator[Delivery | Refusal]:
    """Yield the results of MLPerf that have power logs, then the other files."""
    infos = list(store.list_objects())
    results = [result for result in results_of(infos) if result.nodes or result.switches]
    taken = {info.key for result in results for info in result.objects}
    for result in results:
        newest = max(info.last_modified for info in result.objects)
        key = result.objects[0].key
        yield Delivery(KIND, partition_of(key), key, newest, result.objects)
    for info in infos:
        name = info.key.rpartition("/")[2].lower()
        # beside results lie descriptions of systems and the factors by which a round was scaled
        if info.key in taken or is_system(info.key) or (results and name == "scaling.json") or name.startswith((".", "_")):
            continue
        if name.endswith((*meter_rows.CSV, *_JSON)):
            yield Delivery(KIND, partition_of(info.key), info.key, info.last_modified, (info,))


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Read a delivery and write readings.parquet into `folder`; what is no reading is counted and left out."""
    key = delivery.objects[0].key
    file = TextFile(files[key], key, f"{store_uri}/{key}")
    is_result = any("/power/" in f"/{info.key}" for info in delivery.objects) and len(results_of(delivery.objects)) == 1
    result = mlperf.ResultReader(delivery, files, store_uri) if is_result else None
    read = result.readings if result else _read_of(file)
    found = convert_with(delivery, files, folder, store_uri, reader_of(read, SCHEMA.columns), "readings.parquet")
    remarks = result.remarks if result else []
    if found.rows and read is codecarbon.codecarbon_readings:
        remarks = [*codecarbon.remarks_on(file)]
    return replace(found, refusals=(*found.refusals, *(refusal_of(delivery, remark) for remark in remarks)))


def _read_of(file: TextFile) -> Callable[[TextFile, KeyFacts, Problems], Iterator[Reading]]:
    is_csv = file.key.lower().endswith(meter_rows.CSV)
    if is_csv and codecarbon.is_codecarbon(CsvFile(file.path, file.key, file.uri).header()):
        return codecarbon.codecarbon_readings
    return meter_rows.readings
