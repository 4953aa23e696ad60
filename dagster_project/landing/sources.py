"""The object store of a configured source."""

from __future__ import annotations

from connectors.store import ObjectStore, StoreOptions, open_store
from dagster_project.settings import Settings, SourceSettings


def open_source(settings: Settings, source: SourceSettings) -> ObjectStore:
    """The object store of a source."""
    options = StoreOptions(
        role_arn=source.role_arn,
        external_id=source.external_id,
        endpoint_url=source.endpoint_url,
        requester_pays=source.requester_pays,
    )
    return open_store(source.location, base=settings.base, options=options)
