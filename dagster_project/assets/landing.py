"""Assets new_deliveries and landing/<source>: what providers delivered, one generation per delivery.

What landing means is dagster_project.landing's matter; both assets use the planner of `trainledger refresh`.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from dagster_project.assets import names, results
from dagster_project.assets.internals import news_of
from dagster_project.assets.partitions import register_source_months
from dagster_project.assets.steps import UNREADABLE_RETRIES, UNREADABLE_WAIT, Result, WriterLock, explained, step
from dagster_project.election.election import elect
from dagster_project.landing.judging.rules import RULES
from dagster_project.landing.land import Landed
from dagster_project.landing.planning import Plan, Problem, land_all, make_plan, refusal_problems, unreadable_problems
from dagster_project.settings import Settings, SourceSettings
from dagster_project.warehouse import steps
from dagster_project.warehouse.home import Home

CODE = "landing/planning.py"
NO_LOOK = "No source was looked at in this run. Run the whole job `refresh`."


class LookConfig(dg.Config):
    """Which sources to look at; null: all of them."""

    only: list[str] | None = None


def problems_of(plan: Plan, landed: Sequence[Landed]) -> list[Problem]:
    """What could not be read or was not taken."""
    return [*unreadable_problems(plan, landed), *refusal_problems(one.refusal for one in landed if one.refusal)]


def new_deliveries_asset(settings: Settings) -> dg.AssetsDefinition:
    """The first step of a refresh: every source is looked at, and everything new is landed."""

    @step(
        names.NEW_DELIVERIES,
        CODE,
        group_name="landing",
        kinds={"python"},
        description="A look at **every** configured source: bills, carbon, telemetry, run records, inputs. What is new is landed"
        " and shown at `landing/<source>`, with its month where the source has months. No partition is needed.",
    )
    def new_deliveries(context: dg.AssetExecutionContext, config: LookConfig, writer: WriterLock) -> Result:
        home = Home.of(settings)
        with explained():
            looked_at = [settings.source(name) for name in config.only or ()] or home.sources
            plan = make_plan(looked_at, settings.base, home.landing)
            landed = land_all(home.landing, plan)
            election = elect(home.sources, home.landing)
        looked = steps.look_of(settings, looked_at, landed, unreadable_problems(plan, landed), election)
        register_source_months(context.instance, home.sources, home.landing)
        for event in news_of(context.instance, results.landing_events(looked, settings.expected_missing)):
            context.log_event(event)
        unreadable = {problem.source for problem in unreadable_problems(plan, landed)} - {*settings.expected_missing}
        if unreadable and context.retry_number < UNREADABLE_RETRIES:  # what was landed stays landed: only they are tried again
            context.log.warning(f"Could not be read, tried again in {UNREADABLE_WAIT:.0f} s: {', '.join(sorted(unreadable))}")
            raise dg.RetryRequested(max_retries=UNREADABLE_RETRIES, seconds_to_wait=UNREADABLE_WAIT)
        writer.keep(looked.missing)
        if not config.only:
            looked.missing.note(settings.cache)
        return dg.MaterializeResult(metadata=results.landing_metadata(landed))

    return new_deliveries


def every_source_is_in() -> dg.AssetChecksDefinition:
    """The last step of a refresh: it fails where a source is missing, whatever became of the rest."""

    @dg.multi_asset_check(
        name=names.SOURCES,
        specs=[
            dg.AssetCheckSpec(
                names.SOURCES,
                asset=names.NEW_DELIVERIES,
                description="Every source could be read, and its newest deliveries count. What is in is published all the same; a"
                " source in `expected_missing` of the configuration fails nothing.",
            )
        ],
        op_tags={"dagster/priority": "-1"},  # after the build, which it does not depend on: that may have nothing to yield
        pool=names.POOL,
    )
    def last_step(context: dg.AssetCheckExecutionContext, writer: WriterLock) -> Iterator[dg.AssetCheckResult]:
        if (missing := writer.missing) is None:
            raise dg.Failure(NO_LOOK, allow_retries=False)
        for line in missing.expected:
            context.log.info(line)
        yield results.as_result(results.sources_check(missing))
        if missing.problems:
            raise results.missing_failure(missing)

    return last_step


def source_asset(settings: Settings, source: SourceSettings) -> dg.AssetsDefinition:
    """One source: by its own months for bills and carbon, as a whole for everything else."""
    is_monthly, key = results.is_monthly(source), names.landing_key(source.name)
    what = "Materialize a month to land it again from its location" if is_monthly else "Materialize it to land what is new"

    @step(
        key,
        CODE,
        group_name="landing",
        kinds={_kind_of(source.location), "parquet"},
        tags={"trainledger/kind": str(source.kind), "trainledger/fact": source.facts.fact},
        partitions_def=dg.DynamicPartitionsDefinition(name=names.source_months(source.name)) if is_monthly else None,
        metadata={"location": source.location},
        check_specs=[
            dg.AssetCheckSpec(
                names.LANDING_CHECK, asset=key, description="The source can be read, and its newest deliveries were not refused."
            ),
            *(dg.AssetCheckSpec(rule.name, asset=key, description=rule.in_words) for rule in (RULES if is_monthly else ())),
        ],
        description=f"What `{source.name}` ({source.kind}) delivered: immutable generations with hashes and control totals."
        f"\n\n{what}, and nothing else; the job `refresh` then builds and publishes it.",
    )
    def landing(context: dg.AssetExecutionContext, writer: WriterLock) -> Iterator[Result | dg.AssetCheckResult]:
        month = context.partition_key if is_monthly else None
        home = Home.of(settings)
        with explained():
            plan = make_plan([source], settings.base, home.landing, month=month)
            landed = land_all(home.landing, plan)
        problems = [problem.of_source for problem in problems_of(plan, landed)]
        if month and not landed and not problems:
            problems = [f"There is no delivery of {month} at {source.location}."]
        for event in results.landing_materializations(source, landed):
            yield results.as_result(event)
        yield results.as_result(results.landing_check(source, problems))
        yield from map(results.as_result, results.verdict_checks(source, landed))
        if unreadable_problems(plan, landed) and context.retry_number < UNREADABLE_RETRIES:
            raise dg.RetryRequested(max_retries=UNREADABLE_RETRIES, seconds_to_wait=UNREADABLE_WAIT)
        if problems:
            raise dg.Failure("\n".join(problems), allow_retries=False)
        if not landed:
            yield dg.MaterializeResult(metadata=results.landing_metadata(landed))

    return landing


def _kind_of(location: str) -> str:
    """What Dagster shows of a location: s3, bq, api or file."""
    return location.partition("://")[0] if "://" in location or location == "api" else "file"
