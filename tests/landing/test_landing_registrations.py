"""Files that register pairs of a comparison: the store's own time counts, of the first version, whenever they were landed."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.stores.local import has_file_time
from dagster_project.landing.retention import prune
from tests.landing.kit import Organisation, bill_line, set_time

SOURCES = ({"name": "runs", "kind": "training_runs"}, {"name": "own", "kind": "user_inputs"})
HEADER = "workload_key,pair_key,first_day,pairs,promise,tokens,source\n"
ROWS = """
    select _source_object, part_or_kind, pair_key, _published_at, evidence_of_time
    from (
        select _source_name, _source_object, part as part_or_kind, pair_key, _published_at from raw.training_runs
        union all
        select _source_name, _source_object, kind, pair_key, _published_at from raw.user_inputs
    ) as registering
    join raw.registration_files as files on _source_name = source_name and _source_object = source_object
    order by all
"""


def write(organisation: Organisation, name: str, pair: str, at: str) -> None:
    """A registration of a run, or a plan, by its name."""
    source = "own" if name.endswith(".csv") else "runs"
    path = organisation.folder / "exports" / source / name
    if source == "own":
        path.write_text(f"{HEADER}w,{pair},2026-07-01,5,fixed_work,1000,team\n")
    else:
        path.write_text(json.dumps({"training_run_id": "run-a", "workload_key": "w", "pair_key": pair}))
    set_time(path, at)


def pairs(organisation: Organisation) -> list[tuple[Any, ...]]:
    return [(row[0], row[2], f"{row[3]:%Y-%m-%d}") for row in organisation.raw(ROWS)]


def test_a_registration_that_was_rewritten_counts_as_it_was_first_published(tmp_path: Path) -> None:
    """A label that is chosen once the costs are seen would have the time of the file that it replaced."""
    organisation = Organisation(tmp_path, *SOURCES)
    for name in ("a.registered.json", "w.plan.csv"):
        write(organisation, name, "p-1", "2026-07-01")
    organisation.refresh()
    for name in ("a.registered.json", "w.plan.csv"):
        write(organisation, name, "p-2", "2026-07-09")
    assert organisation.outcomes() == {"landed": 2}
    counted = [("a.registered.json", "p-1", "2026-07-01"), ("w.plan.csv", "p-1", "2026-07-01")]
    assert pairs(organisation) == counted
    prune(organisation.settings.sources, organisation.line.landing, organisation.issued, yes=True)
    assert pairs(organisation) == counted, "both versions stay"
    assert {row[4] for row in organisation.raw(ROWS)} == {"file_time"}


def test_a_first_version_that_was_refused_is_none(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, *SOURCES)
    write(organisation, "w.plan.csv", "p*p", "2026-07-01")
    organisation.refresh()
    assert pairs(organisation) == []
    write(organisation, "w.plan.csv", "p-1", "2026-07-03")
    organisation.refresh()
    assert pairs(organisation) == [("w.plan.csv", "p-1", "2026-07-03")]


def test_a_record_of_a_run_that_was_rewritten_still_counts_as_it_was_last_published(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, *SOURCES)
    for number, pair in enumerate(("p-1", "p-2"), start=1):
        write(organisation, "a.run.json", pair, f"2026-07-0{number}")
        organisation.refresh()
    assert organisation.raw("select pair_key from raw.training_runs where part = 'run'") == [("p-2",)]
    assert organisation.raw("from raw.registration_files") == []


def test_a_plan_rebuilds_no_month_and_is_news_all_the_same(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur"}, *SOURCES)
    organisation.deliver([bill_line()], at="2026-05-02")
    organisation.refresh()
    line = organisation.line
    before = line.units(line.elect())
    write(organisation, "w.plan.csv", "p-*", "2026-03-01")
    organisation.refresh()
    line = organisation.line
    after = line.units(line.elect())
    assert {name for name in after if after[name] != before.get(name)} == {"~shared"}


WRITTEN = st.lists(
    st.tuples(st.sampled_from(["a.registered.json", "b.registered.json", "v.plan.csv", "w.plan.csv"]), st.integers(1, 28)),
    min_size=1,
    max_size=4,
    unique_by=lambda one: one[0],
)


@given(written=WRITTEN, data=st.data())
@settings(max_examples=8, deadline=None)
def test_a_clean_load_registers_the_same_pairs_at_the_same_times_as_a_home_that_saw_them_come(
    written: list[tuple[str, int]], data: st.DataObject
) -> None:
    """In whatever order and at whatever time a home landed them: what its own clock knew of a file has no part in it."""
    order = data.draw(st.permutations(written))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patches:
        seen, clean = Organisation(Path(folder) / "seen", *SOURCES), Organisation(Path(folder) / "clean", *SOURCES)
        for hour, (name, day) in zip(itertools.count(), order, strict=False):
            patches.setenv("TRAINLEDGER_NOW", f"2026-08-01T{hour:02}:00:00Z")
            write(seen, name, f"p-{day}", f"2026-07-{day:02}")
            seen.refresh()
        patches.setenv("TRAINLEDGER_NOW", "2027-01-01T00:00:00Z")
        for name, day in written:
            write(clean, name, f"p-{day}", f"2026-07-{day:02}")
        clean.refresh()
        assert seen.raw(ROWS) == clean.raw(ROWS)
        assert pairs(clean) == sorted((name, f"p-{day}", f"2026-07-{day:02}") for name, day in written)


@pytest.mark.parametrize(
    ("etag", "is_file"),
    [
        ("1f-18b2c3d4e5f60718", True),
        ("0-0", True),  # a file of 1970
        ("1f--5", True),  # and of before
        ("d41d8cd98f00b204e9800998ecf8427e", False),  # S3
        ("d41d8cd98f00b204e9800998ecf8427e-12", False),  # in parts
        ("1751328000000000", False),  # a generation of Cloud Storage
    ],
)
def test_an_etag_shows_whether_its_time_is_a_files_or_a_buckets(etag: str, is_file: bool) -> None:
    assert has_file_time(etag) is is_file
