"""What was read of all sources as tables that questions can be asked of: billed lines of accelerators, machines of runs, samples.

The raw views are those of a build, so a tag counts here where it counts there. Who holds what is only looked at coarsely: by name
and time. The figures of the ledger are dbt's.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb

from connectors.formats.accelerators import AWS_FAMILIES
from dagster_project.base.kinds import KINDS, Fact, Kind, built_kinds
from dagster_project.doctor.reading import Reading
from dagster_project.settings import MEMORY_LIMIT, Rules
from dagster_project.warehouse.raw import FILE_COLUMNS, FILES, rows_of

# words of a Google SKU: chips of TPUs and GPUs, but no fee for managing them
_GOOGLE = "(^|[^a-z])(cloud ?)?tpu|^dws defined duration v[0-9]|(^|[^a-z])(gpu|nvidia)([^a-z]|$)"
_NO_CHIPS = "management[ -]?fee|licens"
# what else a record may name: pools, clusters, reservations, pipelines, and workloads with more or less of their place
_CLUSTER, _SPACE = "labels['goog-k8s-cluster-name']", "labels['k8s-namespace']"
_WIDER = ", ".join(
    [
        f"'clusters/' || {_CLUSTER}",
        f"'clusters/' || {_CLUSTER} || '/nodePools/' || labels['goog-k8s-node-pool-name']",
        "'reservations/' || system_labels['compute.googleapis.com/reservation_name']",
        "labels['vertex-ai-pipelines-run-billing-id']",
        *(
            f"{before}labels['{name}']"
            for name in ("k8s-workload-name", "k8s-label/jobset.sigs.k8s.io/jobset-name")
            for before in ("", f"{_SPACE} || '/' || ", f"{_CLUSTER} || '/' || {_SPACE} || '/' || ")
        ),
    ]
)
_VERTEX_JOB = "(projects/[^/]+/locations/[^/]+/customJobs/[0-9]+)"

_MACROS = """
CREATE MACRO run_key(x) AS
    substr(regexp_replace(lower(replace(x, 'İ', 'i-')), '[^a-z0-9_-]', '-', 'g'), 1, 63);
CREATE MACRO machine(x) AS coalesce(
    nullif(regexp_extract(x, '((clusters|reservations)/[^/]+(/nodePools/[^/]+)?)$', 1), ''),
    regexp_replace(x, '^.*/(nodes|instances)/', '')
);
CREATE MACRO exact(number, written) AS
    coalesce(try_cast(written AS DECIMAL(38, 12)), try_cast(number AS DECIMAL(38, 12)));
"""

# FOCUS has the columns of the detailed export under their names, and states in another way what a row costs
_GOOGLE_ROWS = """
CREATE VIEW google_rows AS
FROM raw.gcp_billing
UNION ALL BY NAME
SELECT *, billed_cost AS cost, billed_cost__text AS cost__text FROM raw.gcp_focus WHERE lower(charge_category) = 'usage';
"""

# use of something, at list price: what is covered by a plan or reserved costs nothing in the row itself
_USAGE = f"""
CREATE VIEW lines_read AS
SELECT
    _source_name AS source_name, 'AWS' AS provider_name, bill_payer_account_id AS payer_account_id,
    line_item_usage_start_date AS from_at, line_item_usage_end_date AS to_at, line_item_currency_code AS currency,
    nullif(_run_tag, '') AS run_tag, [line_item_resource_id] AS names, CAST([] AS VARCHAR[]) AS wider_names,
    coalesce(
        exact(pricing_public_on_demand_cost, pricing_public_on_demand_cost__text),
        exact(line_item_unblended_cost, line_item_unblended_cost__text)
    ) AS cost,
    regexp_matches(
        replace(regexp_extract(coalesce(line_item_usage_type, ''), ':([^:]*)$', 1), 'ml.', ''),
        '^({AWS_FAMILIES})[0-9a-z-]*[.]'
    ) AS is_accelerator
