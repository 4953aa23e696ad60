"""The ways there, over real sockets: one letter and one call for each message, by TLS, and a secret in nothing that is shown."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dagster_project.alerts.channels import UnsentError, channels_of
from dagster_project.alerts.state import Message
from dagster_project.settings.alerts import Alerts
from tests.alerts.kit import SECRETS, Received, alerts_of, environment, servers
from tests.alerts.test_alert_state import a_cause

BEGUN = Message(
    id="4711", kind="begun", at="2026-10-10T00:00:00Z", owed=[], causes=[a_cause("a", title="A <b> & c\nd"), a_cause("b")]
)


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Received]:
    folder = tmp_path_factory.mktemp("servers")
    with servers(folder) as found, pytest.MonkeyPatch.context() as patch:
        for name, value in environment(found, folder).items():
            patch.setenv(name, value)
        yield found


@pytest.fixture(autouse=True)
def nothing_arrived(received: Received) -> None:
    received.letters.clear(), received.calls.clear()
    received.http_status = 200


def send(way: str, alerts: dict[str, Any], folder: Path = Path("/")) -> None:
    channels_of(Alerts.model_validate(alerts), folder)[way](BEGUN, "Example AG")


def unsent(way: str, alerts: dict[str, Any], folder: Path = Path("/")) -> UnsentError:
    with pytest.raises(UnsentError) as error:
        send(way, alerts, folder)
    assert not any(secret in str(error.value) for secret in SECRETS)
    return error.value


def test_a_letter_goes_by_tls_and_login_with_cause_missing_remedy_and_link(received: Received) -> None:
    send("mail", alerts_of(received))
    [letter] = received.letters
    assert letter["Subject"] == "[trainledger] A <b> & c d (and 1 more)"
    assert (letter["From"], letter["To"], letter["Message-ID"]) == (
        "ledger@example.com",
        "team@example.com",
        "<4711@trainledger.invalid>",
    )
    text = letter.get_payload(decode=True).decode()
    for part in ("First cause: words of a", "Missing from the figures: words of a", "What to do:", "See:", "- words of b"):
        assert part in text
    assert not any(secret in text for secret in SECRETS)


@pytest.mark.parametrize("shape", ["json", "slack", "teams"])
def test_a_call_has_the_shape_that_its_receiver_reads(received: Received, shape: str) -> None:
    send("webhook", alerts_of(received) | {"webhook": {"url_env": "TEST_URL", "shape": shape}})
    [call] = received.calls
    if shape == "json":
        assert (call["kind"], call["title"], call["organisation"]) == ("begun", "A <b> & c d (and 1 more)", "Example AG")
        assert [cause["key"] for cause in call["causes"]] == ["a", "b"]
    elif shape == "slack":
        assert set(call) == {"text"} and call["text"].startswith("A &lt;b&gt; &amp; c d")
    else:
        [card] = call["attachments"]
        assert card["contentType"] == "application/vnd.microsoft.card.adaptive"
        assert card["content"]["body"][0]["text"].startswith("A <b> & c d")


def test_a_command_reads_the_message_as_json(received: Received, tmp_path: Path) -> None:
    script = tmp_path / "page"
    script.write_text('#!/bin/sh\ncat > "$1"; echo what a command prints is not shown\n')
    script.chmod(0o755)
    command = {"command": ["./page", "taken.json"]}
    send("command", command, tmp_path)
    assert json.loads((tmp_path / "taken.json").read_text())["id"] == "4711"
    assert str(unsent("command", {"command": ["false"]})) == "it ended with 1"
    assert str(unsent("command", {"command": ["./there-is-none"]}, tmp_path)) == "No such file or directory"


def test_what_cannot_be_sent_gives_a_reason_without_a_secret(received: Received, monkeypatch: pytest.MonkeyPatch) -> None:
    alerts = alerts_of(received)
    for status, words in ((404, "the server answered 404"), (302, "the server answered 302")):  # a redirect asks for a page
        received.http_status = status
        error = unsent("webhook", alerts)
        assert str(error) == words and not error.is_down
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("TEST_URL", f"http://127.0.0.1:{closed.getsockname()[1]}/services/{SECRETS[2]}")
        assert str(unsent("webhook", alerts)) == "Connection refused"
        alerts["mail"]["port"] = closed.getsockname()[1]
        assert unsent("mail", alerts).is_down
    for url in (f"file:///services/{SECRETS[2]}", f"http://127.0.0.1/a b/{SECRETS[2]}", f"http://[/{SECRETS[2]}"):
        monkeypatch.setenv("TEST_URL", url)
        unsent("webhook", alerts)
    monkeypatch.delenv("TEST_URL")
    assert str(unsent("webhook", alerts)) == "the environment variable TEST_URL is not set"
    assert not received.calls


def test_a_server_without_a_certificate_that_is_trusted_and_a_wrong_password_get_no_letter(
    received: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_PASSWORD", "wrong")
    assert str(unsent("mail", alerts_of(received))) == "the server answered 535"
    monkeypatch.delenv("SSL_CERT_FILE")
    assert "certificate is not trusted" in str(unsent("mail", alerts_of(received)))
    assert not received.letters


def test_a_server_and_a_command_that_never_answer_are_left_in_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("dagster_project.alerts.channels.SECONDS", 0.2)
    monkeypatch.setattr("dagster_project.alerts.channels.SECONDS_OF_COMMAND", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("TEST_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        assert str(unsent("webhook", {"webhook": {"url_env": "TEST_URL"}})) == "no answer in time"
    command = ["sh", "-c", f"sh -c 'echo $$ > {tmp_path}/child; sleep 600' & wait"]
    assert str(unsent("command", {"command": command})) == "no answer in time"
    child = int((tmp_path / "child").read_text())
    with pytest.raises(ProcessLookupError):  # what the command started is gone too; init may need a moment to say so
        for _ in range(10**6):
            os.kill(child, 0)
            if "\nState:\tZ" in Path(f"/proc/{child}/status").read_text():
                raise ProcessLookupError


def test_what_no_mail_can_carry_is_replaced_before_it_is_a_cause(received: Received) -> None:
    from dagster_project.alerts.cause import cause
    from dagster_project.settings import settings_of

    settings = settings_of(
        {"organisation": {"name": "Test"}, "sources": [{"name": "runs", "kind": "training_runs", "location": "."}]},
        Path("/trainledger.yaml"),
    )
    made = cause(settings, "source", "k", scope="s", source="a\x00\nb", what="c\udc80", text="{not a name}" + "x" * 5000)
    assert len(made.first) < 2100 and "{not a name}" in made.first
    one = msgspec.structs.replace(BEGUN, causes=[made])
    channels_of(Alerts.model_validate(alerts_of(received)), Path("/"))["mail"](one, "Example AG")
    assert received.subjects == ["a b: a delivery was not taken"]
