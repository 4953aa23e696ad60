"""The landing that the configuration means: a local folder, s3://bucket/prefix or gs://bucket/prefix."""

from pathlib import Path

from connectors.errors import ConnectorError
from connectors.stores.opening import open_bucket
from dagster_project.base.failures import UsageError
from dagster_project.landing.bucket import BucketLanding
from dagster_project.landing.land import Landing
from dagster_project.landing.store import LocalLanding
from dagster_project.settings import Settings


def open_landing(settings: Settings) -> Landing:
    """Everything landed below `landing`, with its shelf in the home's cache."""
    if "://" not in settings.landing:
        return Landing(LocalLanding(Path(settings.landing)), settings)
    try:
        bucket = open_bucket(settings.landing)
    except ConnectorError as error:
        raise UsageError(error.message.rstrip("."), where=str(settings.path), remedy=error.remedy) from error
    return Landing(BucketLanding(bucket, settings.cache), settings)
