"""The error that explicit calls of a MemorySync capability raise."""

from typing import Self

from memotel.errors import MemotelError
from memotel.outcomes import Outcome


class MemorySyncAPIError(MemotelError):
    """A search or save did not succeed; the typed error behind it is `__cause__`.

    Attributes:
        status_code: HTTP status, or None where no answer came.
        code: the service's own short code, or None.
        request_id: the service's request id, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, request_id=request_id)
        self.status_code = status_code
        self.code = code

    @classmethod
    def of(cls, error: MemotelError) -> Self:
        """Return the same failure as a MemorySyncAPIError; raise it `from error`."""
        found = cls(
            str(error),
            status_code=getattr(error, "status_code", None) or None,
            code=getattr(error, "code", None),
            request_id=error.request_id,
        )
        found.outcome = Outcome(error.outcome)
        found.is_retryable = error.is_retryable
        found.error_type = error.error_type
        return found
