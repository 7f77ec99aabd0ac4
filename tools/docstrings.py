"""Fail unless every public module, class and function under the given folders has a docstring.

interrogate 1.7 takes an async function inside a function for public (its ignore-nested-functions knows `def` only);
those are left out here. Usage: docstrings.py FOLDER ...
"""

import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from interrogate.config import InterrogateConfig
from interrogate.coverage import InterrogateCoverage
from interrogate.visit import CovNode

_FUNCTIONS = ("FunctionDef", "AsyncFunctionDef")


class PublicSurface(InterrogateCoverage):  # type: ignore[misc] # interrogate ships no types
    """interrogate's count without anything that a function holds inside."""

    def _filter_nodes(self, nodes: Iterable[CovNode]) -> list[CovNode]:
        kept = [n for n in nodes if n.parent is None or n.parent.node_type not in _FUNCTIONS]
        return list(super()._filter_nodes(kept))


def undocumented(folders: list[str]) -> list[str]:
    """Return "file:line: name" of everything public that has no docstring."""
    table = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["interrogate"]
    settings = {name.replace("-", "_"): value for name, value in table.items()}
    results = PublicSurface(folders, conf=InterrogateConfig(**settings)).get_coverage()
    return [
        f"{file.filename}:{node.lineno}: {node.name} has no docstring"
        for file in results.file_results
        for node in file.nodes
        if not node.covered
    ]


if __name__ == "__main__":
    missing = undocumented(sys.argv[1:])
    print(*missing or ["every public name has one"], sep="\n")
    sys.exit(1 if missing else 0)
