"""The object store of a configured source."""

from pathlib import Path

from connectors.stores import ObjectStore, StoreOptions
from connectors.stores.opening import open_store
from dagster_project.settings import SourceSettings


def open_source(base: Path, source: SourceSettings) -> ObjectStore:
    """Nothing is read yet; a relative location is meant from `base`, the folder of trainledger.yaml."""
    options = StoreOptions(
        role_arn=source.role_arn,
        external_id=source.external_id,
        endpoint_url=source.endpoint_url,
        requester_pays=source.requester_pays,
    )
    return open_store(source.location, base=base, options=options)
