"""One service's wire format each: call to request, response to answer."""

from memotel.backends.memorysync import MemorySyncBackend
from memotel.backends.protocol import Backend
from memotel.backends.rekall import RekallBackend
from memotel.outcomes import Provider

__all__ = ["Backend", "MemorySyncBackend", "RekallBackend", "codec_for"]


def codec_for(provider: Provider, project_id: str | None = None) -> Backend:
    """Return the codec of a service; `project_id` is MemorySync's alone."""
    if provider is Provider.REKALL:
        return RekallBackend()
    return MemorySyncBackend(project_id)
