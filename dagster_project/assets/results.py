"""What the engine did, in Dagster's words: one description for the runs of the UI and for those of the command line.

Each function takes a result of the engine and returns the materialisation or check evaluation that shows it. Nothing is
computed, decided or written here; who logs the event is landing, line, release or command_line.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_project.assets import names
from dagster_project.landing.judging.rules import RULES
from dagster_project.landing.land import Landed
from dagster_project.landing.missing import Missing
from dagster_project.landing.records import calendar_month
from dagster_project.settings import SourceSettings
from dagster_project.warehouse import steps
from dagster_project.warehouse.builds import Build
from dagster_project.warehouse.gates import is_blocking
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.nodes import NodeResult
from dagster_project.warehouse.site import Site

if TYPE_CHECKING:  # whoever only refreshes loads no report
    from reports.comparison import Comparison

Event = dg.AssetMaterialization | dg.AssetCheckEvaluation
DATA_VERSION = "dagster/data_version"
ROWS = "dagster/row_count"
SECONDS = "seconds"
SECONDS_OF_RAW = "seconds of all raw views together"
SOURCES_CHECK = dg.AssetCheckKey(names.NEW_DELIVERIES, names.SOURCES)
SHOWN_PROBLEMS = 20
BY_HAND = "none: run by hand, not published"


def events_of(step: steps.Step, home: Home, manifest: dict[str, Any]) -> Iterator[Event]:
    """What shows one step of a refresh."""
    match step:
        case steps.Looked():
            yield from landing_events(step, home.settings.expected_missing)
            yield dg.AssetMaterialization(names.NEW_DELIVERIES, metadata=landing_metadata(step.landed))
        case steps.RawCreated():
            yield from raw_materializations(names.raw_tables(manifest), step)
        case steps.NodeEnded():
            yield from node_events(manifest, [step.node], step.build)
        case steps.Allowed():
            yield dg.AssetMaterialization(
                asset_key=names.GATES,
                metadata={"build": step.build.build_id, "gates passed": step.gates},
                tags={DATA_VERSION: step.build.fingerprint},
            )
        case steps.Published():
            yield from publication_events(step, home.site)


def landing_events(looked: steps.Looked, expected_missing: Collection[str]) -> Iterator[Event]:
    """Of each source: a materialisation per month that something landed in, and its check, also when nothing was to land.

    The checks of judged deliveries are there where one has landed.
    """
    for source in looked.sources:
        of_source = [one for one in looked.landed if one.source == source.name]
        yield from landing_materializations(source, of_source)
        if any(one.contents for one in of_source):
            yield from verdict_checks(source, of_source)
        own = [one.of_source for one in looked.problems if one.source == source.name]
        yield landing_check(source, own, is_error=source.name not in expected_missing)


def landing_materializations(source: SourceSettings, landed: Iterable[Landed]) -> Iterator[dg.AssetMaterialization]:
    """One for each month of a bill or of carbon, one in all for other kinds; none where nothing was taken or known."""
    by_month: dict[str | None, list[Landed]] = {}
    for result in landed:
        month = calendar_month(result.partition) if is_monthly(source) else None
        if month or not is_monthly(source):
            by_month.setdefault(month, []).append(result)
    for month, results in sorted(by_month.items(), key=lambda item: item[0] or ""):
        generations = [result.generation for result in results if result.generation]
        if generations:
            identity = sha256("\n".join(sorted({generation.content_hash for generation in generations})).encode()).hexdigest()
            yield dg.AssetMaterialization(
                asset_key=names.landing_key(source.name),
                partition=month,
                description=f"{source.kind} of {month or 'all times'}: what the provider delivered.",
                metadata=landing_metadata(results),
                tags={DATA_VERSION: identity},
            )


def is_monthly(source: SourceSettings) -> bool:
    """Whether a source is partitioned by month: bills and carbon are, telemetry, runs and inputs are not."""
    return source.facts.fact in ("bill", "carbon")


def landing_metadata(landed: Sequence[Landed]) -> dict[str, Any]:
    """Deliveries by what became of them; rows, bytes, months and control totals of those that landed now."""
    new = [result.generation for result in landed if result.outcome == "landed" and result.generation]
    contents = [result.contents for result in landed if result.contents]
    sums: dict[str, Decimal] = {}
    for total in (total for one in contents for total in one.controls.months):
        sums[total.currency] = sums.get(total.currency, Decimal(0)) + Decimal(total.billed_cost)
    months = sorted({total.usage_month for one in contents for total in one.controls.months})
    return {
        **{f"deliveries {name}": count for name, count in Counter(result.outcome for result in landed).items()},
        ROWS: sum(one.rows for one in contents),
        "bytes": sum(landed_object.size for generation in new for landed_object in generation.objects),
        **({"months of use": ", ".join(months)} if months else {}),
        **{f"billed cost {currency}": f"{value.normalize():f}" for currency, value in sorted(sums.items())},
        **({"landed as": dg.MetadataValue.path(new[-1].path)} if new else {}),
    }


def landing_check(source: SourceSettings, problems: Collection[str], *, is_error: bool = True) -> dg.AssetCheckEvaluation:
    """Whether the source could be read and each newest delivery was taken; a warning where it is expected to be missing."""
    shown = list(dict.fromkeys(problems))
    key = dg.AssetCheckKey(names.landing_key(source.name), names.LANDING_CHECK)
    words = "\n".join(shown[:SHOWN_PROBLEMS]) or "Everything was read and taken."
    return _evaluation(key, not shown, is_error=is_error, metadata={"problems": len(shown)}, description=words)


def sources_check(missing: Missing) -> dg.AssetCheckEvaluation:
    """Whether a refresh has every source, but for those that are expected to be missing."""
    words = "\n".join(filter(None, [str(missing), *missing.expected])) or "Every source was read and taken."
    metadata = {"problems": len(missing.problems), "expected to be missing": len(missing.expected)}
    return _evaluation(SOURCES_CHECK, not missing.problems, metadata=metadata, description=words)


def missing_failure(missing: Missing) -> dg.Failure:
    """How a refresh that goes without a source ends, after publishing the rest."""
    sources = ", ".join(sorted({problem.source for problem in missing.problems}))
    return dg.Failure(str(missing), metadata={"sources": sources}, allow_retries=False)


def verdict_checks(source: SourceSettings, landed: Iterable[Landed]) -> Iterator[dg.AssetCheckEvaluation]:
    """Of a bill or of carbon one check for each rule by which deliveries are judged: those that landed now, as warnings."""
    if not is_monthly(source):
        return
    verdicts = {one.partition: one.contents.verdict for one in landed if one.contents and one.contents.verdict}
    for rule in RULES:
        found = {partition: verdict.failed[rule.name] for partition, verdict in verdicts.items() if rule.name in verdict.failed}
        key = dg.AssetCheckKey(names.landing_key(source.name), rule.name)
        counts = {"judged deliveries": len(verdicts), "deliveries": len(found)}
        texts = [f"{partition}: {text}" for partition, text in [*found.items()][:SHOWN_PROBLEMS]]
        words = "\n".join(texts if verdicts else ["Nothing landed that could be judged."]) or None
        yield _evaluation(key, not found, is_error=False, metadata=counts, description=words)


def _evaluation(
    key: dg.AssetCheckKey, passed: bool, *, is_error: bool = True, metadata: dict[str, Any], description: str | None = None
) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=key.asset_key,
        check_name=key.name,
        passed=passed,
        severity=dg.AssetCheckSeverity.ERROR if is_error else dg.AssetCheckSeverity.WARN,
        description=description,
        metadata=metadata,
    )


def raw_materializations(tables: Iterable[str], created: steps.RawCreated) -> Iterator[dg.AssetMaterialization]:
    """Every table of schema raw, as a build reads it."""
    build = created.build
    for table in tables:
        own = [member for member in created.election.members if member.generation.kind == table]
        counted = {"elected deliveries": len(own), ROWS: sum(member.contents.rows for member in own)} if own else {}
        yield dg.AssetMaterialization(
            asset_key=names.raw_key(table),
            metadata={"build": build.build_id, "months built": months_text(build), SECONDS_OF_RAW: created.seconds, **counted},
            tags={DATA_VERSION: build.fingerprint},
        )


def months_text(build: Build) -> str:
    """The months of a build as people read them."""
    months = ", ".join(month[:7] for month in build.months) or "none"
    return f"all: {months}" if build.is_full else months


def node_events(manifest: dict[str, Any], nodes: Iterable[NodeResult], build: Build | None) -> Iterator[Event]:
    """A materialisation for every model and seed that was built, a check for every test."""
    for result in nodes:
        node = manifest["nodes"].get(result.unique_id)
        if node is None or result.status == "unchanged":  # shown by the build that found it
            continue
        if result.is_test:
            told = {"status": result.status, "failing rows": result.failures, "first rows": result.detail or "none"}
            # a skipped one did not pass
            key, passed = names.check_of_test(manifest, node), result.is_sound
            yield _evaluation(key, passed, is_error=is_blocking(node), metadata=told)
        elif result.status == "success":
            counted = {ROWS: result.rows} if result.rows is not None else {}
            yield dg.AssetMaterialization(
                asset_key=names.node_key(node),
                metadata={**counted, SECONDS: result.seconds, "build": build.build_id if build else BY_HAND},
                tags={DATA_VERSION: build.fingerprint} if build else None,
            )


def publication_events(published: steps.Published, site: Site) -> Iterator[dg.AssetMaterialization]:
    """The publication with the digest of every table, and each month that was built for it."""
    record = published.record
    tables = sorted(record["tables"].items())
    schema = dg.TableSchema([dg.TableColumn("table"), dg.TableColumn("rows", "int"), dg.TableColumn("digest")])
    rows = [dg.TableRecord({"table": table, "rows": record["rows"][table], "digest": digest}) for table, digest in tables]
    yield dg.AssetMaterialization(
        asset_key=names.PUBLICATION,
        metadata={
            "build": record["build_id"],
            "fingerprint": record["fingerprint"],
            "file": dg.MetadataValue.path(str(site.published_file)),
            SECONDS: published.seconds,
            ROWS: sum(record["rows"].values()),
            "tables": dg.MetadataValue.table(rows, schema=schema),
        },
        tags={DATA_VERSION: sha256("\n".join(digest for _, digest in tables).encode()).hexdigest()},
    )
    for month in (first_day[:7] for first_day in published.build.months):
        units = [f"{name} {unit}" for name, unit in sorted(record["units"].items()) if name.endswith(f"/{month}")]
        yield dg.AssetMaterialization(
            asset_key=names.MONTHS,
            partition=month,
            metadata={"build": record["build_id"]},
            tags={DATA_VERSION: sha256("\n".join(units).encode()).hexdigest()},
        )


def report_materialization(quarter: str, html: Path, status: str) -> dg.AssetMaterialization:
    """A rendered quarter and where its forms are."""
    paper = {"pdf": html.with_name("report.pdf"), "board": html.with_name("board.pdf")}
    forms = {"report": html, **paper, "workbook": html.with_name("report.xlsx")}
    data = {"data": html.with_name("report.json"), "tables": html.with_name("tables")}
    return dg.AssetMaterialization(
        asset_key=names.QUARTERLY,
        partition=quarter,
        metadata={**{form: dg.MetadataValue.path(str(path)) for form, path in (forms | data).items()}, "status": status},
    )


def comparison_materialization(report: "Comparison") -> dg.AssetMaterialization:
    """A rendered comparison: where it is, its dates, and how often it came to which verdict."""
    counts = {f"verdicts/{verdict}": count for verdict, count in report.verdicts.items()}
    claims = {f"claims/{verdict}": count for verdict, count in report.claims.items()}
    dates = {"from": report.window.start.isoformat(), "to": report.window.end.isoformat()}
    return dg.AssetMaterialization(
        asset_key=names.COMPARISON, metadata={"report": dg.MetadataValue.path(str(report.html)), **dates, **counts, **claims}
    )


def key_of(event: Event) -> dg.AssetKey | dg.AssetCheckKey:
    """The asset or the check that an event is of."""
    return event.asset_key if isinstance(event, dg.AssetMaterialization) else event.asset_check_key


def as_result(event: Event) -> Any:
    """An event as what an asset of the graph yields of itself."""
    if isinstance(event, dg.AssetMaterialization):
        version = (event.tags or {}).get(DATA_VERSION)
        return dg.MaterializeResult(
            asset_key=event.asset_key, metadata=event.metadata, data_version=dg.DataVersion(version) if version else None
        )
    return dg.AssetCheckResult(
        asset_key=event.asset_key,
        check_name=event.check_name,
        passed=event.passed,
        severity=event.severity,
        description=event.description,
        metadata=event.metadata,
    )
