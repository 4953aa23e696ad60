"""The landing that the configuration means: a local folder, or s3://bucket/prefix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dagster_project.base.failures import UsageError
from dagster_project.landing.land import Landing
from dagster_project.landing.store import LocalLanding
from dagster_project.settings import Settings

if TYPE_CHECKING:
    from dagster_project.landing.s3 import S3Landing


def open_landing(settings: Settings) -> Landing:
    """Everything landed below `landing`, with its shelf in the home's cache."""
    if settings.landing.startswith("s3://"):
        from dagster_project.landing.s3 import S3Landing

        return _landing(S3Landing(settings.landing, settings.cache), settings)
    if "://" in settings.landing:
        raise UsageError(f"landing '{settings.landing}' is neither a folder nor s3://", where=str(settings.path))
    return _landing(LocalLanding(Path(settings.landing)), settings)


def _landing(store: LocalLanding | S3Landing, settings: Settings) -> Landing:
    return Landing(store, settings.cache, settings.base, settings.memory_limit, settings.delivery_limits)
