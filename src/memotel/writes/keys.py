"""The idempotency key: which write this is, whoever sends it and however often."""

import hashlib

from memotel.backends.fingerprints import digest, fnv1a64
from memotel.outcomes import Speaker
from memotel.values import Scope
from memotel.writes.history import nfc

__all__ = ["by_message_id", "by_occurrence", "fnv1a64", "idempotency_key"]


def idempotency_key(
    account: str, scope: Scope, speaker: Speaker, text: str, *, discriminator: str
) -> str:
    """Return the key of a write, 32 hex digits: the same on every attempt, for every observer.

    The text counts in its NFC form (the same words typed on two keyboards are one); ids count exactly
    as they are, since two users whose ids look alike are still two users. Different parts give
    different keys: each goes in behind its length.

    Args:
        account: account key.
        scope: user and session.
        speaker: whose words they are.
        text: the words.
        discriminator: what tells genuine repeats apart: `by_message_id` or `by_occurrence`.
    """
    user, session, words = scope.user_id, scope.session_id, nfc(text)
    joined = (
        f"2:v1{len(account)}:{account}{len(user)}:{user}{len(session)}:{session}"
        f"{len(speaker)}:{speaker}{len(words)}:{words}{len(discriminator)}:{discriminator}"
    )
    if joined.isascii():  # so that lengths in characters are lengths in bytes
        return hashlib.blake2b(joined.encode(), digest_size=16).hexdigest()
    return digest("v1", account, user, session, speaker, words, discriminator)


def by_message_id(message_id: str) -> str:
    """Return the discriminator of a message to which the framework gave an id."""
    return f"id:{message_id}"


def by_occurrence(occurrence: int) -> str:
    """Return the discriminator of the n-th genuine repeat of the same words, from 1."""
    return f"n:{occurrence}"
