"""Folder layouts: which objects of a location make one delivery. They read listings and manifests, never data."""
