"""`python -m dashboards.generator [--check] [--runbooks URL]`: write every board, and the cluster's objects; or fail on a stale one.

`--runbooks` is the address under which you publish dashboards/runbooks: where the panels' links lead.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from dashboards.generator.board import RUNBOOKS_AT, built
from dashboards.generator.encoding import encoded
from dashboards.generator.kubernetes import config_map, prometheus_rule
from dashboards.generator.overview import OVERVIEW
from dashboards.generator.protection import PROTECTION
from dashboards.generator.recall import RECALL
from dashboards.generator.writes import WRITES

FOLDER = Path(__file__).parent.parent
CLUSTER = FOLDER.parent / "deploy" / "kubernetes"
BOARDS = (OVERVIEW, RECALL, WRITES, PROTECTION)


def files(runbooks_at: str) -> Iterator[tuple[Path, str]]:
    """Yield each generated file and what belongs into it."""
    for board in BOARDS:
        text = encoded(built(board, runbooks_at))
        yield FOLDER / f"{board.uid}.json", text
        yield CLUSTER / "dashboards" / f"{board.uid}.yaml", config_map(board.uid, text)
    yield CLUSTER / "prometheusrule.yaml", prometheus_rule(FOLDER / "rules" / "memotel.rules.yml")


def main(arguments: list[str]) -> int:
    """Return the exit status: 1 if `--check` found a stale file."""
    parser = argparse.ArgumentParser(prog="python -m dashboards.generator")
    parser.add_argument("--check", action="store_true", help="fail if a file is stale")
    parser.add_argument("--runbooks", metavar="URL", help="where your runbooks are published")
    given = parser.parse_args(arguments)
    made = files((given.runbooks or RUNBOOKS_AT).rstrip("/"))
    return _checked(made) if given.check else _written(made)


def _written(made: Iterable[tuple[Path, str]]) -> int:
    for path, text in made:
        path.write_text(text)
        print(f"wrote {path.relative_to(FOLDER.parent)}")
    return 0


def _checked(made: Iterable[tuple[Path, str]]) -> int:
    stale = [path.name for path, text in made if not path.exists() or path.read_text() != text]
    for name in stale:
        print(f"{name} is stale: run `make dashboards`")
    if not stale:
        print(f"{len(BOARDS)} boards as generated")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
