"""The ways there: a webhook, a mail server, a command. Each takes a message or raises; none takes long, none shows a secret.

What a server or a library answers is not repeated, since it may hold the address or the password: only its kind, code or reason.
"""

from __future__ import annotations

import json
import os
import signal
import smtplib
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import Any

from dagster_project.alerts.cause import wording
from dagster_project.alerts.state import Message
from dagster_project.base.clock import parse_instant
from dagster_project.settings.alerts import Alerts, Mail, Webhook

SECONDS = 10.0  # for an answer of a server
SECONDS_OF_COMMAND = 30.0
SHOWN = 10  # further causes of one message
Channel = Callable[[Message, str], None]  # message, organisation


class UnsentError(Exception):
    """Why a message could not be sent, in words without secrets. `is_down`: the next one has no better chance."""

    def __init__(self, why: str, *, is_down: bool = True) -> None:
        super().__init__(why)
        self.is_down = is_down


def channels_of(alerts: Alerts, base: Path) -> dict[str, Channel]:
    """The configured ones by name; a command with a relative path is meant from `base`."""
    found: dict[str, Channel] = {}
    if alerts.webhook:
        found["webhook"] = partial(_post, alerts.webhook)
    if alerts.mail:
        found["mail"] = partial(_mail, alerts.mail)
    if alerts.command:
        found["command"] = partial(_run, alerts.command, base)
    return found


def title_of(message: Message) -> str:
    """One line."""
    more = f" (and {len(message.causes) - 1} more)" if len(message.causes) > 1 else ""
    over = "Over: " if message.kind == "ended" else ""
    return " ".join(f"{over}{message.causes[0].title}{more}".split())


def text_of(message: Message, organisation: str) -> str:
    """The message for people."""
    words, first = wording()["message"], message.causes[0]
    others = [f"- {one.title}" for one in message.causes[1 : SHOWN + 1]]
    if (left := len(message.causes) - 1 - SHOWN) > 0:
        others.append(f"- and {left} more")
    names = {"first": first.first, "missing": first.missing, "remedy": first.remedy, "link": first.link}
    kind = message.kind if first.has_end else "notice"
    text = words[kind].format(title=title_of(message), organisation=organisation, **names)
    return text + (words["others"].format(others="\n".join(others)) if others else "")


def document_of(message: Message, organisation: str) -> dict[str, Any]:
    """The message for programs."""
    causes = [
        {name: getattr(one, name) for name in ("key", "title", "first", "missing", "remedy", "link")} for one in message.causes
    ]
    return {
        "id": message.id,
        "kind": message.kind,
        "at": message.at,
        "organisation": organisation,
        "title": title_of(message),
        "causes": causes,
    }


def _post(webhook: Webhook, message: Message, organisation: str) -> None:
    text = text_of(message, organisation)
    match webhook.shape:
        case "slack":
            shape: dict[str, Any] = {"text": text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}
        case "teams":
            card = {"type": "AdaptiveCard", "version": "1.4", "body": [{"type": "TextBlock", "text": text, "wrap": True}]}
            attached = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
            shape = {"type": "message", "attachments": [attached]}
        case "json":
            shape = document_of(message, organisation)
    url = _value(webhook.url_env)
    if not url.startswith(("https://", "http://")):
        raise UnsentError(f"the value of {webhook.url_env} is no address of a web server")
    with _explained():
        request = urllib.request.Request(url, json.dumps(shape).encode(), {"Content-Type": "application/json"})
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=SECONDS):
            pass


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected message would be asked for as a page, and count as sent."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _mail(mail: Mail, message: Message, organisation: str) -> None:
    letter = EmailMessage()
    letter["Subject"], letter["From"], letter["To"] = f"[trainledger] {title_of(message)}", mail.sender, ", ".join(mail.to)
    letter["Date"] = format_datetime(parse_instant(message.at, "at"))
    letter["Message-ID"] = f"<{message.id}@trainledger.invalid>"  # the same when it is sent again
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content(text_of(message, organisation))
    login = (_value(mail.user_env), _value(mail.password_env)) if mail.user_env and mail.password_env else None
    trusted = ssl.create_default_context()
    with _explained():
        if mail.tls == "ssl":
            server: smtplib.SMTP = smtplib.SMTP_SSL(mail.host, mail.port, timeout=SECONDS, context=trusted)
        else:
            server = smtplib.SMTP(mail.host, mail.port, timeout=SECONDS)
        with server:
            if mail.tls == "starttls":
                server.starttls(context=trusted)
            if login:
                server.login(*login)
            server.send_message(letter)


def _run(command: list[str], base: Path, message: Message, organisation: str) -> None:
    document = json.dumps(document_of(message, organisation)).encode()
    with _explained():
        process = subprocess.Popen(
            command,
            cwd=base,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.communicate(document, timeout=SECONDS_OF_COMMAND)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # what it started too
            process.wait()
            raise TimeoutError from None
    if process.returncode:
        raise UnsentError(f"it ended with {process.returncode}", is_down=False)


def _value(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise UnsentError(f"the environment variable {variable} is not set")
    return value


@contextmanager
def _explained() -> Iterator[None]:
    """Whatever a library raises, as words that hold no secret."""
    try:
        yield
    except UnsentError:
        raise
    except Exception as error:
        is_of_message = isinstance(error, urllib.error.HTTPError | smtplib.SMTPResponseException | smtplib.SMTPRecipientsRefused)
        raise UnsentError(_reason(error), is_down=not is_of_message) from None


def _reason(error: BaseException) -> str:
    match error:
        case urllib.error.HTTPError():
            return f"the server answered {error.code}"
        case smtplib.SMTPResponseException():
            return f"the server answered {error.smtp_code}"
        case smtplib.SMTPRecipientsRefused():
            return "the server refused every recipient"
        case smtplib.SMTPException():
            return f"the server does not do what is needed ({type(error).__name__})"
        case urllib.error.URLError(reason=BaseException() as reason):
            return _reason(reason)
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted ({error.verify_message})"
        case TimeoutError():
            return "no answer in time"
        case OSError() if error.strerror:
            return error.strerror
    return type(error).__name__
