"""Lays the dbt project out before the first refresh needs it: as the last step of an installation, or into a wheel.

`python -m dagster_project.warehouse.lay_out` in a checkout; with a folder it makes the one that a wheel carries. What a layout is
and where it lies is modelling.py's.
"""

import sys
from pathlib import Path

from dagster_project.warehouse import modelling

if __name__ == "__main__":
    if len(sys.argv) > 1:
        modelling.ship(Path(sys.argv[1]))
    else:
        modelling.laid_out(Path())  # of a checkout: it has a shelf of its own, whatever the home
