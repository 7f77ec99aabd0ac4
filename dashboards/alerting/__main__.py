"""`python -m dashboards.alerting [--check] [--runbooks URL] [--to FILE]`: write the rules, or fail on stale ones.

With `--runbooks`, the address under which you publish dashboards/runbooks, alerts carry a `runbook_url`; without it the
page's place in this repository alone.
"""

import argparse
import sys
from pathlib import Path

from dashboards.alerting.encoding import encoded
from dashboards.alerting.groups import ALERTS, GROUPS

COMMITTED = Path(__file__).parent.parent / "rules" / "memotel.rules.yml"


def main(arguments: list[str]) -> int:
    """Return the exit status: 1 if `--check` found stale rules."""
    parser = argparse.ArgumentParser(prog="python -m dashboards.alerting")
    parser.add_argument("--check", action="store_true", help="fail if the file is stale")
    parser.add_argument("--runbooks", metavar="URL", help="where your runbooks are published")
    parser.add_argument("--to", type=Path, default=COMMITTED, help="the file to write or check")
    given = parser.parse_args(arguments)
    text = encoded(GROUPS, given.runbooks or None)
    if not given.check:
        given.to.write_text(text)
        print(f"wrote {given.to.name}: {len(ALERTS)} alerts")
        return 0
    is_stale = not given.to.exists() or given.to.read_text() != text
    print("the rules are stale: run `make dashboards`" if is_stale else "rules as generated")
    return int(is_stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
