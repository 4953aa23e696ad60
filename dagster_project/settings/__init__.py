"""trainledger.yaml as typed settings. The only place that reads it; unknown keys, kinds and names are errors that name them.

Secrets never stand here: they come from the providers' credential chains or the environment.
"""

from dagster_project.settings.document import error_at, load_settings, settings_of
from dagster_project.settings.model import MEMORY_LIMIT, SAFE_NAME, DeliveryLimits, Reporting, Rules, Settings, SourceSettings

__all__ = [
    "MEMORY_LIMIT",
    "SAFE_NAME",
    "DeliveryLimits",
    "Reporting",
    "Rules",
    "Settings",
    "SourceSettings",
    "error_at",
    "load_settings",
    "settings_of",
]
