"""Parse every line below a folder into untyped objects and forget them: `python msgspec_parse.py FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

if __name__ == "__main__":
    decode = msgspec.json.Decoder().decode
    lines = 0
    for path in sorted(Path(sys.argv[1]).rglob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            decode(line)
            lines += 1
    print(lines)
