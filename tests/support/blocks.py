"""Memory blocks, found in what a model was shown."""

from collections.abc import Sequence

from autogen_core.models import LLMMessage
from scripted_model import text_seen

FACT = "Ada drinks green tea in the morning"
QUESTION = "What does Ada drink in the morning?"
TAG = "<recalled_memory "


def blocks_in(messages: Sequence[LLMMessage]) -> int:
    """Return how many blocks these messages show."""
    return text_seen(messages).count(TAG)
