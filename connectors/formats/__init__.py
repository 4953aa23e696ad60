"""Readers of file formats: bytes into declared columns. They know no provider, no folder and no delivery."""
