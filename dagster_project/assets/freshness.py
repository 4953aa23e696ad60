"""Dagster's freshness policies: the waiting times of landing/lateness.py in its words, with a warning before the failure.

Dagster counts from the last materialisation. So carbon, which is due by the calendar, may wait a month more than its lag reaches
behind the day on which a month can come at the earliest: it is never called late too early, and at most six days too late;
`trainledger status` and alerts go by the calendar. Of the marts those are watched whose rows every delivery of a fact changes: a
table that comes out as it was is not written, and would be called late. Own figures and seeds have no policy.
"""

from collections.abc import Iterable
from datetime import timedelta

import dagster as dg

from dagster_project.assets.names import PUBLICATION, landing_key
from dagster_project.base.kinds import Fact
from dagster_project.landing.lateness import Lag, lag_of
from dagster_project.settings import Settings, SourceSettings

MONTH = timedelta(days=31)
EARLIEST = timedelta(days=14)  # carbon of a month comes on the 15th of the next, at the earliest
MARTS: dict[Fact, tuple[str, ...]] = {
    "bill": ("fct_charge_attributions", "fct_reconciliation"),
    "carbon": ("fct_residual_emissions",),
    "runs": ("dim_training_runs", "fct_training_run_costs"),
    "telemetry": ("fct_telemetry_matches",),
}


def with_freshness(settings: Settings, assets: Iterable[dg.AssetsDefinition]) -> list[dg.AssetsDefinition]:
    """The same assets, each with the policy of its source or of the quickest source that it is made of."""
    policies = policies_of(settings)

    def watched(spec: dg.AssetSpec) -> dg.AssetSpec:
        return spec.replace_attributes(freshness_policy=policies[spec.key]) if spec.key in policies else spec

    return [asset.map_asset_specs(watched) if not policies.keys().isdisjoint(asset.keys) else asset for asset in assets]


def policies_of(settings: Settings) -> dict[dg.AssetKey, dg.FreshnessPolicy]:
    """By asset: sources that promise something, the marts that follow them, and the publication, which follows the quickest."""
    found: dict[dg.AssetKey, dg.FreshnessPolicy] = {}
    by_fact: dict[Fact, dg.FreshnessPolicy] = {}
    for fact in MARTS:  # the quickest first
        for source in (one for one in settings.sources if one.name not in settings.expected_missing):
            if source.facts.fact == fact and source.months is None and (lag := lag_of(source)):
                found[landing_key(source.name)] = by_fact[fact] = _policy(source, lag)
    for fact, policy in by_fact.items():
        found |= {dg.AssetKey(["marts", mart]): policy for mart in MARTS[fact]}
    if by_fact:
        found[PUBLICATION] = next(iter(by_fact.values()))
    return found


def _policy(source: SourceSettings, lag: Lag) -> dg.FreshnessPolicy:
    more = MONTH - EARLIEST if source.facts.fact == "carbon" else timedelta()
    return dg.FreshnessPolicy.time_window(fail_window=lag.fail + more, warn_window=lag.warn + more)
