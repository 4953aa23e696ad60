"""The names of a legacy Cost and Usage Report, translated to CUR 2.0, so that both bills have one shape.

AWS's own rule for Athena: an underscore before each capital, lower case, everything else becomes one underscore. Columns whose
names fall together are merged: the first with a value wins. Products, tags and cost categories become maps, as in CUR 2.0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from connectors.formats.schema import Schema
from connectors.formats.typed_copies import Plan

_MAPS = {"product": "product", "resourceTags": "resource_tags", "costCategory": "cost_category"}


def snake_case(name: str) -> str:
    """Write a legacy name as AWS does in Athena: savingsPlan/SavingsPlanARN is savings_plan_savings_plan_a_r_n."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"([A-Z])", r"_\1", name).lower()).strip("_")


def legacy_plan(header: Sequence[str], schema: Schema) -> Plan:
    """Find for each CUR 2.0 column the legacy columns it comes from."""
    declared = set(schema.names)
    columns: dict[str, list[str]] = {}
    maps: dict[str, dict[str, list[str]]] = {name: {} for name in _MAPS.values() if name in declared}
    unknown = []
    for name in header:
        category, _, rest = name.partition("/")
        new_name = snake_case(name)
        in_map = _MAPS.get(category)
        if in_map:
            maps[in_map].setdefault(snake_case(rest), []).append(name)
        if new_name in declared and new_name not in maps:
            columns.setdefault(new_name, []).append(name)
        elif not in_map and new_name not in schema.documented:
            unknown.append(name)
    return Plan(columns, maps, unknown=tuple(unknown))
