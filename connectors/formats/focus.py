"""What FOCUS itself lays down, whichever provider writes it: each provider's columns and costs are read in its own folder."""

from __future__ import annotations

# of ChargeCategory: without it tax would be use, so another word is reported
CATEGORIES = frozenset({"Usage", "Purchase", "Tax", "Credit", "Adjustment"})
