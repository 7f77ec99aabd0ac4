"""`python -m dashboards.generator [--check]`: write every board beside this package, or fail on a stale one."""

import sys
from pathlib import Path

from dashboards.generator.board import built
from dashboards.generator.encoding import encoded
from dashboards.generator.overview import OVERVIEW
from dashboards.generator.protection import PROTECTION
from dashboards.generator.recall import RECALL
from dashboards.generator.writes import WRITES

FOLDER = Path(__file__).parent.parent
BOARDS = (OVERVIEW, RECALL, WRITES, PROTECTION)


def main(arguments: list[str]) -> int:
    """Return the exit status: 1 if `--check` found a stale board."""
    is_check = arguments == ["--check"]
    stale = 0
    for board in BOARDS:
        path = FOLDER / f"{board.uid}.json"
        text = encoded(built(board))
        if is_check and (not path.exists() or path.read_text() != text):
            print(f"{path.name} is stale: run `make dashboards`")
            stale = 1
        if not is_check:
            path.write_text(text)
            print(f"wrote dashboards/{path.name}")
    if is_check and not stale:
        print(f"{len(BOARDS)} as generated")
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
