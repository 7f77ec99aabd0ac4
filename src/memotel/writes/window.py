"""How many writes may be in flight: one more after each full window of answers, half after a 429. Pure."""


class Window:
    """A number from 1 to `most`, lowered by a throttled answer only; errors and timeouts leave it alone."""

    def __init__(self, initial: int, most: int) -> None:
        self.limit = initial
        self._most = most
        self._answered = 0
        self._lowered_at = float("-inf")

    def answered(self) -> None:
        """Take an answer that was no refusal."""
        self._answered += 1
        if self._answered >= self.limit:
            self._answered = 0
            self.limit = min(self._most, self.limit + 1)

    def throttled(self, sent_at: float, now: float) -> None:
        """Take a 429. Those that were sent before the last one lowered the limit say nothing new."""
        if sent_at >= self._lowered_at:
            self._answered = 0
            self.limit = max(1, self.limit // 2)
            self._lowered_at = now
