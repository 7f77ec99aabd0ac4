"""Are the import names that memotel installs its own?"""

from collections.abc import Iterator

from memotel.doctor.findings import Finding, Level, Topic
from memotel.facades import REPAIR, Facade, FacadeState, inspected


def check_installation() -> Iterator[Finding]:
    """Look at each facade: whose files are there, and who else installed some."""
    for facade in inspected():
        yield finding_of(facade)


def finding_of(facade: Facade) -> Finding:
    """Return what is to be said of an import name."""
    level, message = _verdict(facade)
    remove = [f"pip uninstall {' '.join(facade.rivals)}"] if facade.rivals else []
    advice = ", then ".join([*remove, REPAIR]) if level is not Level.OK else ""
    return Finding(
        Topic.INSTALLATION,
        facade.name,
        level,
        message,
        advice,
        {"state": facade.state.value, "rivals": list(facade.rivals)},
    )


def _verdict(facade: Facade) -> tuple[Level, str]:
    others = " and ".join(facade.rivals)
    if facade.state is FacadeState.MISSING:
        return Level.PROBLEM, "memotel's files are gone; another package's removal took them away"
    if facade.state is FacadeState.FOREIGN:
        return Level.PROBLEM, f"its files are not memotel's but {others or 'somebody else'}'s"
    if facade.rivals:
        return Level.WARNING, f"is memotel's, but {others} installed it too and would take it away"
    return Level.OK, "is memotel's own"
