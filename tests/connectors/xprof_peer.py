"""What the public reader of profiles sees in a file, as JSON: run in the environment of `make xprof-peer`, without our code."""

from __future__ import annotations

import json
import sys
from typing import Any

from jaxlib import _profile_data  # jax.profiler.ProfileData is this class; the package jax would bring numpy and scipy


def seen(path: str) -> list[dict[str, Any]]:
    """Planes, lines and events in the order of the file. Of stats only numbers: of another kind is no counter."""
    return [
        {
            "name": plane.name,
            "lines": [
                {
                    "name": line.name,
                    "events": [
                        [
                            event.name,
                            event.start_ns,
                            event.duration_ns,
                            {name: value for name, value in event.stats if isinstance(value, int | float)},
                        ]
                        for event in line.events
                    ],
                }
                for line in plane.lines
            ],
        }
        for plane in _profile_data.ProfileData.from_file(path).planes
    ]


if __name__ == "__main__":
    print(json.dumps(seen(sys.argv[1])))
