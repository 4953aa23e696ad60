"""A real browser for tests that look at pages, and a port. Without a browser: a failure under CI, a listed skip elsewhere."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
# nothing of the browser's own goes to the network
FLAGS = [
    f"--{flag}"
    for flag in (
        "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update",
        "disable-sync",
    )
]  # fmt: skip


@contextmanager
def open_page(**options: Any) -> Iterator[Any]:
    """A page of a headless Chromium; `options` are those of a Playwright page."""
    if CHROMIUM is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "no Chromium on this machine; `make test` installs it where it may"
        )
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser.new_page(**options)
        finally:
            browser.close()


def picture(page: Any, name: str, height: int | None = None) -> None:
    """Keep what the page shows, down to a height, as a picture of the docs, where the variable PICTURES names a folder."""
    if folder := os.environ.get("PICTURES"):
        size = page.viewport_size
        page.screenshot(path=Path(folder) / f"{name}.png", clip={"x": 0, "y": 0, **size, "height": height or size["height"]})


def free_port() -> int:
    """A port of this machine on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
