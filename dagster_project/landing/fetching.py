"""Fetching the objects of a delivery into a staging folder: one streamed read each, hashed on the way."""

from __future__ import annotations

from pathlib import Path

from connectors.deliveries import Delivery
from connectors.stores import ObjectStore
from dagster_project.landing.records import LandedObject, file_names


def fetch(store: ObjectStore, delivery: Delivery, folder: Path) -> list[LandedObject]:
    """Read every object of a delivery once under flat safe names; data objects keep the order of the manifest."""
    wanted = [(info, "data") for info in delivery.objects]
    if delivery.manifest is not None:
        wanted.append((delivery.manifest, "manifest"))
    names = file_names([info.key for info, _ in wanted])
    return [
        LandedObject(
            key=info.key,
            file=names[info.key],
            role=role,
            etag=info.etag,
            version_id=info.version_id,
            size=info.size,
            last_modified=info.last_modified,
            sha256=store.fetch(info, folder / names[info.key]),
        )
        for info, role in wanted
    ]
