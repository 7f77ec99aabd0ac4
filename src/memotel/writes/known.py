"""Which keys were accepted lately, and who saw each first: 100,000 of them, the least recently seen forgotten."""

from collections import OrderedDict

from memotel.outcomes import DedupeKind

MAX_KEYS = 100_000


class KnownKeys:
    """A bounded memory of idempotency keys. Not thread-safe: its owner holds the lock.

    What is forgotten here is still recognised by the service, from the key that every attempt carries.
    """

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self._observers: OrderedDict[bytes, str] = OrderedDict()
        self._max_keys = max_keys

    def see(self, key: str, observer: str) -> DedupeKind | None:
        """Note a key; return None where it is new, else why it must not be written again."""
        packed = bytes.fromhex(key)
        first = self._observers.get(packed)
        if first is None:
            self._observers[packed] = observer
            if len(self._observers) > self._max_keys:
                self._observers.popitem(last=False)
            return None
        self._observers.move_to_end(packed)
        return DedupeKind.REDELIVERY if first == observer else DedupeKind.ECHO

    def forget(self, key: str) -> None:
        """Forget a key whose write failed for good, so that the words can be written when they are said again."""
        self._observers.pop(bytes.fromhex(key), None)

    def __len__(self) -> int:
        return len(self._observers)
