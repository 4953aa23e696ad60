"""Power rails of TPUs from XProf: profile folders, and the JSON that XProf exports."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from connectors.formats.text_lines import TextFile
from connectors.layouts.single_files import find_file_deliveries
from connectors.power.readings import reader_of, schema_of
from connectors.telemetry.samples import Group, KeyFacts, Problems, convert_with

KIND = "xprof"
SCHEMA = schema_of(KIND)


def _groups(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Group]:
    yield from ()


find_deliveries = partial(find_file_deliveries, kind=KIND, endings=(".jsonl",))
convert = partial(convert_with, reader=reader_of(_groups, (), ()))
