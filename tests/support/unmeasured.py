"""The environment of a process whose coverage is not measured: coverage takes SIGTERM for itself where it measures."""

import os


def unmeasured() -> dict[str, str]:
    """Return the environment without what makes a child process measure itself."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
