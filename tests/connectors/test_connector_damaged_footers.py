"""A footer that contradicts itself is refused: nothing is asked of it that ends the process instead of giving an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from connectors.errors import ConnectorError
from connectors.formats.parquet import check_parquet
from connectors.formats.schema import Schema, required

SCHEMA = Schema((required("payer", "Text", filled=True), required("cost", "Number", filled=True)), remedy_page="docs")


def read_with_every_bit_flipped(path: Path) -> int:
    """How many of these files are refused; the others are read."""
    whole, refused = path.read_bytes(), 0
    for place in range(len(whole) - 8 - int.from_bytes(whole[-8:-4], "little"), len(whole) - 8):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            try:
                check_parquet(path, SCHEMA, "bill.parquet", "file:///bill.parquet")
            except ConnectorError:
                refused += 1
    return refused


def test_no_flipped_bit_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    path = tmp_path / "bill.parquet"
    pq.write_table(pa.table({"payer": ["1", "2"], "cost": [0.5, 1.5]}), path, store_schema=False)
    command = [sys.executable, "-m", "tests.connectors.test_connector_damaged_footers", str(path)]
    done = subprocess.run(command, cwd=Path(__file__).resolve().parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 100


if __name__ == "__main__":
    print(read_with_every_bit_flipped(Path(sys.argv[1])))
