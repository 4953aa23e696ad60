"""Assets landing/*: what providers delivered, one generation per delivery. What landing means is dagster_project.landing.land's
matter.
"""

from collections.abc import Iterator

import dagster as dg

from dagster_project.assets.common import POOL, SOURCE_MONTHS, WriterLock, partition_key, source_and_month
from dagster_project.kinds import KINDS, Kind
from dagster_project.landing.land import Landed, Landing
from dagster_project.landing.opening import open_landing
from dagster_project.landing.planning import land_all, make_plan
from dagster_project.landing.records import calendar_month
from dagster_project.settings import Settings, SourceSettings

CHECK = "every_delivery_is_landed"


class LandingConfig(dg.Config):
    """What to look at: all sources of the kind, or one."""

    only: str = ""


def landing_assets(settings: Settings, kind: Kind) -> dg.AssetsDefinition:
    """The asset of one kind: bills and carbon by source and month, a day below its month; all else as one."""
    is_monthly = KINDS[kind].fact in ("bill", "carbon")
    key = dg.AssetKey(["landing", str(kind)])

    @dg.asset(
        key=key,
        group_name="landing",
        description=f"What the sources of kind {kind} delivered: immutable generations, each with its hashes and control totals.",
        partitions_def=SOURCE_MONTHS if is_monthly else None,
        check_specs=[dg.AssetCheckSpec(CHECK, asset=key, description="No source is unreadable, no delivery was refused.")],
        pool=POOL,
    )
    def landing(context: dg.AssetExecutionContext, config: LandingConfig, writer: WriterLock) -> Iterator:
        """Without a partition: everything that is new. With one: that source-month again, and nothing else."""
        sources = [source for source in settings.sources if source.kind == kind and config.only in ("", source.name)]
        place = open_landing(settings)
        if context.has_partition_key:
            name, month = source_and_month(context.partition_key)
            landed, problems = _land_month(settings, place, [source for source in sources if source.name == name], month)
        else:
            landed, problems = _land_new(settings, place, sources)
            if is_monthly:
                _register_months(context, place, sources, key, landed)
        problems += [_problem(result) for result in landed if result.outcome in ("refused", "unreadable")]
        yield dg.AssetCheckResult(
            passed=not problems, check_name=CHECK, severity=dg.AssetCheckSeverity.WARN, metadata={"problems": problems or "none"}
        )
        yield dg.MaterializeResult(metadata=_summary(landed))

    return landing


def _land_new(settings: Settings, landing: Landing, sources: list[SourceSettings]) -> tuple[list[Landed], list[str]]:
    landed: list[Landed] = []
    problems: list[str] = []
    for source in sources:
        plan = make_plan([source], settings.base, landing)
        problems += [f"{missing.source}: {missing.message} {missing.remedy}" for missing in plan.unreadable]
        landed += land_all(landing, plan)
    return landed, problems


def _land_month(
    settings: Settings, landing: Landing, sources: list[SourceSettings], month: str
) -> tuple[list[Landed], list[str]]:
    from connectors.deliveries import Delivery
    from connectors.errors import ConnectorError
    from connectors.registry import connector_for
    from dagster_project.landing.sources import open_source

    landed: list[Landed] = []
    problems: list[str] = []
    for source in sources:
        try:
            found = list(connector_for(source.kind).find_deliveries(open_source(settings.base, source)))
        except ConnectorError as error:
            problems.append(f"{source.name}: {error.message} {error.remedy}")
            continue
        wanted = [item for item in found if calendar_month(item.partition) == month and isinstance(item, Delivery)]
        landed += [landing.land(source, item) for item in sorted(wanted, key=lambda item: (item.partition, item.published_at))]
    return landed, problems


def _register_months(
    context: dg.AssetExecutionContext, landing: Landing, sources: list[SourceSettings], key: dg.AssetKey, landed: list[Landed]
) -> None:
    """Let Dagster know the months there are, and which of them this run landed."""
    known = {
        partition_key(source.name, month)
        for source in sources
        for generation in landing.read(source.name).generations
        if (month := calendar_month(generation.partition))
    }
    context.instance.add_dynamic_partitions(str(SOURCE_MONTHS.name), sorted(known))
    by_month: dict[str, list[Landed]] = {}
    for result in landed:
        month = calendar_month(result.partition)
        if result.outcome == "landed" and month:
            by_month.setdefault(partition_key(result.source, month), []).append(result)
    for partition, results in sorted(by_month.items()):
        context.log_event(dg.AssetMaterialization(asset_key=key, partition=partition, metadata=_summary(results)))


def _summary(landed: list[Landed]) -> dict[str, int]:
    new = [result.generation for result in landed if result.outcome == "landed" and result.generation]
    return {
        "landed": len(new),
        "unchanged": sum(result.outcome == "unchanged" for result in landed),
        "refused": sum(result.outcome == "refused" for result in landed),
        "unreadable": sum(result.outcome == "unreadable" for result in landed),
        "rows": sum(result.contents.rows for result in landed if result.contents),
        "bytes": sum(landed_object.size for generation in new for landed_object in generation.objects),
    }


def _problem(result: Landed) -> str:
    if result.error:
        return f"{result.source} {result.partition}: {result.error.message} {result.error.remedy}"
    first = result.refusal.refusals[0] if result.refusal else None
    return (
        f"{result.source} {result.partition}: {first.message} {first.remedy}" if first else f"{result.source} {result.partition}"
    )
