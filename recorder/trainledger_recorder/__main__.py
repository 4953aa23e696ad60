"""`python -m trainledger_recorder`."""

import sys

from trainledger_recorder.command import main

sys.exit(main())