FROM raw.aws_cur
WHERE line_item_line_item_type IN ('Usage', 'DiscountedUsage', 'SavingsPlanCoveredUsage')
    AND coalesce(line_item_operation, '') NOT IN ('EKSPod-EC2', 'ECSTask-EC2')
    AND coalesce(line_item_usage_type, '') NOT LIKE '%CapacityBlockFee%'
UNION ALL
SELECT
    _source_name, 'Google Cloud', billing_account_id, usage_start_time, usage_end_time, currency, nullif(_run_tag, ''),
    [
        machine(resource_name), regexp_extract(resource_global_name, '([^/]+)$', 1),
        regexp_extract(resource_global_name, '{_VERTEX_JOB}', 1), regexp_extract(resource_name, '{_VERTEX_JOB}', 1)
    ],
    [{_WIDER}],
    coalesce(exact(cost_at_list, cost_at_list__text), exact(cost, cost__text)),
    regexp_matches(lower(coalesce(sku_description, '')), '{_GOOGLE}')
    AND NOT regexp_matches(lower(sku_description), '^commitment|{_NO_CHIPS}')
FROM google_rows
WHERE part = 'line' AND coalesce(nullif(lower(cost_type), ''), 'regular') = 'regular'
"""

# Of a bill the newest month in which something was used counts: a correction has the time of what it corrects. Rows that differ
# in nothing that is asked for are one line.
_TABLES = """
CREATE TABLE bill_months AS
SELECT source_name, CAST(date_trunc('month', max(from_at)) AS DATE) AS usage_month FROM lines_read GROUP BY ALL;
CREATE VIEW usage_lines AS
SELECT lines_read.* FROM lines_read INNER JOIN bill_months USING (source_name)
WHERE CAST(date_trunc('month', from_at) AS DATE) = usage_month;

CREATE TABLE accelerator_lines AS
SELECT row_number() OVER () AS line_id, *
FROM (
    SELECT
        source_name, provider_name, payer_account_id, currency, run_tag, from_at, to_at,
        list_distinct(list_filter(names, lambda name: name <> '')) AS names,
        list_distinct(list_filter(wider_names, lambda name: name <> '')) AS wider_names, sum(cost) AS cost, count(*) AS row_count
    FROM usage_lines WHERE is_accelerator GROUP BY ALL
);
CREATE TABLE billed_names AS
SELECT line_id, provider_name, from_at, to_at, unnest(list_concat(names, wider_names)) AS name FROM accelerator_lines;

CREATE TABLE machines AS
SELECT DISTINCT
    run_key(nodes.recorded_id) AS run_id, nodes.recorded_id, records.provider_name, machine(nodes.resource_id) AS name,
    nodes.accelerator_type, coalesce(nodes.started_at, attempts.started_at) AS from_at,
    coalesce(nodes.ended_at, attempts.ended_at, TIMESTAMP '9999-01-01 00:00:00') AS to_at
FROM raw.training_runs AS nodes
LEFT JOIN (
    SELECT _source_name, _source_object, recorded_id, attempt_id, started_at, ended_at
    FROM raw.training_runs WHERE part = 'attempt'
) AS attempts USING (_source_name, _source_object, recorded_id, attempt_id)
LEFT JOIN (
    SELECT _source_name, _source_object, recorded_id, provider_name FROM raw.training_runs WHERE part = 'run'
) AS records USING (_source_name, _source_object, recorded_id)
WHERE nodes.part = 'node';

-- names of a run in other systems; SageMaker and Vertex AI bill a job under its own, GKE a pod under its workload's
CREATE TABLE run_names AS
SELECT DISTINCT run_key(recorded_id) AS run_id, recorded_id AS name, false AS is_job FROM raw.training_runs
UNION
SELECT run_key(recorded_id), alias_id, lower(alias_system) IN ('sagemaker', 'vertex', 'kubernetes')
FROM raw.training_runs WHERE part = 'alias' AND alias_id IS NOT NULL;

