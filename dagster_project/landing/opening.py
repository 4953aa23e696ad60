"""The landing that the configuration means: a local folder, or s3://bucket/prefix."""

from pathlib import Path

from dagster_project.base.failures import UsageError
from dagster_project.landing.land import Landing
from dagster_project.landing.store import LocalLanding
from dagster_project.settings import Settings


def open_landing(settings: Settings) -> Landing:
    """Everything landed below `landing`, with its shelf in the home's cache."""
    if settings.landing.startswith("s3://"):
        from dagster_project.landing.s3 import S3Landing

        return Landing(S3Landing(settings.landing, settings.cache), settings)
    if "://" in settings.landing:
        raise UsageError(f"landing '{settings.landing}' is neither a folder nor s3://", where=str(settings.path))
    return Landing(LocalLanding(Path(settings.landing)), settings)
