"""A project of W&B is landed through its API as a folder is: again adds nothing, a run that goes on is read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.connectors.test_connector_wandb import EVENT
from tests.connectors.wandb_server import KEY, serving
from tests.landing.kit import Organisation


def test_landing_again_adds_nothing_and_a_run_that_goes_on_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    with serving() as wandb:
        source = {"kind": "wandb", "location": "wandb://acme/llama", "endpoint_url": wandb.uri}
        records = source | {"name": "records", "kind": "training_runs", "location": "wandb://acme/llama/runs"}
        organisation = Organisation(tmp_path, source | {"name": "events"}, records)
        wandb.add("r1", EVENT, metadata={"host": "n-1"}, config='{"training_run_id": {"value": "run-a"}}')
        wandb.add("r2", EVENT, EVENT | {"_timestamp": EVENT["_timestamp"] + 15}, state="running")
        rows = {(one.source, one.partition): one.contents.rows for one in organisation.refresh() if one.contents}
        assert {place: rows[place] for place in rows if place[0] == "events"} == {
            ("events", "run=r1~events.jsonl"): 1,
            ("events", "run=r2~events.jsonl"): 2,
        }
        assert len(rows) == 4 and organisation.outcomes() == {}
        wandb.add("r2", *(EVENT | {"_timestamp": EVENT["_timestamp"] + 15 * number} for number in range(3)))
        wandb.runs[-1]["heartbeatAt"] = "2026-04-01T02:00:00Z"
        again = {(one.source, one.partition): one.contents.rows for one in organisation.refresh() if one.contents}
        assert again[("events", "run=r2~events.jsonl")] == 3 and {run for _, run in again} == {
            "run=r2~events.jsonl",
            "run=r2~run.json",
        }
    assert {one.source for one in organisation.line.plan().unreadable} == {"events", "records"}, "the server is gone"
