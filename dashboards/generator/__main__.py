"""`python -m dashboards.generator [--check]`: write every board, and the cluster's objects; or fail on a stale one."""

import sys
from collections.abc import Iterator
from pathlib import Path

from dashboards.generator.board import built
from dashboards.generator.encoding import encoded
from dashboards.generator.kubernetes import config_map, prometheus_rule
from dashboards.generator.overview import OVERVIEW
from dashboards.generator.protection import PROTECTION
from dashboards.generator.recall import RECALL
from dashboards.generator.writes import WRITES

FOLDER = Path(__file__).parent.parent
CLUSTER = FOLDER.parent / "deploy" / "kubernetes"
BOARDS = (OVERVIEW, RECALL, WRITES, PROTECTION)


def files() -> Iterator[tuple[Path, str]]:
    """Yield each generated file and what belongs into it."""
    for board in BOARDS:
        text = encoded(built(board))
        yield FOLDER / f"{board.uid}.json", text
        yield CLUSTER / "dashboards" / f"{board.uid}.yaml", config_map(board.uid, text)
    yield CLUSTER / "prometheusrule.yaml", prometheus_rule(FOLDER / "rules" / "memotel.rules.yml")


def main(arguments: list[str]) -> int:
    """Return the exit status: 1 if `--check` found a stale file."""
    return _checked() if arguments == ["--check"] else _written()


def _written() -> int:
    for path, text in files():
        path.write_text(text)
        print(f"wrote {path.relative_to(FOLDER.parent)}")
    return 0


def _checked() -> int:
    stale = [path.name for path, text in files() if not path.exists() or path.read_text() != text]
    for name in stale:
        print(f"{name} is stale: run `make dashboards`")
    if not stale:
        print(f"{len(BOARDS)} boards as generated")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
