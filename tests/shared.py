"""Where the shared reference material lies: beside the project root, or nowhere. Tests that need it skip with SHARED_REASON."""

from __future__ import annotations

from pathlib import Path

_BESIDE = Path(__file__).resolve().parents[2] / "shared"

SHARED: Path | None = _BESIDE if _BESIDE.is_dir() else None
SHARED_REASON = "the folder `shared` with samples and reference is not beside the project"
