"""Which keys were accepted lately, and who saw each first: 100,000 of them, the oldest forgotten first."""

from collections import deque

from memotel.outcomes import DedupeKind

GENERATION = 87_381
"""Keys a generation: what a dict of 131,072 slots holds, so that its memory is well used."""

GENERATIONS = 3
"""The newest may be almost empty, so the other two alone hold 100,000 keys. Fewer would be fewer probes, and more memory."""


class KnownKeys:
    """A bounded memory of idempotency keys. Not thread-safe: its owner holds the lock.

    Keys are forgotten a generation at a time: an eviction costs nothing, and a look-up one probe each. What is forgotten
    here is still recognised by the service, from the key that every attempt carries.
    """

    def __init__(self, generation: int = GENERATION, generations: int = GENERATIONS) -> None:
        self._most = generation
        self._generations: deque[dict[bytes, str]] = deque([{}], maxlen=generations)

    def see(self, key: str, observer: str) -> DedupeKind | None:
        """Note a key; return None where it is new, else why it must not be written again."""
        packed = bytes.fromhex(key)
        for generation in self._generations:
            first = generation.get(packed)
            if first is not None:
                return DedupeKind.REDELIVERY if first == observer else DedupeKind.ECHO
        if len(self._generations[0]) >= self._most:
            self._generations.appendleft({})
        self._generations[0][packed] = observer
        return None

    def forget(self, key: str) -> None:
        """Forget a key whose write failed for good, so that the words can be written when they are said again."""
        packed = bytes.fromhex(key)
        for generation in self._generations:
            generation.pop(packed, None)

    def __len__(self) -> int:
        return sum(map(len, self._generations))
