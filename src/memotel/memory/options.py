"""The settings of a capability that are the same for both services, each with its `MEMOTEL_*` variable."""

from memotel.options import SharedOptions


class Options(SharedOptions, total=False):
    """Seconds, counts and characters; what is left out comes from the environment, then from the defaults."""

    top_k: int | None
    recall_timeout: float | None
    write_timeout: float | None
