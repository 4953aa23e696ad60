"""Issued reports: their evidence packs, their chain, their verification, and what their figures are known as today."""
