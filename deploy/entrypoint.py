"""PID 1 of the demo's container: SIGTERM, which Python as PID 1 would not even notice, drains the outbox and ends.

An agent of your own needs the same line, `memotel.drain_on_sigterm()`, in its main thread before it starts to work.
"""

import sys

from memotel import drain_on_sigterm
from memotel.cli import main

drain_on_sigterm()
sys.exit(main())
