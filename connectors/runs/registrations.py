"""The registration of a run as a member of a pair, `<run>.registered.json`: its workload, its pair and what it promises.

Written once, when the run starts, and never again: the file's own time in its store shows that the pair was named before its
costs could be seen. It is no record of the run: what is written here changes no figure of it.
"""

from __future__ import annotations

from connectors.runs.fields import count, needed, number, text
from connectors.runs.run_records import Document, Row

ENDING = ".registered.json"


def registration_rows(document: Document) -> list[Row]:
    """Return the one row of a registration."""
    return [
        {
            "part": "registration",
            "record_system": "registration",
            "recorded_id": needed(document, "training_run_id"),
            **{name: needed(document, name) for name in ("workload_key", "pair_key")},
            **{name: text(document, name) for name in ("target_metric", "target_direction")},
            "target_value": number(document, "target_value"),
            "tokens": count(document, "tokens"),
        }
    ]
