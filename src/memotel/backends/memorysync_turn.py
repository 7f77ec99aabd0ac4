"""The form in which MemorySync's own adapters send a turn, and what the service answers to one.

Keeping to the form makes us converge with them: the service recognises the same speaker and text as a
replay. Sources: the public packages memorysync 1.10.1, ag2-memorysync 1.0.2 and 1.1.0, and the service's
public documentation, read in November 2026.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from memotel.backends.fingerprints import remembered_fnv1a64
from memotel.outcomes import Adapter, QuotaEvidence, Speaker, WriteOutcome
from memotel.values import Json, Write

MAX_TEXT_CHARS: Final = 16_000
"""Words beyond this are not sent; the cut comes before the hash, and the prefix does not count."""

FAILED: Final = "failed"
"""A processing status that stands for an error: the turn may be sent again."""

_FRAMEWORKS: Final = MappingProxyType({Adapter.AG2_V1: "ag2"})
Fate = tuple[WriteOutcome, QuotaEvidence | None]
"""What became of a write, and what that says of the plan."""

STORED: Final[Fate] = (WriteOutcome.STORED, QuotaEvidence.HEALTHY)
DUPLICATE: Final[Fate] = (WriteOutcome.DUPLICATE, None)
IGNORED: Final[Fate] = (WriteOutcome.IGNORED, None)
OVER_QUOTA: Final[Fate] = (WriteOutcome.QUOTA, QuotaEvidence.SILENT)

_STATUSES: Final = MappingProxyType(
    {
        "distilling": STORED,
        "completed": STORED,
        "skipped_replay": DUPLICATE,
        "skipped_non_user_turn": IGNORED,
        "skipped_low_value": IGNORED,
        "skipped": OVER_QUOTA,
    }
)
_TAKEN: Final[Fate] = (WriteOutcome.STORED, None)
_KNOWN_FIELDS: Final = frozenset({"memory_id", "status", "already_exists", "processing_status"})


def framework_of(write: Write) -> str:
    """Return the framework's name in sessions and sources; both generations of AG2 are one."""
    return _FRAMEWORKS.get(write.adapter, write.adapter.value)


def session_of(write: Write) -> str:
    """Return the session as the service knows it: `ag2::<session>`."""
    return f"{framework_of(write)}::{write.turn.scope.session_id}"


def role_of(speaker: Speaker) -> str:
    """Return `human` or `ai`: only a person's words are a person's."""
    return "human" if speaker is Speaker.HUMAN else "ai"


def speaker_of(write: Write, words: str) -> str:
    """Return the replay seed of a turn whose words (already cut) are `words`.

    `human@ag2::s#hdc7ad99e64417378`; later occurrences of the same words add `#2`, `#3` and so on.
    """
    role = role_of(write.turn.speaker)
    seed = f"{role}@{session_of(write)}#h{remembered_fnv1a64(f'{role}:{words}')}"
    return seed if write.occurrence <= 1 else f"{seed}#{write.occurrence}"


def fate_of(answer: Mapping[str, Json]) -> Fate | None:
    """Return what became of a turn; None for an answer that is not as documented, or `FAILED`.

    A status that is new to us: `skipped_...` is a reason not to keep the turn, any other means that the
    service took it; neither says anything of the plan.
    """
    status = answer.get("processing_status")
    if status is None:
        return _without_status(answer)
    if not isinstance(status, str) or not status or status == FAILED:
        return None
    return _STATUSES.get(status, IGNORED if status.startswith("skipped_") else _TAKEN)


def _without_status(answer: Mapping[str, Json]) -> Fate | None:
    if answer.get("already_exists") is True:
        return DUPLICATE
    if answer.get("status") == "skipped":
        return IGNORED
    told = {name for name in _KNOWN_FIELDS if answer.get(name) is not None}
    if told == {"status"} and answer["status"] == "ok":
        return OVER_QUOTA
    return STORED if told else None