CREATE TABLE held_lines AS
SELECT line_id, machines.run_id, machines.name
FROM billed_names
INNER JOIN machines
    ON machine(billed_names.name) = machines.name
    AND machines.from_at < billed_names.to_at AND machines.to_at > billed_names.from_at
    AND coalesce(machines.provider_name, billed_names.provider_name) = billed_names.provider_name
UNION
SELECT line_id, run_id, NULL FROM billed_names INNER JOIN run_names USING (name) WHERE is_job
UNION
SELECT line_id, run_names.run_id, NULL
FROM accelerator_lines INNER JOIN run_names ON run_key(run_names.name) = run_key(accelerator_lines.run_tag);
"""

# a point without a start covers the spacing before it: a minute, and ten in Google's older points
_SAMPLES = "CREATE VIEW samples AS " + " UNION ALL ".join(
    f"""SELECT
        _source_name AS source_name, run_key(nullif(run_key, '')) AS run_key, machine(host_id) AS host,
        coalesce(sample_start, sample_end - INTERVAL 10 MINUTE) AS from_at, sample_end AS to_at
    FROM raw.{kind}"""
    for kind in built_kinds()
    if KINDS[kind].fact == "telemetry"
)


def kind_of(fact: Fact, provider: str) -> Kind:
    """The kind of source that has a fact of a provider."""
    return next(kind for kind in built_kinds() if KINDS[kind].fact == fact and KINDS[kind].provider_name == provider)


class Evidence:
    """The tables, in memory; what is too large for it goes to `spill`."""

    def __init__(self, rules: Rules, readings: Sequence[Reading], spill: Path) -> None:
        self._engine = duckdb.connect(":memory:", config={"temp_directory": str(spill), "memory_limit": MEMORY_LIMIT})
        self._engine.execute("SET TimeZone = 'UTC'")
        self._engine.execute("CREATE SCHEMA raw")
        self._raw(rules, readings)
        for statement in (_MACROS, _GOOGLE_ROWS, _USAGE, _TABLES, _SAMPLES):
            self._engine.execute(statement)

    def __enter__(self) -> "Evidence":
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()

    def rows(self, sql: str, **given: Any) -> list[tuple[Any, ...]]:
        """The rows of a query; `$name` in it is a given value."""
        return self._engine.execute(sql, given or None).fetchall()

    def row(self, sql: str, **given: Any) -> tuple[Any, ...]:
        """The only row of a query."""
        (row,) = self.rows(sql, **given)
        return row

    def month(self, bill: Reading) -> str:
        """The newest month of a bill in which something was used; that of its partition where nothing was read."""
        months = self.rows("SELECT usage_month FROM bill_months WHERE source_name = $source", source=bill.source.name)
        return f"{months[0][0]:%Y-%m}" if months else bill.newest

    def _raw(self, rules: Rules, readings: Sequence[Reading]) -> None:
        """Schema raw as a build has it, over the files that were read."""
        self._engine.execute(f"CREATE TABLE {FILES} ({', '.join(f'{name} {kind}' for name, kind in FILE_COLUMNS.items())})")
        for kind in built_kinds():
            files = list(_landed(kind, readings))
            if files:
                marks = ", ".join("?" for _ in FILE_COLUMNS)
                self._engine.executemany(f"INSERT INTO {FILES} VALUES ({marks})", [row for row, _ in files])
            self._engine.execute(f"CREATE VIEW raw.{kind} AS {rows_of(kind, rules, files)}")


def _landed(kind: Kind, readings: Iterable[Reading]) -> Iterable[tuple[tuple[Any, ...], dict[str, str]]]:
    """The files of a kind as rows of FILE_COLUMNS, with their columns."""
    for reading in readings:
        for path, source_object, columns in reading.files if reading.source.kind == kind else ():
            known = {"file": str(path), "source_name": reading.source.name, "source_object": source_object}
            yield tuple(known.get(name) for name in FILE_COLUMNS), columns
