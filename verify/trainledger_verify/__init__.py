"""`trainledger-verify`: the verification of `trainledger`, carried to where no warehouse is installed.

The carried modules keep their import names and lie in a folder that only this command puts on its path: beside an installed
`trainledger` neither package touches the other's files, and this command runs its own code.
"""

import sys
from pathlib import Path

CARRIED = Path(__file__).with_name("carried")


def main() -> int:
    """The entry point of the installed command."""
    sys.path.insert(0, str(CARRIED))  # in a clone there is no such folder, and the modules are where they are
    from trainledger_verify.command import run

    return run()
