"""What a capability says once about agents that it cannot serve; its faults end as those of every memory do."""

import logging

from memotel.client import MemoryClient
from memotel.memory.guard import Guard

logger = logging.getLogger("memotel.ag2")


class CapabilityGuard(Guard):
    """Keeps one capability's own faults away from its agents, and says where AG2 goes around memory."""

    def __init__(self, client: MemoryClient) -> None:
        super().__init__(client)
        self._has_said_detour = False

    def say_detour(self) -> None:
        """Say once that a model was called without its agent's reply functions."""
        if not self._has_said_detour:
            self._has_said_detour = True
            logger.warning(
                "an agent's model was called around its reply functions, as A2A and AG-UI serving do: "
                "memory is neither recalled nor kept there; said once"
            )
