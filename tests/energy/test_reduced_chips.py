"""An hour of TPU chips as a recorder wrote their points, and as one that reduces wrote it: the samples that models read."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from dagster_project.warehouse import runner
from dagster_project.warehouse.builds import Build
from dagster_project.warehouse.statements import Statement, statements
from tests.connectors.kit import converted, write_bytes
from tests.energy import raw_tables
from tests.energy.raw_tables import insert
from tests.recorder.kit import chip_answer
from trainledger_recorder.reducing import ChipReducer

START = datetime(2026, 7, 10, 1)  # noqa: DTZ001 raw times are UTC without a zone
KIND, SAMPLES = "tpu_monitoring", "intermediate.int_telemetry_samples"


def test_reduced_chips_are_seen_known_and_unknown_as_long_as_by_points_and_used_as_much_to_a_millionth(tmp_path: Path) -> None:
    """Four chips every five seconds, the last fails now and then. A mean over a minute is a whole millionth of full use."""
    with duckdb.connect(str(tmp_path / "build.duckdb")) as connection:
        raw_tables.create(connection)
        for table in ("months", "build_months"):
            insert(connection, table, **_month(table))
        for way in ("raw", "reduced"):
            _deliver(connection, tmp_path, way)
        build = Build("b", "", "", "", {}, [], is_full=True)
        broken = [one for one in runner.run(_read_by(SAMPLES, tmp_path), build, connection) if one.status != "success"]
        assert not broken
        raw, reduced = (_use(connection, way) for way in ("raw", "reduced"))
    assert len(raw) == 8 and [row[:4] for row in raw] == [row[:4] for row in reduced]
    assert sum(row[3] for row in raw) > 0
    for points, minutes in zip((row[4] for row in raw), (row[4] for row in reduced), strict=True):
        assert abs(points - minutes) <= points / 1_000_000


def _month(table: str) -> dict[str, str]:
    named = {"provider_name": "Google Cloud", "payer_account_id": "1"} if table == "months" else {}
    return {**named, "usage_month": "2026-07-01"}


def _deliver(connection: duckdb.DuckDBPyConnection, folder: Path, way: str) -> None:
    host, draw, reducer, found = f"chips-{way}", random.Random("chips"), ChipReducer(5), list[bytes]()
    stamped = {"collected_at": "2026-07-10T02:00:00.000Z", "host": {"resource_id": host}}
    for second in range(5, 3601, 5):
        percents = [round(draw.uniform(0, 100), 3) for _ in range(3)]
        failing = "NaN" if draw.random() < 0.05 else 80.0
        text = chip_answer(START + timedelta(seconds=second), host, *percents, failing, memory=4)
        found += (part for _, part in reducer.add(text, stamped)) if way == "reduced" else [text + b"\n"]
    found += (part for _, part in reducer.rest(stamped))
    write_bytes(folder / way / f"host={host}/lines.jsonl", b"".join(found))
    result = converted(KIND, folder / way, folder / f"{way}-landing")
    assert not result.refusals
    meta = raw_tables.Line(connection, START).meta(KIND)
    landed = ", ".join(f"? as {name}" for name in meta if name != "_row_number")
    connection.execute(
        f"insert into raw.{KIND} by name select *, row_number() over () as _row_number, {landed}"
        f" from read_parquet('{result.parts[0].path}')",
        [value for name, value in meta.items() if name != "_row_number"],
    )


def _read_by(relation: str, home: Path) -> list[Statement]:
    """The statement of a model and of all that it reads, in their order."""
    known = {one.relation: one for one in statements(home) if not one.is_test}
    wanted, waiting = set[str](), [relation]
    while waiting:
        if (one := waiting.pop()) in known and one not in wanted:
            wanted.add(one)
            waiting += known[one].reads
    return [one for name, one in known.items() if name in wanted]


def _use(connection: duckdb.DuckDBPyConnection, way: str) -> list[tuple]:
    return connection.execute(
        f"""
        select
            device_index,
            is_measured,
            sum(sample_to_us - sample_from_us) as seen_us,
            coalesce(sum(sample_to_us - sample_from_us) filter (utilisation_ppm is null), 0) as unknown_us,
            sum(utilisation_ppm * cast(sample_to_us - sample_from_us as hugeint)) as used_ppm_us
        from {SAMPLES}
        where host_id = 'chips-{way}' and not is_filled
        group by all
        order by all
        """
    ).fetchall()
