"""dbt as a process that does not outlive the one that started it.

A refresh that is killed must not leave a dbt behind that goes on writing the build file when nobody holds the writer
lock. Run by path, not imported: it knows nothing of the product.
"""

import ctypes
import gc
import os
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1


def follow(parent: int) -> None:
    """Die with the parent: told by the kernel where it is Linux, else found out twice a second."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    follow(int(sys.argv.pop(1)))  # the launcher's parent; asking here could come too late
    if folder := os.environ.get("TRAINLEDGER_BUILD_FOLDER"):
        os.chdir(folder)  # the profile names the build file without one
    gc.disable()  # a tenth of a small build went into it; the process ends with its one command
    from dbt.cli.main import cli

    sys.argv[0] = "dbt"
    cli()
